package web

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/hostile"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// Names of jobs, nodes, specs and operators that a process has written to the store as no node writes them stay text, on each
// page that shows them: in texts, links, titles and forms.
func TestHostileNames(t *testing.T) {
	runs := regexp.MustCompile(`\son\w+=|\sstyle=|href="javascript:`)
	text := regexp.MustCompile(`>[^<]*<|="[^"]*"`)
	for _, hostile := range hostile.Texts {
		if driver.CheckWord("name", hostile) != nil { // the store takes no such name
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			pl := newPlane(t, "")
			ctx := t.Context()
			at := pl.store.Open(ctx, []series.OpenRequest{{Key: hostile, Node: hostile, Revision: "r", Spec: "@every 1s", Zone: "UTC"}})[0]
			if _, err := pl.store.Beat(ctx, series.Beat{Node: hostile, TTL: time.Minute}); at.Err != nil || err != nil {
				t.Fatal(at.Err, err)
			}
			time.Sleep(time.Second)
			number := (at.Mark/1000 + 1) * 1000
			c := series.Claim{Key: hostile, Owner: hostile + "/x", Number: number, After: at.Mark, TTL: 10 * time.Second, Deadline: time.Minute, Attempts: 1, Latest: number + 60_000, Revision: "r"}
			if a := pl.store.Claim(ctx, []series.Claim{c})[0]; a.Kind != series.KindGranted {
				t.Fatalf("%v %v", a.Kind, a.Err)
			}
			control := series.Control{Key: hostile, Op: "op", Who: hostile, Reason: hostile, Action: series.ActionPause, Seen: series.AnySeen}
			if a := pl.store.Control(ctx, control); a.Err != nil {
				t.Fatal(a.Err)
			}
			pl.p.Refresh(ctx)
			if pl.p.Peek().Job(hostile) == nil {
				t.Fatal("the plane has no such job")
			}
			job := "/jobs/" + url.PathEscape(hostile)
			for _, target := range []string{"/", "/jobs", "/nodes", "/runs", "/audit", job, job + "/runs", job + "/ticks/" + ops.TickText(time.UnixMilli(number)), "/changes?action=resume&job=" + url.QueryEscape(hostile)} {
				w := pl.do("GET", target, pl.tokens[access.Operator])
				body := w.Body.String()
				if w.Code != 200 {
					t.Errorf("%s: %d", target, w.Code)
				}
				if strings.Contains(body, "<script>") || strings.Contains(body, "<img") || strings.Contains(body, `href="//`) || runs.MatchString(text.ReplaceAllString(body, "")) {
					t.Errorf("%s is not text on %s", hostile, target)
				}
			}
		})
	}
}
