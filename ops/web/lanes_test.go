package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	recorded "github.com/cronce/cronce/scheduler/policy"
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
	took := func(r ops.Run, d time.Duration) ops.Run { r.Ended = ops.InstantOf(r.Tick.Time().Add(d)); return r }
	skipped := ops.Run{Tick: ops.InstantOf(ago(time.Second)), From: ops.InstantOf(ago(38 * time.Second)), Verdict: "skipped", Between: "skipped", State: ops.Skipped}
	overdue := jobOf(t, "@every 10s")
	overdue.Overdue = []ops.OverdueTick{{Overdue: verify.Overdue{Tick: ago(30 * time.Second), Last: ago(10 * time.Second), Ticks: 3}}}
	for _, c := range []struct {
		name  string
		job   *ops.Job
		lane  string
		marks int
		parts []string
	}{
		{"a run", jobOf(t, "@every 1s", took(ops.Run{Tick: ops.InstantOf(ago(30 * time.Second)), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK}, 6*time.Second)), "pod-a", 1,
			[]string{`<a class="s-ok" href="/jobs/report/ticks/2026-11-26T23:01:30Z"><title>23:01:30 ok</title><rect x="50%" y="8" width="10%" height="4"/><use href="#m-ok" x="50%"`}},
		{"a short run", jobOf(t, "@every 1s", took(ops.Run{Tick: ops.InstantOf(ago(15 * time.Second)), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "failed", State: ops.Failing}, 10*time.Millisecond)), "pod-a", 1,
			[]string{`</title><use href="#m-failing" x="75%"`}},
		{"a takeover", jobOf(t, "@every 1s", took(ops.Run{Tick: ops.InstantOf(ago(15 * time.Second)), Node: "pod-b", Attempt: 2, Verdict: "ran", Outcome: "ok", State: ops.OK}, time.Millisecond)), "pod-b", 1,
			[]string{`23:01:45 ok, attempt 2</title><use href="#m-ok" x="75%" width="14" height="14"/><use class="again" href="#m-takeover"`}},
		{"shards that were taken over", jobOf(t, "@every 1s", took(ops.Run{Tick: ops.InstantOf(ago(15 * time.Second)), Node: "pod-b", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK, Shards: &ops.ShardCount{Of: 3, OK: 3, Rerun: 2}}, time.Millisecond)), "pod-b", 1,
			[]string{`23:01:45 ok, 2 of its shards again</title><use href="#m-ok" x="75%" width="14" height="14"/><use class="again" href="#m-takeover"`}},
		{"shards that were not taken over", jobOf(t, "@every 1s", took(ops.Run{Tick: ops.InstantOf(ago(15 * time.Second)), Node: "pod-b", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK, Shards: &ops.ShardCount{Of: 3, OK: 3}}, time.Millisecond)), "pod-b", 1,
			[]string{`23:01:45 ok</title><use href="#m-ok" x="75%" width="14" height="14"/></a>`}},
		{"a line of 37 skipped ticks", jobOf(t, "@every 1s", skipped), "", 37, []string{"23:01:23 skipped", "23:01:59 skipped", `href="#m-skipped"`, "<em>did not run</em>", `aria-label="did not run: 37 ticks"`}},
		{"ticks that are overdue", overdue, "", 3, []string{"23:01:30 overdue", "23:01:40 overdue", "23:01:50 overdue", `href="#m-overdue"`}},
		{"a run that began before the period", jobOf(t, "@every 1s", ops.Run{Tick: ops.InstantOf(ago(time.Hour)), Node: "pod-a", Attempt: 1, Verdict: "ran", State: ops.Running}), "pod-a", 1, []string{`<rect x="0%" y="8" width="100%"`, `href="#m-running"`}},
		{"a tick before the period", jobOf(t, "@every 1s", ops.Run{Tick: ops.InstantOf(ago(time.Hour)), Verdict: "missed", State: ops.Missed}), "", 0, []string{"no tick is on record within this time"}},
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
	runs := []ops.Run{{Tick: ops.InstantOf(ago(time.Second)), Verdict: "paused", State: ops.Paused}}
	for i := range 40 {
		runs = append(runs, ops.Run{Tick: ops.InstantOf(ago(2 * time.Second)), Node: fmt.Sprintf("pod-%02d", i), Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK})
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
// A node that is not on the list of live nodes is gone, unless it has a run: it drains, or its death is not certain yet.
func TestNodesThatAreGone(t *testing.T) {
	l := picked([]*ops.Job{jobOf(t, "@every 1s",
		ops.Run{Tick: ops.InstantOf(ago(20 * time.Second)), Node: "drains", Attempt: 1, Verdict: "ran", State: ops.Running},
		ops.Run{Tick: ops.InstantOf(ago(30 * time.Second)), Node: "went", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK},
	)}, time.Minute)
	gone := map[string]bool{}
	for _, lane := range l.Lanes {
		gone[lane.Name] = lane.Gone
	}
	if !gone["went"] || gone["drains"] || len(gone) != 2 {
		t.Errorf("gone are %v, want went alone", gone)
	}
}

// Several jobs that run in one instant on one node have a mark each, as long as a picture merges none.
func TestMarksInOneInstant(t *testing.T) {
	var jobs []*ops.Job
	for _, name := range []string{"bills", "mails", "sums"} {
		j := jobOf(t, "@every 1s", ops.Run{Tick: ops.InstantOf(ago(30 * time.Second)), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK})
		j.Name, j.Runs[0].Job = name, name
		jobs = append(jobs, j)
	}
	l := picked(jobs, time.Minute)
	var titles []string
	for _, m := range l.Lanes[0].Marks {
		titles = append(titles, m.Title)
	}
	if want := []string{"bills 23:01:30 ok", "mails 23:01:30 ok", "sums 23:01:30 ok"}; !slices.Equal(titles, want) || l.Lanes[0].Ticks != 3 || l.Merged {
		t.Errorf("the marks are %q of %d ticks, merged: %v, want %q", titles, l.Lanes[0].Ticks, l.Merged, want)
	}
}

func TestMergedMarks(t *testing.T) {
	var jobs []*ops.Job
	for i := range 3000 {
		skipped := ops.Run{Tick: ops.InstantOf(ago(time.Second)), From: ops.InstantOf(ago(600 * time.Second)), Verdict: "skipped", Between: "skipped", State: ops.Skipped}
		failed := ops.Run{Tick: ops.InstantOf(ago(30 * time.Second)), Node: "pod-a", Attempt: 1, Verdict: "ran", Outcome: "ok", State: ops.OK}
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
	if first := axis(ago(time.Minute), drawnAt)[0]; first.X != "16.6%" || !first.Between {
		t.Errorf("%+v", first)
	}
	if first := axis(ago(45*time.Second), drawnAt)[0]; first.Text != "23:01:20" || first.Between {
		t.Errorf("%+v", first)
	}
}

// The states of ticks differ in shape, and the legend of the page has each of them.
func TestShapes(t *testing.T) {
	pl := newPlane(t, "")
	body := pl.do("GET", "/nodes", pl.tokens[access.Viewer]).Body.String()
	shapes := map[string]ops.State{}
	for _, state := range append([]ops.State{"takeover"}, tickStates...) {
		found := regexp.MustCompile(`<symbol id="m-` + string(state) + `" viewBox="0 0 16 16">(.*?)</symbol>`).FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("%s has no shape", state)
		}
		if other, taken := shapes[found[1]]; taken {
			t.Errorf("%s has the shape of %s", state, other)
		}
		shapes[found[1]] = state
		if !strings.Contains(body, `<use href="#m-`+string(state)+`"/></svg> `+string(state)+`</li>`) {
			t.Errorf("the legend lacks %s", state)
		}
	}
}

func TestFactsOfAJob(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"overlap:skip/misfire:once": "Overlap skip, Misfire once, Deadline 5.0 s",
		"overlap:allow/misfire:all/deadline:1m30s/jitter:2s":          "Overlap allow, Misfire all, Deadline 1 min 30 s, Jitter 2.0 s",
		"overlap:queue/misfire:skip/jitter:2s/timeout:3s":             "Overlap queue, Misfire skip, Deadline 1.0 s, Jitter 2.0 s, Timeout 3.0 s",
		"overlap:skip/misfire:once/deadline:7s/callers:crontab/new:1": "Overlap skip, Misfire once, Deadline 7.0 s, Claimed by crontabs",
		"overlap:skip/misfire:once/deadline:7s/limit:a*3/nodes:all":   "Overlap skip, Misfire once, Deadline 7.0 s, Limit a*3, Runs on each node",
	} {
		j := jobOf(t, "@every 5s")
		j.Policies, _ = recorded.Parse(text)
		var facts []string
		for _, f := range factsOf(j) {
			facts = append(facts, f.Name+" "+f.Value)
		}
		if got := strings.Join(facts, ", "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The page of a job has the spec in words, the specs of nodes that disagree, the policies, the pause with its
// author, reason and end, overdue ticks in the list, jitter apart from lateness, and says if the job
// never ran.
func TestJobPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		h, err := New(Options{Projection: ops.New(ops.Options{Store: pl.store, Namespace: "shop"}), Store: pl.store, Gate: pl.gate})
		if err != nil {
			t.Fatal(err)
		}
		pl.Handler = h
		body := func(job string) string {
			t.Helper()
			h.o.Projection.Refresh(t.Context())
			w := pl.do("GET", "/jobs/"+job, pl.tokens[access.Viewer])
			if w.Code != 200 {
				t.Fatalf("%s: %d", job, w.Code)
			}
			return w.Body.String()
		}
		wantsParts := func(job string, parts ...string) {
			t.Helper()
			html := body(job)
			for _, part := range parts {
				if !strings.Contains(html, part) {
					t.Errorf("%s lacks %q:\n%s", job, part, html[strings.Index(html, "<main"):])
				}
			}
		}
		open := func(node, spec string) int64 {
			t.Helper()
			o := series.OpenRequest{Key: "slow", Node: node, Revision: spec, Spec: spec, Zone: "UTC", Policies: "overlap:skip/misfire:once/deadline:5s/jitter:1h/timeout:2s"}
			a := pl.store.Open(t.Context(), []series.OpenRequest{o})[0]
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if _, err := pl.store.Beat(t.Context(), series.Beat{Node: node, TTL: 10 * time.Hour}); err != nil {
				t.Fatal(err)
			}
			return a.Mark
		}
		mark := open("web-1", "0 */2 * * *")
		wantsParts("slow", "<dd>every 2 h, UTC <code>0 */2 * * *</code> UTC</dd>", "<dt>Deadline</dt><dd>5.0 s</dd>", "<dt>Jitter</dt><dd>1 h 0 min</dd>", "<dt>Timeout</dt><dd>2.0 s</dd>", "never ran</span>")

		tick := (mark/7_200_000 + 1) * 7_200_000
		due := recorded.Record{Jitter: time.Hour}.DueAt("slow", tick, tick+7_200_000)
		time.Sleep(time.Until(time.UnixMilli(tick + 1)))
		wantsParts("slow", "waiting: jitter, until "+time.UnixMilli(due).UTC().Format(time.TimeOnly), "never ran</span>")
		if strings.Contains(body("slow"), "overdue</span>") {
			t.Error("a tick that waits for its jitter is overdue")
		}

		time.Sleep(time.Until(time.UnixMilli(due + 1500)))
		c := series.Claim{Key: "slow", Owner: "web-1/x", Number: tick, After: mark, TTL: 10 * time.Second, Deadline: 2 * time.Hour, Attempts: 1, Latest: due + 60_000, Revision: "0 */2 * * *"}
		a := pl.store.Claim(t.Context(), []series.Claim{c})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("%v %v", a.Kind, a.Err)
		}
		e := series.EndRequest{RunRef: series.RunRef{Key: "slow", Number: tick, Owner: c.Owner, Fence: a.Fence}, Outcome: series.OutcomeOK}
		pl.store.ReleaseRuns(t.Context(), []series.EndRequest{e})
		wantsParts("slow", `<td class="number" data-label="Late">1.5 s <span class="soft">after `+ops.Short(time.Duration(due-tick)*time.Millisecond)+" of jitter</span></td>")
		if strings.Contains(body("slow"), "never ran") {
			t.Error("a job that ran is said to have never run")
		}

		open("web-1", "0 */2 * * *")
		open("web-2", "0 */3 * * *")
		time.Sleep(6 * time.Minute) // journals are read again after five
		wantsParts("slow", "in force on web-2</dt><dd>every 3 h, UTC", "in force on web-1</dt><dd>every 2 h, UTC", "Nodes disagree on the spec")

		time.Sleep(9 * time.Hour)
		body("slow")
		time.Sleep(ops.SecondProbe)
		wantsParts("slow", `href="#m-overdue"/></svg>overdue</span></td>`)
		pause := series.Control{Key: "slow", Action: series.ActionPause, Op: "an-operation", Who: "op-2", Reason: "db migration", Until: time.Now().Add(time.Hour).UnixMilli(), Seen: series.AnySeen}
		if a := pl.store.Control(t.Context(), pause); !a.Made {
			t.Fatalf("%+v", a)
		}
		wantsParts("slow", "<strong>Paused</strong> by op-2 since ", ", until "+ops.Clock(time.UnixMilli(pause.Until), time.Now()), ": db migration</p>")
	})
}
