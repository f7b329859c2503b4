package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Bounds on the requests of a caller.
const (
	sessionTime   = 8 * time.Hour
	readsPerSec   = 20
	readsAtOnce   = 60
	changesPerSec = 1
	changesAtOnce = 10
	failuresEvery = 2 * time.Second // per address, after the first few
	failuresFree  = 5
	mostLimits    = 10_000 // callers, and addresses, that are remembered
)

// Options are the options of a [Gate].
type Options struct {
	// Tokens returns the current tokens.
	Tokens func() []Token
	// Cookie is the name of the session cookie.
	Cookie string
	// Secure is set if the browser uses TLS to reach the page.
	Secure bool
	// Key signs sessions. It must be the same in all replicas. Empty: a random key of this process.
	Key []byte
	// OneTime is a text that begins a session as Caller, once. Empty: there is none.
	OneTime string
}

// A Caller is the sender of a request, identified by a token. The ID of a user whom a proxy names
// is the id of the proxy's token, a slash and the name.
type Caller struct {
	ID      string
	Role    Role
	Session bool // it was identified by a session, which it can end
}

// A Gate identifies the caller of a request. It is safe for concurrent use.
type Gate struct {
	o Options

	mu       sync.Mutex
	spent    bool                     // the one-time text has been used
	ended    map[string]time.Time     // when the sessions that were ended would have ended by themselves, by signature
	reads    map[string]*rate.Limiter // by caller
	changes  map[string]*rate.Limiter // by caller
	failures map[string]*rate.Limiter // by address
}

// NewGate makes a gate.
func NewGate(o Options) *Gate {
	if len(o.Key) == 0 {
		o.Key = make([]byte, 32)
		_, _ = rand.Read(o.Key)
	}
	if o.Secure {
		o.Cookie = "__Host-" + o.Cookie
	}
	return &Gate{o: o, ended: map[string]time.Time{}, reads: map[string]*rate.Limiter{}, changes: map[string]*rate.Limiter{}, failures: map[string]*rate.Limiter{}}
}

// Tokens returns how many tokens are accepted now.
func (g *Gate) Tokens() int { return len(g.o.Tokens()) }

// Bearer returns the bearer token of a request.
func Bearer(r *http.Request) (text string, found bool) {
	scheme, text, found := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(text), found && strings.EqualFold(scheme, "Bearer")
}

// Caller returns the caller of a request: by its bearer token, or by its session if cookies are
// accepted. The role is None if the request has neither.
func (g *Gate) Caller(r *http.Request, cookies bool) Caller {
	if text, found := Bearer(r); found {
		t, _ := find(g.o.Tokens(), text)
		return t.caller(r)
	}
	if !cookies {
		return Caller{}
	}
	cookie, err := r.Cookie(g.o.Cookie)
	if err != nil {
		return Caller{}
	}
	c, _, _ := g.session(cookie.Value)
	return c
}

// session returns the caller of a session, with the end of the session and its signature. Its token
// must still be in the file with the same hash, and its caller must not have ended it.
func (g *Gate) session(value string) (c Caller, until time.Time, signature string) {
	id, rest, _ := strings.Cut(value, "|")
	at := strings.LastIndexByte(rest, '|')
	if at < 0 {
		return Caller{}, until, ""
	}
	signed, signature := rest[:at], rest[at+1:]
	end, _, _ := strings.Cut(signed, "|")
	seconds, _ := strconv.ParseInt(end, 10, 64) // the signature shows that it can be parsed
	until = time.Unix(seconds, 0)
	if time.Now().After(until) || g.wasEnded(signature) {
		return Caller{}, until, ""
	}
	for _, t := range g.o.Tokens() {
		if t.ID == id && t.UserHeader == "" && hmac.Equal([]byte(signature), []byte(g.sign(t, signed))) {
			return Caller{ID: t.ID, Role: t.Role, Session: true}, until, signature
		}
	}
	return Caller{}, until, ""
}

// sign signs the end of a session and the random text behind it.
func (g *Gate) sign(t Token, signed string) string {
	mac := hmac.New(sha256.New, g.o.Key)
	_, _ = mac.Write([]byte(t.ID + "|" + signed + "|" + hex.EncodeToString(t.Hash[:])))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Begin begins a session with the text of a token. It returns ok false if there is no such token, or it is
// the token of a proxy, and slow true if the address has guessed too often. A token begins a session however often others of
// its address have guessed: a token has 256 random bits, so that the limit only bounds the cost of guesses.
func (g *Gate) Begin(w http.ResponseWriter, r *http.Request, text string) (ok, slow bool) {
	t, ok := find(g.o.Tokens(), strings.TrimSpace(text))
	if !ok {
		return false, !g.mayGuess(remote(r))
	}
	if t.UserHeader != "" { // a session would name no user
		return false, false
	}
	g.begin(w, t)
	return true, false
}

// BeginOnce begins the session of the one-time text.
func (g *Gate) BeginOnce(w http.ResponseWriter, text string) bool {
	tokens := g.o.Tokens()
	g.mu.Lock()
	ok := g.o.OneTime != "" && !g.spent && len(tokens) > 0 && subtle.ConstantTimeCompare([]byte(text), []byte(g.o.OneTime)) == 1
	g.spent = g.spent || ok
	g.mu.Unlock()
	if ok {
		g.begin(w, tokens[0])
	}
	return ok
}

func (g *Gate) begin(w http.ResponseWriter, t Token) {
	signed := strconv.FormatInt(time.Now().Add(sessionTime).Unix(), 10) + "|" + rand.Text()
	http.SetCookie(w, &http.Cookie{Name: g.o.Cookie, Value: t.ID + "|" + signed + "|" + g.sign(t, signed), Path: "/",
		MaxAge: int(sessionTime.Seconds()), HttpOnly: true, Secure: g.o.Secure, SameSite: http.SameSiteLaxMode})
}

// End ends the session of a browser, so that a copy of its cookie has no effect any more. Other
// replicas with the same key do not know of it: there the copy works until the session ends by itself,
// or its token is removed.
func (g *Gate) End(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(g.o.Cookie); err == nil {
		if c, until, signature := g.session(cookie.Value); c.Role != None {
			g.end(signature, until)
		}
	}
	http.SetCookie(w, &http.Cookie{Name: g.o.Cookie, Path: "/", MaxAge: -1, HttpOnly: true, Secure: g.o.Secure, SameSite: http.SameSiteLaxMode})
}

func (g *Gate) end(signature string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.ended, func(_ string, until time.Time) bool { return time.Now().After(until) })
	g.ended[signature] = until
}

func (g *Gate) wasEnded(signature string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ended := g.ended[signature]
	return ended
}

// MayRead takes one request from the caller's allowance per second. It returns false if none is
// left.
func (g *Gate) MayRead(c Caller) bool {
	return g.allows(g.reads, c.ID, readsPerSec, readsAtOnce)
}

// MayChange takes one change from the caller's allowance, which is apart from that for reads. It
// returns false if none is left.
func (g *Gate) MayChange(c Caller) bool {
	return g.allows(g.changes, c.ID, changesPerSec, changesAtOnce)
}

// mayGuess takes one wrong token from the allowance of an address. It returns false if none is left.
func (g *Gate) mayGuess(address string) bool {
	return g.allows(g.failures, address, rate.Every(failuresEvery), failuresFree)
}

// allows takes one from the allowance of a caller or an address. The tokens do not bound the callers, as a
// proxy names its users. If too many names are remembered, all are forgotten.
func (g *Gate) allows(limits map[string]*rate.Limiter, name string, perSecond rate.Limit, atOnce int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := limits[name]
	if l == nil {
		if len(limits) >= mostLimits {
			clear(limits)
		}
		l = rate.NewLimiter(perSecond, atOnce)
		limits[name] = l
	}
	return l.Allow()
}

// remote returns the address of the other end of the connection. A Unix socket has an empty one.
func remote(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}
