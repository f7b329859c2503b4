//go:build unix

package browser_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cronce/cronce/internal/hostile"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/ops/web"
)

// outlines returns the tags of the page and the names of their attributes, without the contents of pictures. A text that is no text
// changes them.
const outlines = `(() => {
	const outline = (e) => e.tagName + [...e.attributes].map((a) => " " + a.name).sort().join("") + (e.matches("svg") ? "" : "(" + [...e.children].map(outline).join() + ")");
	return outline(document.body);
})()`

// strangers returns the elements that no page has: those that run a script, load from elsewhere or lead there.
const strangers = `[...document.querySelectorAll("*")].filter((e) =>
	e.matches("img, iframe, object, embed, style, [style], script:not([src])") || [...e.attributes].some((a) => a.name.startsWith("on")) ||
	["href", "src", "action", "formaction"].some((name) => e.hasAttribute(name) && new URL(e.getAttribute(name), location).origin !== location.origin)).map((e) => e.outerHTML.slice(0, 200)).join("; ")`

// usual is the name of the job that is as the others are, except that its texts are harmless.
const usual = "report"

// Texts that jobs, nodes, operators, errors and outputs have given to the store stay text in a browser: each page is built as it is for
// harmless texts, opens no dialog, is accessible and is no wider than a small window.
func TestHostileTextsInABrowser(t *testing.T) {
	b := startBrowser(t)
	base, names, tick := hostilePlane(t)
	b.run(t, chromedp.EmulateViewport(390, 844), chromedp.Navigate(base+"/login?token=once"), chromedp.WaitVisible("#hero"))
	jobs := url.Values{"action": {"resume"}, "job": names}
	for _, path := range []string{"/", "/jobs", "/nodes", "/runs", "/audit", "/changes?" + jobs.Encode()} {
		b.harmless(t, base+path)
		b.accessibleAsOpened(t, path)
	}
	b.fits(t, base, "/", "/jobs", "/nodes", "/runs", "/audit")
	want := map[string]string{}
	for _, name := range names {
		for _, path := range []string{"", "/ticks/" + ops.TickText(tick)} {
			outline := b.harmless(t, base+"/jobs/"+url.PathEscape(name)+path)
			if name == usual {
				want[path] = outline
			} else if outline != want[path] {
				t.Errorf("%s of %q has other elements than for harmless texts", path, name)
			}
			if title := b.says("document.title"); !strings.HasPrefix(title, name) || !strings.HasSuffix(title, " · cronce · shop") {
				t.Errorf("the title of %s of %q is %q", path, name, title)
			}
		}
		b.accessibleAsOpened(t, name) // a tick: its page has the text as the error and the output, too
	}
}

// fits opens pages in a large window, and in one that is narrower than a phone's, as with larger text. No name may push a part of a
// table out of sight there.
func (b *browser) fits(t *testing.T, base string, paths ...string) {
	t.Helper()
	for _, width := range []int64{1280, 256} {
		b.run(t, chromedp.EmulateViewport(width, 900))
		for _, path := range paths {
			b.run(t, chromedp.Navigate(base+path), chromedp.WaitVisible("main"))
			b.live(t)
			if hidden := evaluated(t, b, chromedp.Evaluate[int](`Math.max(0, ...[...document.querySelectorAll(".scroll")].map((box) => box.scrollWidth - box.clientWidth))`)); hidden > 0 {
				t.Errorf("%s hides %d pixels of a table in a window of %d", path, hidden, width)
			}
		}
	}
	b.run(t, chromedp.EmulateViewport(390, 844))
}

// accessibleAsOpened loads axe into the page that is open, and checks it.
func (b *browser) accessibleAsOpened(t *testing.T, name string) {
	t.Helper()
	evaluated(t, b, chromedp.Evaluate[int](axe+"; 0"))
	b.accessible(t, name)
}

// harmless opens a page, waits until the stream has replaced its parts, checks it, and returns its outline.
func (b *browser) harmless(t *testing.T, address string) (outline string) {
	t.Helper()
	b.run(t, chromedp.Navigate(address), chromedp.WaitVisible("main"))
	b.live(t)
	if wide := evaluated(t, b, chromedp.Evaluate[int](`Math.ceil(document.documentElement.scrollWidth)`)); wide > 390 {
		t.Errorf("%s is %d wide", address, wide)
	}
	if found := evaluated(t, b, chromedp.Evaluate[string](strangers)); found != "" {
		t.Errorf("%s has %s", address, found)
	}
	for _, bad := range b.complaints() {
		t.Errorf("%s: %s", address, bad)
	}
	return evaluated(t, b, chromedp.Evaluate[string](outlines))
}

// hostilePlane serves the pages of a store that has a job for each hostile text, and a usual one before them. It returns their address,
// the names of the jobs, and the tick that failed in each. A text that may be a name is the name of its job, node and operator, too.
func hostilePlane(t *testing.T) (base string, names []string, tick time.Time) {
	t.Helper()
	store := memlock.New(memlock.Options{})
	tick = time.Now().Truncate(time.Millisecond)
	for i, text := range append([]string{usual}, hostile.Texts...) {
		name := text
		if driver.CheckWord("name", text) != nil {
			name = fmt.Sprint("text-", i)
		}
		names = append(names, name)
		write(t, store, name, text, tick.UnixMilli())
	}
	token, _, err := access.NewToken("ann", access.Operator)
	if err != nil {
		t.Fatal(err)
	}
	p := ops.New(ops.Options{Store: store, Namespace: "shop"})
	gate := access.NewGate(access.Options{Tokens: func() []access.Token { return []access.Token{token} }, Cookie: "cronce-shop", OneTime: "once"})
	h, err := web.New(web.Options{Projection: p, Store: series.FrontOf(store), Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	p.Refresh(t.Context())
	go p.Run(t.Context())
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end
		server.Close()
	})
	return server.URL, names, tick
}

// write gives a job to the store: a run of it failed with the text as its error and output, another one is alive, and then it was paused.
// The name is the name of the job, the node and the operator.
func write(t *testing.T, store *memlock.Store, name, text string, tick int64) {
	t.Helper()
	ctx, front := t.Context(), series.FrontOf(store)
	opened := front.Open(ctx, []series.OpenRequest{{Key: name, Node: name, Revision: "r", Spec: "@yearly", Zone: "UTC", Begin: tick - 1000}})[0]
	_, silent := store.Beat(ctx, series.Beat{Node: name, TTL: time.Hour})
	c := series.Claim{Key: name, Owner: name + "/1", Number: tick, After: opened.Mark, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: tick + time.Hour.Milliseconds(), Revision: "r"}
	failed := front.Claim(ctx, []series.Claim{c})[0]
	end := series.EndRequest{RunRef: series.RunRef{Key: name, Number: tick, Owner: c.Owner, Fence: failed.Fence}, Outcome: series.OutcomeFailed, Error: series.ErrorText(text)}
	released := front.ReleaseRuns(ctx, []series.EndRequest{end})[0]
	kept := front.KeepOutput(ctx, series.Output{Key: name, Number: tick, Fence: failed.Fence, Failed: true, Text: series.OutputText(text)})
	c.Owner, c.After, c.Number = name+"/2", tick, tick+1
	alive := front.Claim(ctx, []series.Claim{c})[0]
	reason := text
	if !driver.Printable(text) || len(text) > 500 {
		reason = "no reason may have this text"
	}
	paused := front.Control(ctx, series.Control{Key: name, Op: "op", Who: name, Reason: reason, Action: series.ActionPause, Seen: series.AnySeen})
	if err := errors.Join(opened.Err, silent, failed.Err, released.Err, kept, alive.Err, paused.Err); err != nil || failed.Kind != series.KindGranted || alive.Kind != series.KindGranted {
		t.Fatalf("%q: %v %v %v", name, failed.Kind, alive.Kind, err)
	}
}
