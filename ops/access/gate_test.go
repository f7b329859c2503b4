package access

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
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

// The one-time text begins one session. A wrong text begins none, and does not spend it. A gate without the text,
// or without tokens, begins none at all.
func TestOneTimeText(t *testing.T) {
	g, _ := newGate(t)
	without, empty := NewGate(Options{Tokens: g.o.Tokens}), NewGate(Options{Tokens: func() []Token { return nil }, OneTime: "once"})
	for i, c := range []struct {
		g    *Gate
		text string
		want bool
	}{{g, "", false}, {g, "twice", false}, {g, "once", true}, {g, "once", false}, {g, "once", false}, {without, "", false}, {empty, "once", false}} {
		w := httptest.NewRecorder()
		if got := c.g.BeginOnce(w, c.text); got != c.want || (w.Header().Get("Set-Cookie") != "") != c.want {
			t.Errorf("try %d with %q: %v, %v", i, c.text, got, w.Header())
		}
	}
}

// A cookie is a session only as it was made, and only where cookies are accepted.
func TestForgedSessions(t *testing.T) {
	g, _ := newGate(t)
	session := cookieOf(t, func(w http.ResponseWriter) bool { return g.BeginOnce(w, "once") })
	for _, cookie := range []string{"", "cronce=", "cronce=eve", "cronce=eve|1", "cronce=eve||", "cronce=eve|9999999999|x|y", "cronce=eve|x|y|z",
		strings.Replace(session, "|", "|9", 1), strings.Replace(session, "eve", "ann", 1)} {
		if c := g.caller("Cookie", cookie); c != (Caller{}) {
			t.Errorf("%s: %+v", cookie, c)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", session)
	for cookies, want := range map[bool]Caller{true: {ID: "eve", Role: Viewer, Session: true}, false: {}} {
		if c := g.Caller(r, cookies); c != want {
			t.Errorf("cookies are accepted %v: %+v", cookies, c)
		}
	}
}

// A session has its effect in each replica with the same key. Without one each replica makes a key of its own.
func TestSessionKeys(t *testing.T) {
	token, text, _ := NewToken("ann", Operator)
	for key, want := range map[string]Role{"0123456789abcdef": Operator, "": None} {
		o := Options{Tokens: func() []Token { return []Token{token} }, Cookie: "cronce", Key: []byte(key)}
		session := cookieOf(t, func(w http.ResponseWriter) bool {
			ok, _ := NewGate(o).Begin(w, httptest.NewRequest("POST", "/login", nil), text)
			return ok
		})
		if c := NewGate(o).caller("Cookie", session); c.Role != want {
			t.Errorf("the key is %q: %v", key, c)
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
		for _, session := range []string{begin(), third, "cronce=ann|x|y|z", ""} { // only the first can be ended
			end(session)
		}
		if len(g.ended) != 1 {
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

// newProxy returns a gate of a proxy that names its users in a header, and of an operator, with the text of each token.
func newProxy(t *testing.T) (g *Gate, proxy, operator string) {
	t.Helper()
	gateway, proxy, _ := NewToken("gateway", Operator)
	gateway, err := gateway.WithUserHeader("x-forwarded-email")
	if err != nil {
		t.Fatal(err)
	}
	ann, operator, _ := NewToken("ann", Operator)
	return NewGate(Options{Tokens: func() []Token { return []Token{gateway, ann} }, Cookie: "cronce"}), proxy, operator
}

// A request with the token of a proxy is of the user whom its header names. Without one name there is no caller.
func TestUsersOfAProxy(t *testing.T) {
	g, proxy, _ := newProxy(t)
	for user, want := range map[string]string{
		"alice@example.com": "gateway/alice@example.com", "a+b_c.d-e": "gateway/a+b_c.d-e", strings.Repeat("a", 64): "gateway/" + strings.Repeat("a", 64),
		"": "", "-a": "", "a/b": "", "a b": "", "a\n": "", "a, b": "", "a,b": "", "a|b": "", "ä": "", strings.Repeat("a", 65): "",
	} {
		c := g.caller("Authorization", "Bearer "+proxy, "X-Forwarded-Email", user)
		if c.ID != want || (c.Role == Operator) != (want != "") || c.Session {
			t.Errorf("%q: %+v", user, c)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+proxy)
	for i, want := range []string{"", "gateway/alice", "", ""} { // the header stands in the request i times
		if c := g.Caller(r, true); c.ID != want {
			t.Errorf("%d names: %+v", i, c)
		}
		r.Header.Add("X-Forwarded-Email", "alice")
	}
}

// Headers that name a user have no effect without the token of a proxy, nor have others with it.
func TestUsersOfNoProxy(t *testing.T) {
	g, proxy, operator := newProxy(t)
	all := []string{"X-Forwarded-User", "eve", "X-Forwarded-Email", "eve", "Remote-User", "eve", "X-Auth-Request-User", "eve", "X-Remote-User", "eve"}
	for authorization, want := range map[string]Caller{"": {}, "Bearer cro_wrong": {}, "Bearer " + operator: {ID: "ann", Role: Operator}, "Basic " + proxy: {}} {
		if c := g.caller(append(all, "Authorization", authorization)...); c != want {
			t.Errorf("%.10s: %+v", authorization, c)
		}
	}
	if c := g.caller("Authorization", "Bearer "+proxy, "X-Forwarded-User", "eve"); c != (Caller{}) {
		t.Errorf("another header: %+v", c)
	}
}

// The token of a proxy begins no session, which is no guess. A session beside it, or from the time when
// its line named no header, has no effect.
func TestNoSessionOfAProxy(t *testing.T) {
	token, text, _ := NewToken("gateway", Operator)
	ann, other, _ := NewToken("ann", Operator)
	tokens := []Token{token, ann}
	g := NewGate(Options{Tokens: func() []Token { return tokens }, Cookie: "cronce"})
	begin := func(text string) string {
		return cookieOf(t, func(w http.ResponseWriter) bool {
			ok, _ := g.Begin(w, httptest.NewRequest("POST", "/login", nil), text)
			return ok
		})
	}
	before, session := begin(text), begin(other)
	tokens[0], _ = token.WithUserHeader("X-Forwarded-Email")
	if c := g.caller("Cookie", before); c != (Caller{}) {
		t.Errorf("a session from before: %+v", c)
	}
	if c := g.caller("Cookie", session); !c.Session {
		t.Errorf("%+v", c)
	}
	if c := g.caller("Cookie", session, "Authorization", "Bearer "+text); c != (Caller{}) {
		t.Errorf("a session beside the token: %+v", c)
	}
	for range 2 * failuresFree {
		w := httptest.NewRecorder()
		if ok, slow := g.Begin(w, httptest.NewRequest("POST", "/login", nil), text); ok || slow || len(w.Result().Cookies()) > 0 {
			t.Fatalf("%t %t", ok, slow)
		}
	}
}

// Reads and changes have allowances of their own, and each caller has its own, as each address has for guesses. They come back
// with time.
func TestAllowances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGate(t)
		ann, bob := Caller{ID: "ann", Role: Operator}, Caller{ID: "bob", Role: Operator}
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
		guess := func(Caller) bool { return g.mayGuess("192.0.2.1") }
		if n := allowed(guess, Caller{}); n != failuresFree {
			t.Errorf("%d guesses", n)
		}
		time.Sleep(time.Second)
		if n := allowed(guess, Caller{}); n != 0 {
			t.Errorf("%d guesses a second later", n)
		}
		if changes, reads := allowed(g.MayChange, ann), allowed(g.MayRead, ann); changes != changesPerSec || reads != readsPerSec {
			t.Errorf("a second later %d changes and %d reads", changes, reads)
		}
		time.Sleep(failuresEvery - time.Second)
		if n := allowed(guess, Caller{}); n != 1 {
			t.Errorf("%d guesses after %v", n, failuresEvery)
		}
	})
}

// Behind TLS the session cookie is bound to its host, and never sent without TLS. The end of the session removes it.
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
		g.End(w, httptest.NewRequest("POST", "/logout", nil))
		cookies := w.Result().Cookies()
		for _, c := range cookies {
			if c.Name != name || c.Secure != secure || c.Path != "/" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("%+v", c)
			}
		}
		if len(cookies) != 2 || cookies[0].MaxAge != 8*60*60 || cookies[1].MaxAge >= 0 {
			t.Errorf("%+v", cookies)
		}
	}
}

// Each address may guess a few times, over any number of connections. A guess begins no session, and a token begins
// one in spite of them. A bounded number of addresses, and of callers, is remembered.
func TestGuesses(t *testing.T) {
	g, token := newGate(t)
	try := func(address, text string, wantOK, wantSlow bool) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/login", nil)
		r.RemoteAddr = address
		if ok, slow := g.Begin(w, r, text); ok != wantOK || slow != wantSlow || (w.Header().Get("Set-Cookie") != "") != wantOK {
			t.Errorf("%s from %s: %t %t %v", text, address, ok, slow, w.Header())
		}
	}
	for i := range failuresFree + 1 {
		try("192.0.2.1:"+strconv.Itoa(1024+i), "cro_wrong", false, i >= failuresFree)
	}
	try("192.0.2.2:1024", "cro_wrong", false, false)
	try("192.0.2.1:1024", token, true, false)
	for i := range mostLimits {
		if !g.mayGuess(strconv.Itoa(i)) {
			t.Fatalf("the first guess of address %d is refused", i)
		}
	}
	for i := range mostLimits + 1 {
		g.MayRead(Caller{ID: "gateway/" + strconv.Itoa(i), Role: Viewer})
	}
	if len(g.failures) > mostLimits || len(g.reads) > mostLimits {
		t.Errorf("%d addresses and %d callers are remembered", len(g.failures), len(g.reads))
	}
}
