package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/ops/access"
)

// behindProxy returns a plane whose one token is of a proxy, an operator, with the headers that it adds for
// alice. Its line leaves the file with gone.
func behindProxy(t *testing.T) (pl *plane, alice []string, gone func()) {
	t.Helper()
	pl = newPlane(t, "")
	token, text, err := access.NewToken("gateway", access.Operator)
	if err != nil {
		t.Fatal(err)
	}
	if token, err = token.WithUserHeader("X-Forwarded-Email"); err != nil {
		t.Fatal(err)
	}
	var tokens atomic.Pointer[[]access.Token]
	tokens.Store(&[]access.Token{token})
	gate := access.NewGate(access.Options{Tokens: func() []access.Token { return *tokens.Load() }, Cookie: "cronce-shop"})
	if pl.Handler, err = New(Options{Projection: pl.p, Store: pl.store, Gate: gate}); err != nil {
		t.Fatal(err)
	}
	return pl, []string{"Authorization", "Bearer " + text, "X-Forwarded-Email", "alice@example.com"}, func() { tokens.Store(&[]access.Token{}) }
}

// A proxy adds its token to each request of a browser, also to one that another site has made the browser send. Such
// a change is refused on each route.
func TestChangeFromAnotherSiteThroughAProxy(t *testing.T) {
	pl, alice, _ := behindProxy(t)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		for _, rt := range pl.routes() {
			if method, target := address(rt.pattern); method == http.MethodPost {
				wants(t, pl.send(pl.Handler, "", target, "", append(header, alice...)...), http.StatusForbidden, "cross-origin")
			}
		}
	}
	form := url.Values{"op": {"one"}, "seen": {"0"}, "reason": {"for the night"}}.Encode()
	all := append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, alice...)
	wants(t, pl.send(pl.Handler, "", "/jobs/report/pause", form, all...), http.StatusSeeOther)
	if n := pl.changes(t, "report"); n != 1 {
		t.Errorf("%d changes", n)
	}
	wants(t, pl.do("GET", "/audit", "", alice...), http.StatusOK, "gateway/alice@example.com@web")
	wants(t, pl.do("GET", "/", "", append(alice, "Host", "evil.example")...), http.StatusMisdirectedRequest)
}

// A page names the user of a proxy, who has no session to end. Without a user neither a page nor the API is
// shown, nor a form to sign in, whose session would have no effect.
func TestPagesThroughAProxy(t *testing.T) {
	pl, alice, _ := behindProxy(t)
	w := pl.do("GET", "/jobs", "", alice...)
	wants(t, w, http.StatusOK, `title="gateway/alice@example.com, operator">gateway/alice@example.com<`)
	if strings.Contains(w.Body.String(), "/logout") {
		t.Error("the user can sign out")
	}
	for _, target := range []string{"/jobs", "/api/v1/status", "/events"} {
		wants(t, pl.do("GET", target, "", alice[:2]...), http.StatusUnauthorized, "no user is named")
	}
	form := url.Values{"token": {strings.TrimPrefix(alice[1], "Bearer ")}}.Encode()
	wants(t, pl.send(pl.Handler, "", "/login", form, "Content-Type", "application/x-www-form-urlencoded"), http.StatusUnauthorized, "or it is of a proxy")
}

// The stream of a user ends when the line of the proxy leaves the file.
func TestStreamThroughAProxyEnds(t *testing.T) {
	pl, alice, gone := behindProxy(t)
	server := httptest.NewServer(pl)
	t.Cleanup(server.Close)
	f := pl.follow(t.Context(), t, server, "/nodes", alice...)
	f.change(t)
	pl.p.Refresh(t.Context())
	f.change(t)
	gone()
	pl.p.Refresh(t.Context())
	if kind, data := f.next(t); kind != "end" || data != "session" {
		t.Errorf("event %q: %s", kind, data)
	}
}
