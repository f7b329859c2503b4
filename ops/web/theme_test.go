package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A person who has chosen a theme has it on each page for a year, also before signing in, and is led back to the page of this site.
// A theme that does not exist is not kept, and is not shown if a browser sends one.
func TestThemeIsKept(t *testing.T) {
	pl := newPlane(t, "")
	const form = "application/x-www-form-urlencoded"
	for _, theme := range []string{"dark", "light"} {
		w := pl.send(pl.Handler, "", "/theme", url.Values{"theme": {theme}, "next": {"/jobs?q=a"}}.Encode(), "Content-Type", form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/jobs?q=a" {
			t.Errorf("%s: %d to %q", theme, w.Code, w.Header().Get("Location"))
		}
		cookies := w.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%s: %v", theme, cookies)
		}
		c := cookies[0]
		if kept := time.Duration(c.MaxAge) * time.Second; kept != 365*24*time.Hour || c.Path != "/" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("%s is kept for %v: %+v", theme, kept, c)
		}
		if body := pl.do("GET", "/login", "", "Cookie", c.Name+"="+c.Value).Body.String(); !strings.Contains(body, `<html lang="en" data-theme="`+theme+`">`) {
			t.Errorf("the page is not %s: %.200s", theme, body)
		}
	}
	w := pl.send(pl.Handler, "", "/theme", url.Values{"theme": {"pink"}, "next": {"//evil.example"}}.Encode(), "Content-Type", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(w.Result().Cookies()) != 0 {
		t.Errorf("no theme: %d to %q, %v", w.Code, w.Header().Get("Location"), w.Result().Cookies())
	}
	if body := pl.do("GET", "/login", "", "Cookie", themeCookie+"=pink").Body.String(); strings.Contains(body, "pink") || strings.Contains(body, "data-theme") {
		t.Errorf("a theme that does not exist is shown: %.200s", body)
	}
}
