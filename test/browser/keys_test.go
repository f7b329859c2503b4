//go:build unix

package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A person without a mouse finds a job from the first page, reads why its newest tick went as it did,
// pauses the job and resumes it. Each step is a key that is pressed.
func TestKeysInABrowser(t *testing.T) {
	b := startBrowser(t)
	_, login := demo(t)
	b.run(t, chromedp.Navigate(login), chromedp.WaitVisible("#hero"))
	b.live(t)
	b.keys(t, "/")
	b.reaches(t, "the field of the search", `document.activeElement.matches("#q")`)
	b.live(t)
	b.keys(t, "takeover"+kb.Enter)
	b.reaches(t, "the jobs that were found", `location.search.includes("takeover") && document.querySelectorAll("#jobs [data-row]").length === 1`)
	b.live(t)
	b.keys(t, "j"+kb.Enter)
	b.reaches(t, "the job", `location.pathname === "/jobs/takeover" && document.querySelector("#runs a.tick") !== null`)
	b.live(t)
	newest := b.says(`document.querySelector("#runs a.tick").getAttribute("href")`)
	b.keys(t, "j"+kb.Enter)
	b.reaches(t, "the sentence of a tick", `location.pathname.startsWith("/jobs/takeover/") && document.querySelector("#title .sentence").textContent.length > 20`)
	if tick := b.says(`location.pathname`); tick < newest {
		t.Errorf("the keys lead to %s, want the newest tick, %s or later", tick, newest)
	}
	b.tab(t, `a[href="/jobs/takeover"]`)
	b.keys(t, kb.Enter)
	b.reaches(t, "the job", `location.pathname === "/jobs/takeover" && document.querySelector("#act summary") !== null`)

	b.tab(t, "#act summary")
	b.keys(t, kb.Enter)
	b.tab(t, `#act input[name="reason"]`)
	b.keys(t, "maintenance"+kb.Enter)
	b.reaches(t, "the pause", `document.querySelector("#act .pause").textContent.includes("maintenance")`)
	b.tab(t, `#act input[name="reason"]`)
	b.keys(t, "done"+kb.Enter)
	b.reaches(t, "the end of the pause", `document.querySelector("#act") !== null && document.querySelector("#act .pause") === null`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("complaints: %q", bad)
	}
}

// keys presses keys, one after the other.
func (b *browser) keys(t *testing.T, keys string) {
	t.Helper()
	b.run(t, chromedp.KeyEvent(keys))
}

// tab presses Tab until the focus is on an element.
func (b *browser) tab(t *testing.T, selector string) {
	t.Helper()
	const most = 100
	for range most {
		b.keys(t, kb.Tab)
		if b.says("String(document.activeElement.matches(`"+selector+"`))") == "true" {
			return
		}
	}
	t.Fatalf("%d times Tab do not lead to %s", most, selector)
}

// reaches waits until an expression is true on the page.
func (b *browser) reaches(t *testing.T, place, expression string) {
	t.Helper()
	eventually(t, "the keys lead to "+place, func() bool { return b.says("String("+expression+")") == "true" })
}
