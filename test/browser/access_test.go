//go:build unix

package browser_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// axe is axe-core, of Deque Systems: see testdata/axe/LICENSE.
//
//go:embed testdata/axe/axe.min.js
var axe string

// violations runs axe, and returns the serious and critical violations.
const violations = `axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations
	.filter((v) => v.impact === "serious" || v.impact === "critical")
	.map((v) => v.id + " at " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" and ")).join("; "))`

// brokenWords returns words that are on two lines. A line may end after a hyphen.
const brokenWords = `(() => {
	const bad = new Set(), range = document.createRange(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		if (!texts.currentNode.parentElement.checkVisibility()) continue;
		for (const word of texts.currentNode.data.matchAll(/[\p{L}\p{N}]+/gu)) {
			range.setStart(texts.currentNode, word.index);
			range.setEnd(texts.currentNode, word.index + word[0].length);
			if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) bad.add(word[0]);
		}
	}
	return [...bad].join(" ");
})()`

// accessible checks that axe, which the page has loaded, finds no serious violation on it.
func (b *browser) accessible(t *testing.T, name string) {
	t.Helper()
	if bad := evaluated(t, b, chromedp.Evaluate[string](violations, chromedp.EvalAwaitPromise)); bad != "" {
		t.Errorf("%s: %s", name, bad)
	}
}

// pauseAndResume pauses the job whose page is open, and resumes it, by the forms of the page.
func (b *browser) pauseAndResume(t *testing.T) {
	t.Helper()
	b.run(t, chromedp.WaitVisible("#act summary"), chromedp.Click("#act summary"),
		chromedp.WaitVisible(`#act input[name="reason"]`), chromedp.SendKeys(`#act input[name="reason"]`, "maintenance"),
		chromedp.Click(`#act form.change button`), chromedp.WaitVisible("#act .pause"),
		chromedp.SendKeys(`#act input[name="reason"]`, "done"), chromedp.Click(`#act form.change button`),
		chromedp.WaitNotPresent("#act .pause"), chromedp.WaitVisible("#act summary"))
}

// withoutScripts finds a job from the first page, reads why its newest tick went as it did, pauses the job and resumes it, by forms
// and links alone: scripts are off.
func (b *browser) withoutScripts(t *testing.T, base string) {
	t.Helper()
	scripts := func(off bool) {
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off}); err != nil {
			t.Fatal(err)
		}
	}
	scripts(true)
	defer scripts(false)
	b.run(t, chromedp.Navigate(base+"/"), chromedp.WaitReady(`noscript meta[http-equiv="refresh"]`), // has elements only if scripts are off
		chromedp.Click(`nav a[href="/jobs"]`), chromedp.WaitVisible("#jobs tr:nth-child(2)"),
		chromedp.SendKeys("#q", "takeover"), chromedp.Click("form.search button"),
		chromedp.WaitNotPresent("#jobs tbody tr:nth-child(2)"), chromedp.Click(`#jobs td.name a`), chromedp.Click("#runs a.tick"))
	if why := evaluated(t, b, chromedp.Text("#title .sentence")); len(why) < 20 {
		t.Errorf("the page of a tick says %q", why)
	}
	b.run(t, chromedp.Click(`#title a[href="/jobs/takeover"]`), chromedp.WaitVisible("#runs"))
	b.pauseAndResume(t)
}

// refusedWith checks that a page whose stream is refused with one of the statuses says so, and is read.
func (b *browser) refusedWith(t *testing.T, base string, statuses ...int) {
	t.Helper()
	newest := ""
	for _, status := range statuses {
		script := fmt.Sprintf(`const ask = fetch; fetch = (...of) => String(of[0]).startsWith("/events") ? Promise.resolve(new Response("", {status: %d})) : ask(...of)`, status)
		added, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		if err != nil {
			t.Fatal(err)
		}
		b.run(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible("#recent"))
		newest = b.says(`document.querySelector("#recent").textContent`)
		eventually(t, "the page says that its stream is refused", func() bool {
			return b.says(`document.getElementById("live").textContent`) == fmt.Sprintf("live updates are refused (%d): the page is read every 15 s", status)
		})
		if _, err := chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(added)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the page is read", func() bool { return b.says(`document.querySelector("#recent").textContent`) != newest })
}

// refused checks that a page without a stream says so, and is read; and that it says when its session
// has ended. The browser complains about the requests that fail here.
func (b *browser) refused(t *testing.T, base string) {
	t.Helper()
	block := func(patterns ...*network.BlockPattern) {
		if _, err := chromedp.Call(b.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns}); err != nil {
			t.Fatal(err)
		}
	}
	block(&network.BlockPattern{URLPattern: base + "/events*", Block: true})
	b.run(t, chromedp.Navigate(base+"/"), chromedp.WaitVisible("#recent"))
	newest := b.says(`document.querySelector("#recent").textContent`)
	eventually(t, "the page says that it is read from time to time", func() bool {
		return strings.Contains(b.says(`document.getElementById("live").textContent`), "live updates do not arrive: the page is read every 15 s")
	})
	eventually(t, "an old view has no green", func() bool {
		return b.says(`document.documentElement.hasAttribute("data-old") ? getComputedStyle(document.querySelector(".dial")).stroke : ""`) ==
			b.says(`getComputedStyle(document.querySelector(".s-skipped")).color`)
	})
	eventually(t, "the page is read", func() bool { return b.says(`document.querySelector("#recent").textContent`) != newest })
	block()
	b.live(t)
	b.says(`fetch("/logout", {method: "POST"}).then(() => "")`)
	eventually(t, "the page says that its session has ended", func() bool { return b.says(`document.getElementById("live").textContent`) == "signed out" })
}
