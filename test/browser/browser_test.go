//go:build unix

package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/cronce/cronce/internal/serverprocess"
)

// picturesEnv names a folder for pictures of the pages: ../../docs/pictures for the pictures in the
// documents. Without it no picture is kept.
const picturesEnv = "CRONCE_TEST_PICTURES"

// missingPage is a path without a page.
const missingPage = "/nothing"

// A browser is a real browser, with its complaints.
type browser struct {
	ctx context.Context
	mu  sync.Mutex
	bad []string
}

// startBrowser starts Chromium without a window. It is closed when the test ends.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	chromium := serverprocess.Find(t, "chromium", "chromium")
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the process is gone
		cancel()
	})
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	b := &browser{ctx: ctx}
	go func() { // ends with the browser
		for m, err := range chromedp.Console(ctx) { // refusals of the content security policy are in the browser's log, too
			if err != nil {
				return
			}
			missing := strings.HasSuffix(m.URL, missingPage) && strings.Contains(m.Text, "404") // the test requests it
			if m.Type != "debug" && m.Type != "info" && m.Type != "log" && !missing {
				b.complain(fmt.Sprintf("%s: %s, from %s", m.Type, m.Text, m.URL))
			}
		}
	}()
	go func() { // ends with the browser
		for dialog, err := range chromedp.Events(ctx, page.JavascriptDialogOpening) {
			if err != nil {
				return
			}
			b.complain("a dialog: " + dialog.Message)
			_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // the page waits for it
		}
	}()
	return b
}

func (b *browser) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bad = append(b.bad, text)
}

// complaints returns the complaints since the last call.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad
	b.bad = nil
	return bad
}

// run runs steps of the browser within a time limit.
func (b *browser) run(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// evaluated returns the result of an action.
func evaluated[T any](t *testing.T, b *browser, action chromedp.Action[T]) T {
	t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	answer, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// demo starts a cluster whose nodes are killed, and returns the address that signs in.
func demo(t *testing.T) (c *child, login string) {
	t.Helper()
	c = start(t, "demo", "--ops", "--for", "10m", "--kill-every", "9s")
	address := regexp.MustCompile(`http://\S+`)
	eventually(t, "the address is printed", func() bool { return address.MatchString(c.stdout.String()) })
	return c, address.FindString(c.stdout.String())
}

// Each page of a cluster whose nodes are killed is shown in each width and theme without a
// complaint of the browser and without a part that is wider than the window, and updates by itself.
func TestPagesInABrowser(t *testing.T) {
	b := startBrowser(t)
	c, login := demo(t)
	base := login[:strings.Index(login, "/login")]
	eventually(t, "a node was killed", func() bool { return strings.Contains(c.stdout.String(), "node killed") })
	b.run(t, chromedp.Navigate(login), chromedp.WaitVisible("#hero"))

	b.run(t, chromedp.Navigate(base+"/jobs/takeover"), chromedp.WaitVisible("#runs"))
	tick := ""
	eventually(t, "the job has a tick", func() bool {
		tick = b.says(`document.querySelector("#runs a.tick")?.getAttribute("href") ?? ""`)
		return tick != ""
	})
	for _, p := range []struct{ name, path, ready string }{
		{"jobs", "/jobs", "table.jobs"}, {"tick", tick, "#evidence"},
		{"runs", "/runs", "#runs"}, {"jobruns", "/jobs/takeover/runs", "#runs"}, {"nodes", "/nodes", "#nodes"}, {"audit", "/audit", "#audit"},
		{"selection", "/changes?action=pause&job=takeover", "form.change"}, {"missing", missingPage, "main"},
		// These come last: their pictures have a minute of runs, and nodes that were killed.
		{"job", "/jobs/takeover", "#runs"}, {"overview", "/", "#hero"},
	} {
		for _, width := range []int64{1440, middle, 390} {
			b.look(t, p.name, width, chromedp.Navigate(base+p.path), chromedp.WaitVisible(p.ready))
		}
	}

	b.run(t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(base+"/"), chromedp.WaitVisible("#recent"))
	const newest = `document.querySelector("#recent").textContent`
	first := evaluated(t, b, chromedp.Evaluate[string](newest))
	eventually(t, "the page goes on by itself", func() bool { return evaluated(t, b, chromedp.Evaluate[string](newest)) != first })
	b.live(t)
	b.shapes(t)
	b.run(t, chromedp.Navigate(base+"/jobs/takeover"))
	b.pauseAndResume(t)
	b.withoutScripts(t, base)
	b.refusedWith(t, base, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("complaints: %q", bad)
	}
	b.refused(t, base)
}

// says returns a text of the page; empty while another one is loaded.
func (b *browser) says(expression string) string {
	ctx, stop := context.WithTimeout(b.ctx, 2*time.Minute)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		return ""
	}
	return text
}

// live waits until the page follows the stream.
func (b *browser) live(t *testing.T) {
	t.Helper()
	eventually(t, "the page is live", func() bool { return b.says(`document.getElementById("live")?.textContent ?? ""`) == "live" })
}

const middle = 1024

// look opens a page in a width, and checks it in each theme. The width in the middle has no colours of its own: it is
// checked in one theme.
func (b *browser) look(t *testing.T, name string, width int64, open ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	height := map[int64]int64{390: 844, middle: 768, 1440: 900}[width]
	b.theme(t, "light")
	b.run(t, append([]chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(width, height)}, open...)...)
	evaluated(t, b, chromedp.Evaluate[int](axe+"; 0"))
	if b.check(t, name, width, "light"); width == middle {
		return
	}
	b.theme(t, "dark")
	b.check(t, name, width, "dark")
}

// theme sets the theme that the user prefers.
func (b *browser) theme(t *testing.T, name string) {
	t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		t.Fatal(err)
	}
}

// check checks the page that is open, and keeps its picture if requested.
func (b *browser) check(t *testing.T, name string, width int64, theme string) {
	t.Helper()
	wide := evaluated(t, b, chromedp.Evaluate[int](`Math.ceil(document.documentElement.scrollWidth)`))
	broken := evaluated(t, b, chromedp.Evaluate[string](brokenWords))
	styled := evaluated(t, b, chromedp.Evaluate[int](`document.querySelectorAll("[style], style, script:not([src])").length`))
	if wide > int(width) {
		t.Errorf("%s is %d wide in a window of %d", name, wide, width)
	}
	if broken != "" {
		t.Errorf("%s at %d breaks the words %s", name, width, broken)
	}
	b.accessible(t, fmt.Sprintf("%s at %d, %s", name, width, theme))
	if styled > 0 {
		t.Errorf("%s has %d styles or scripts inside", name, styled)
	}
	for _, bad := range b.complaints() { // a late complaint is reported with the next page
		t.Errorf("%s at %d, %s: %s", name, width, theme, bad)
	}
	if dir := os.Getenv(picturesEnv); dir != "" {
		picture := evaluated(t, b, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("ops-%s-%d-%s.png", name, width, theme)), picture, 0o600); err != nil {
			t.Error(err)
		}
	}
}
