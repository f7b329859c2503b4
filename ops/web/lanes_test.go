package web

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// drawnAt is the instant at which the pictures of these tests are drawn.
var drawnAt = time.Date(2026, 11, 26, 23, 2, 0, 0, time.UTC)

// jobOf returns a job with some runs, the newest first. Each run begins at its tick.
func jobOf(t *testing.T, text string, runs ...ops.Run) *ops.Job {
	t.Helper()
	schedule, err := spec.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		r := &runs[i]
		r.Job = "report"
		if r.Node != "" {
			r.Granted = r.Tick
		}
		r.Recorded = r.Tick
	}
	return &ops.Job{Name: "report", Schedule: schedule, Runs: runs}
}

func ago(d time.Duration) time.Time { return drawnAt.Add(-d) }

func picked(jobs []*ops.Job, span time.Duration) lanes {
	return lanesOf(&ops.Snapshot{AsOf: drawnAt, Nodes: new(ops.NodeList)}, jobs, span)
}

// drawn returns the HTML of a picture.
func drawn(t *testing.T, l lanes) string {
	t.Helper()
	p, err := newPages()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.templates.ExecuteTemplate(&b, "lanes", l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarksOfTicks(t *testing.T) {
	took := func(r ops.Run, d time.Duration) ops.Run { r.Ended = r.Tick.Add(d); return r }
	skipped := ops.Run{Tick: ago(time.Second), From: ago(38 * time.Second), Verdict: "skipped", Between: "skipped", State: ops.Skipped}
	overdue := jobOf(t, "@every 10s")
	overdue.Overdue = []ops.OverdueTick{{Overdue: verify.Overdue{Tick: ago(30 * time.Second), Last: ago(10 * time.Second), Ticks: 3}}}
	for _, c := range []struct {
		name  string
		job   *ops.Job
		lane  string
		marks int
		parts []string
	}{
		{"a run", jobOf(t, "@every 1s", took(ops.Run{Tick: ago(30 * time.Second), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK}, 6*time.Second)), "pod-a", 1,
			[]string{`<a class="s-ok" href="/jobs/report/ticks/2026-11-26T23:01:30Z"><title>23:01:30 ok</title><rect x="50%" y="8" width="10%" height="4"/><use href="#m-ok" x="50%"`}},
		{"a short run", jobOf(t, "@every 1s", took(ops.Run{Tick: ago(15 * time.Second), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "failed", State: ops.Failing}, 10*time.Millisecond)), "pod-a", 1,
			[]string{`</title><use href="#m-failing" x="75%"`}},
		{"a takeover", jobOf(t, "@every 1s", took(ops.Run{Tick: ago(15 * time.Second), Node: "pod-b", Attempt: 2, Verdict: "ran", Outcome: "ok", State: ops.OK}, time.Millisecond)), "pod-b", 1,
			[]string{`23:01:45 ok, attempt 2</title><use href="#m-ok" x="75%" width="14" height="14"/><use class="again" href="#m-takeover"`}},
		{"a line of 37 skipped ticks", jobOf(t, "@every 1s", skipped), "", 37, []string{"23:01:23 skipped", "23:01:59 skipped", `href="#m-skipped"`, "<em>did not run</em>", `aria-label="did not run: 37 ticks"`}},
		{"ticks that are overdue", overdue, "", 3, []string{"23:01:30 overdue", "23:01:40 overdue", "23:01:50 overdue", `href="#m-overdue"`}},
		{"a run that began before the period", jobOf(t, "@every 1s", ops.Run{Tick: ago(time.Hour), Node: "pod-a", Attempt: 1, Verdict: "ran", State: ops.Running}), "pod-a", 1, []string{`<rect x="0%" y="8" width="100%"`, `href="#m-running"`}},
		{"a tick before the period", jobOf(t, "@every 1s", ops.Run{Tick: ago(time.Hour), Verdict: "missed", State: ops.Missed}), "", 0, []string{"no tick is on record within this time"}},
	} {
		l := picked([]*ops.Job{c.job}, time.Minute)
		marks := 0
		for _, of := range l.Lanes {
			if of.Name == c.lane {
				marks += len(of.Marks)
			}
		}
		html := drawn(t, l)
		if marks != c.marks || strings.Count(html, "<a class=\"s-") != c.marks || l.Merged {
			t.Errorf("%s: %d marks, want %d:\n%s", c.name, marks, c.marks, html)
		}
		for _, part := range c.parts {
			if !strings.Contains(html, part) {
				t.Errorf("%s lacks %q:\n%s", c.name, part, html)
			}
		}
	}
}

// The ticks of a line are the ticks of the spec that it was written under.
func TestMarksOfAFormerSpec(t *testing.T) {
	lines := []series.Line{{Verdict: series.VerdictSkipped, Between: series.VerdictSkipped, Revision: "old", At: ago(time.Minute).UnixMilli(), From: ago(2 * time.Minute).UnixMilli(), To: ago(time.Minute).UnixMilli()}}
	j := jobOf(t, "@every 1s")
	j.Journal = series.Journal{Key: "report", Lines: lines, Revisions: []series.RevisionUse{{Revision: "old", Spec: "@every 20s", Zone: "UTC", Last: 1}, {Revision: "new", Spec: "@every 1s", Zone: "UTC", Last: 2}}}
	j.Runs = ops.Runs("shop", &j.Journal, &series.Series{Key: "report"})
	if l := picked([]*ops.Job{j}, 5*time.Minute); l.Ticks != 3 {
		t.Errorf("%d ticks: %+v", l.Ticks, l.Lanes)
	}
}

// However many nodes there are, the ticks that did not run keep their lane.
func TestLaneOfTicksThatDidNotRun(t *testing.T) {
	runs := []ops.Run{{Tick: ago(time.Second), Verdict: "paused", State: ops.Paused}}
	for i := range 40 {
		runs = append(runs, ops.Run{Tick: ago(2 * time.Second), Node: fmt.Sprintf("pod-%02d", i), Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK})
	}
	html := drawn(t, picked([]*ops.Job{jobOf(t, "@every 1s", runs...)}, time.Minute))
	for _, part := range []string{`href="#m-paused"`, "<em>did not run</em>", "28 more nodes have no lane here."} {
		if !strings.Contains(html, part) {
			t.Errorf("the picture lacks %q", part)
		}
	}
	if n := strings.Count(html, `class="lane-name`); n != mostLanes+1 {
		t.Errorf("%d lanes", n)
	}
}

// The marks of very many ticks are merged, the picture says so, and a mark shows the worst of its ticks.
func TestMergedMarks(t *testing.T) {
	var jobs []*ops.Job
	for i := range 3000 {
		skipped := ops.Run{Tick: ago(time.Second), From: ago(600 * time.Second), Verdict: "skipped", Between: "skipped", State: ops.Skipped}
		failed := ops.Run{Tick: ago(30 * time.Second), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK}
		if i == 1500 {
			failed.Outcome, failed.State = "failed", ops.Failing
		}
		jobs = append(jobs, jobOf(t, "@every 1s", skipped, failed))
	}
	l := picked(jobs, 10*time.Minute)
	html := drawn(t, l)
	if n := strings.Count(html, "<a class=\"s-"); !l.Merged || n < 10 || n > mostTicks || len(html) > mostBytes+20_000 {
		t.Errorf("%d marks, %d bytes", n, len(html))
	}
	for _, part := range []string{"shows the worst of its ticks", "report 23:01:30 failed, and others", `href="#m-failing"`} {
		if !strings.Contains(html, part) {
			t.Errorf("the picture lacks %q", part)
		}
	}
}

func TestAxis(t *testing.T) {
	for span, want := range map[time.Duration]string{
		time.Minute:        "23:01:10 23:01:20 23:01:30 23:01:40 23:01:50",
		5 * time.Minute:    "22:58 22:59 23:00 23:01",
		15 * time.Minute:   "22:48 22:50 22:52 22:54 22:56 22:58 23:00",
		6 * time.Hour:      "18:00 19:00 20:00 21:00 22:00 23:00",
		24 * time.Hour:     "2026-11-26 04:00 08:00 12:00 16:00 20:00",
		7 * 24 * time.Hour: "2026-11-20 2026-11-21 2026-11-22 2026-11-23 2026-11-24 2026-11-25 2026-11-26",
	} {
		var texts []string
		for _, l := range axis(drawnAt.Add(-span), drawnAt) {
			texts = append(texts, l.Text)
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("%v: %s, want %s", span, got, want)
		}
	}
	if first := axis(ago(time.Minute), drawnAt)[0]; first.X != "16.6%" {
		t.Errorf("%+v", first)
	}
}

// The states that a lane has differ in shape, and the legend of the page has each of them.
func TestShapes(t *testing.T) {
	pl := newPlane(t, "")
	body := pl.do("GET", "/nodes", pl.tokens[access.Viewer]).Body.String()
	shapes := map[string]ops.State{}
	for _, state := range append([]ops.State{"takeover"}, tickStates...) {
		found := regexp.MustCompile(`<symbol id="m-` + string(state) + `" viewBox="0 0 16 16">(.*?)</symbol>`).FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("%s has no shape", state)
		}
		if other, taken := shapes[found[1]]; taken && state != ops.Superseded {
			t.Errorf("%s has the shape of %s", state, other)
		}
		shapes[found[1]] = state
		if !strings.Contains(body, `<use href="#m-`+string(state)+`"/></svg> `+string(state)+`</li>`) {
			t.Errorf("the legend lacks %s", state)
		}
	}
}
