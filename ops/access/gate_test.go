package access

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// newGate returns a gate with a viewer, whose session the one-time text begins, and an operator with the text of
// its token.
func newGate(t *testing.T) (*Gate, string) {
	t.Helper()
	viewer, _, err := NewToken("eve", Viewer)
	if err != nil {
		t.Fatal(err)
	}
	operator, text, err := NewToken("ann", Operator)
	if err != nil {
		t.Fatal(err)
	}
	return NewGate(Options{Tokens: func() []Token { return []Token{viewer, operator} }, Cookie: "cronce", OneTime: "once"}), text
}

// caller returns the caller of a request with headers.
func (g *Gate) caller(header ...string) Caller {
	r := httptest.NewRequest("GET", "/", nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return g.Caller(r, true)
}

// cookieOf returns the session that begin has begun, as a browser sends it.
func cookieOf(t *testing.T, begin func(w http.ResponseWriter) bool) string {
	t.Helper()
	w := httptest.NewRecorder()
	if !begin(w) {
		t.Fatal("no session was begun")
	}
	c := w.Result().Cookies()[0]
	return c.Name + "=" + c.Value
}

// The one-time text begins one session. A wrong text does not spend it.
func TestOneTimeText(t *testing.T) {
	g, _ := newGate(t)
	for i, c := range []struct {
		text string
		want bool
	}{{"", false}, {"twice", false}, {"once", true}, {"once", false}, {"once", false}} {
		if got := g.BeginOnce(httptest.NewRecorder(), c.text); got != c.want {
			t.Errorf("try %d with %q: %v", i, c.text, got)
		}
	}
}

// A request with a bearer token has the role of that token alone: a session beside it does not count.
func TestBearer(t *testing.T) {
	g, text := newGate(t)
	session := cookieOf(t, func(w http.ResponseWriter) bool { return g.BeginOnce(w, "once") })
	for authorization, want := range map[string]Role{
		"Bearer " + text: Operator, "bearer  " + text: Operator, "Bearer cro_wrong": None, "Basic " + text: Viewer, text: Viewer,
	} {
		if c := g.caller("Authorization", authorization, "Cookie", session); c.Role != want {
			t.Errorf("%.10s: %v", authorization, c)
		}
	}
}

// A session ends after its time, also if its browser keeps the cookie, and stays ended after a later one is.
func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, text := newGate(t)
		begin := func() string {
			return cookieOf(t, func(w http.ResponseWriter) bool {
				ok, _ := g.Begin(w, httptest.NewRequest("POST", "/login", nil), text+"\n") // as it was copied
				return ok
			})
		}
		end := func(session string) {
			r := httptest.NewRequest("POST", "/logout", nil)
			r.Header.Set("Cookie", session)
			g.End(httptest.NewRecorder(), r)
		}
		first, second, third := begin(), begin(), begin()
		end(first)
		end(second)
		for session, want := range map[string]Role{first: None, second: None, third: Operator} {
			if c := g.caller("Cookie", session); c.Role != want {
				t.Errorf("%v, want %v", c, want)
			}
		}
		time.Sleep(sessionTime)
		if c := g.caller("Cookie", third); c.Role != Operator {
			t.Errorf("at its end: %v", c)
		}
		time.Sleep(time.Second)
		if c := g.caller("Cookie", third); c.Role != None {
			t.Errorf("after its end: %v", c)
		}
		if end(begin()); len(g.ended) != 1 {
			t.Errorf("%d sessions that have ended are remembered", len(g.ended))
		}
	})
}

// A session ends with its token, also if another token of the same owner takes its place.
func TestSessionOfAReplacedToken(t *testing.T) {
	first, text, _ := NewToken("ann", Operator)
	second, _, _ := NewToken("ann", Operator)
	tokens := []Token{first}
	g := NewGate(Options{Tokens: func() []Token { return tokens }, Cookie: "cronce"})
	session := cookieOf(t, func(w http.ResponseWriter) bool {
		ok, _ := g.Begin(w, httptest.NewRequest("POST", "/login", nil), text)
		return ok
	})
	if c := g.caller("Cookie", session); c.Role != Operator {
		t.Errorf("%v", c)
	}
	if tokens[0] = second; g.caller("Cookie", session).Role != None {
		t.Error("the session goes on without its token")
	}
}

// Reads and changes have allowances of their own, and each caller has its own. They come back with time.
func TestAllowances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGate(t)
		ann, bob := Caller{"ann", Operator}, Caller{"bob", Operator}
		allowed := func(may func(Caller) bool, c Caller) (n int) {
			for may(c) {
				n++
			}
			return n
		}
		if n := allowed(g.MayChange, ann); n != changesAtOnce {
			t.Errorf("%d changes", n)
		}
		if n := allowed(g.MayRead, ann); n != readsAtOnce {
			t.Errorf("%d reads", n)
		}
		if n := allowed(g.MayChange, bob); n != changesAtOnce {
			t.Errorf("%d changes of another caller", n)
		}
		time.Sleep(time.Second)
		if changes, reads := allowed(g.MayChange, ann), allowed(g.MayRead, ann); changes != changesPerSec || reads != readsPerSec {
			t.Errorf("a second later %d changes and %d reads", changes, reads)
		}
	})
}

// Behind TLS the session cookie is bound to its host, and never sent without TLS.
func TestSecureCookie(t *testing.T) {
	token, text, err := NewToken("ann", Operator)
	if err != nil {
		t.Fatal(err)
	}
	for secure, name := range map[bool]string{true: "__Host-cronce", false: "cronce"} {
		g := NewGate(Options{Tokens: func() []Token { return []Token{token} }, Cookie: "cronce", Secure: secure})
		w := httptest.NewRecorder()
		if ok, _ := g.Begin(w, httptest.NewRequest("POST", "/login", nil), text); !ok {
			t.Fatal("no session was begun")
		}
		if c := w.Result().Cookies()[0]; c.Name != name || c.Secure != secure || c.Path != "/" || !c.HttpOnly {
			t.Errorf("%+v", c)
		}
	}
}

// Each address may guess a few times, and a bounded number of addresses is remembered.
func TestGuesses(t *testing.T) {
	g, _ := newGate(t)
	for i := range failuresFree + 1 {
		if may := g.mayGuess("first"); may != (i < failuresFree) {
			t.Errorf("guess %d: %v", i, may)
		}
	}
	for i := range mostAddresses {
		if !g.mayGuess(strconv.Itoa(i)) {
			t.Fatalf("the first guess of address %d is refused", i)
		}
	}
	if len(g.failures) > mostAddresses {
		t.Errorf("%d addresses are remembered", len(g.failures))
	}
}
