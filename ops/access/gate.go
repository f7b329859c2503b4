package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
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
	failuresEvery = 2 * time.Second // per address, after the first few
	failuresFree  = 5
	mostAddresses = 10_000
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

// A Caller is the sender of a request, identified by a token.
type Caller struct {
	ID   string
	Role Role
}

// A Gate identifies the caller of a request. It is safe for concurrent use.
type Gate struct {
	o Options

	mu       sync.Mutex
	spent    bool                     // the one-time text has been used
	reads    map[string]*rate.Limiter // by caller
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
	return &Gate{o: o, reads: map[string]*rate.Limiter{}, failures: map[string]*rate.Limiter{}}
}

// Caller returns the caller of a request: by its bearer token, or by its session if cookies are
// accepted. The role is None if the request has neither.
func (g *Gate) Caller(r *http.Request, cookies bool) Caller {
	if scheme, text, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		if t, ok := find(g.o.Tokens(), strings.TrimSpace(text)); ok {
			return Caller{t.ID, t.Role}
		}
		return Caller{}
	}
	if !cookies {
		return Caller{}
	}
	cookie, err := r.Cookie(g.o.Cookie)
	if err != nil {
		return Caller{}
	}
	return g.session(cookie.Value)
}

// session returns the caller of a session. Its token must still be in the file with the same hash.
func (g *Gate) session(value string) Caller {
	id, rest, _ := strings.Cut(value, "|")
	until, signature, _ := strings.Cut(rest, "|")
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil || time.Now().After(time.Unix(seconds, 0)) {
		return Caller{}
	}
	for _, t := range g.o.Tokens() {
		if t.ID == id && hmac.Equal([]byte(signature), []byte(g.sign(t, until))) {
			return Caller{t.ID, t.Role}
		}
	}
	return Caller{}
}

func (g *Gate) sign(t Token, until string) string {
	mac := hmac.New(sha256.New, g.o.Key)
	_, _ = mac.Write([]byte(t.ID + "|" + until + "|" + hex.EncodeToString(t.Hash[:])))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Begin begins a session with the text of a token. It returns ok false if there is no such token.
// It limits the guesses of an address: beyond the limit it compares nothing and returns slow true.
func (g *Gate) Begin(w http.ResponseWriter, r *http.Request, text string) (ok, slow bool) {
	address := remote(r)
	if !g.mayGuess(address) {
		return false, true
	}
	t, ok := find(g.o.Tokens(), strings.TrimSpace(text))
	if !ok {
		g.guessed(address)
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
	until := strconv.FormatInt(time.Now().Add(sessionTime).Unix(), 10)
	http.SetCookie(w, &http.Cookie{Name: g.o.Cookie, Value: t.ID + "|" + until + "|" + g.sign(t, until), Path: "/",
		MaxAge: int(sessionTime.Seconds()), HttpOnly: true, Secure: g.o.Secure, SameSite: http.SameSiteLaxMode})
}

// End ends the session of a browser.
func (g *Gate) End(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: g.o.Cookie, Path: "/", MaxAge: -1, HttpOnly: true, Secure: g.o.Secure, SameSite: http.SameSiteLaxMode})
}

// MayRead takes one request from the caller's allowance per second. It returns false if none is
// left.
func (g *Gate) MayRead(c Caller) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.reads[c.ID]
	if l == nil { // there are at most as many as tokens
		l = rate.NewLimiter(readsPerSec, readsAtOnce)
		g.reads[c.ID] = l
	}
	return l.Allow()
}

func (g *Gate) mayGuess(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.failures[address]
	return l == nil || l.Tokens() >= 1
}

func (g *Gate) guessed(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.failures) >= mostAddresses {
		clear(g.failures)
	}
	l := g.failures[address]
	if l == nil {
		l = rate.NewLimiter(rate.Every(failuresEvery), failuresFree)
		g.failures[address] = l
	}
	l.Allow()
}

// remote returns the address of the other end of the connection.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
