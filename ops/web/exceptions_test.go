package web

import (
	"html"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// A past is a store of jobs whose runs a test makes, on its own clock.
type past struct {
	*testing.T
	now   time.Time
	store *memlock.Store
	p     *ops.Projection
	h     *Handler
	marks map[string]int64
}

func newPast(t *testing.T, lines int, specs map[string]string) *past {
	p := &past{T: t, now: time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC), marks: map[string]int64{}}
	p.store = memlock.New(memlock.Options{Now: func() time.Time { return p.now }})
	for job, spec := range specs {
		a := p.store.Open(t.Context(), []series.OpenRequest{{Key: job, Node: "web-1", Revision: "r", Spec: spec, Zone: "UTC", Policies: "overlap:skip/misfire:once"}})[0]
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		p.marks[job] = a.Mark
	}
	p.p = ops.New(ops.Options{Store: p.store, Namespace: "shop", Lines: lines})
	var err error
	if p.h, err = New(Options{Projection: p.p, Store: p.store}); err != nil {
		t.Fatal(err)
	}
	return p
}

// runs lets a job run at the next second, with an outcome.
func (p *past) runs(job, outcome string) {
	p.Helper()
	p.now = p.now.Truncate(time.Second).Add(time.Second)
	c := series.Claim{Key: job, Owner: "web-1/x", Number: p.now.UnixMilli(), After: p.marks[job], TTL: 10 * time.Second, Deadline: time.Minute, Attempts: 1, Latest: p.now.UnixMilli() + 60_000, Revision: "r"}
	a := p.store.Claim(p.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		p.Fatalf("%v %v", a.Kind, a.Err)
	}
	p.marks[job] = c.Number
	e := series.EndRequest{RunRef: series.RunRef{Key: job, Number: c.Number, Owner: c.Owner, Fence: a.Fence}, Outcome: outcome, OK: outcome == series.OutcomeOK}
	if end := p.store.ReleaseRuns(p.Context(), []series.EndRequest{e})[0]; end.Err != nil {
		p.Fatal(end.Err)
	}
}

// page reads the store, and returns a page as it is then.
func (p *past) page(target string) string {
	if _, err := p.store.Beat(p.Context(), series.Beat{Node: "web-1", TTL: time.Minute}); err != nil {
		p.Fatal(err)
	}
	p.p.Refresh(p.Context())
	return string(p.h.page(with(httptest.NewRequest("GET", "/events", nil), access.Caller{ID: "a", Role: access.Viewer}), livePage{access.Viewer, target}))
}

// part returns a live part of a page.
func (p *past) part(target, id string) string {
	p.Helper()
	for _, part := range partsOf([]byte(p.page(target))) {
		if part.id == id {
			return part.text
		}
	}
	p.Fatalf("%s has no part %s", target, id)
	return ""
}

// However often a job runs, it has one line among the newest verdicts, with a mark for each of its newest ticks.
func TestNewestVerdictsAreOfSeveralJobs(t *testing.T) {
	p := newPast(t, 0, map[string]string{"busy": "@every 1s", "nightly": "@daily", "report": "@hourly"})
	p.runs("nightly", series.OutcomeOK)
	p.runs("report", series.OutcomeFailed)
	for range 30 {
		p.runs("busy", series.OutcomeOK)
	}
	text := p.part("/", "recent")
	var jobs []string
	for _, name := range regexp.MustCompile(`<td class="name"><a href="[^"]*">([^<]*)<`).FindAllStringSubmatch(text, -1) {
		jobs = append(jobs, name[1])
	}
	if got := strings.Join(jobs, " "); got != "busy report nightly" {
		t.Errorf("the newest verdicts are of %s", got)
	}
	if busy, _, _ := strings.Cut(text, ">report<"); strings.Count(busy, `<use href="#m-ok" class="s-ok"`) != 10 {
		t.Errorf("the marks of the newest ticks of busy: %s", busy)
	}
	if !strings.Contains(text, `aria-label="1 failing "`) {
		t.Errorf("report has no mark of its failure: %s", text)
	}
}

// The first page counts the exceptions of a day by their verdicts, and leads to each of them.
func TestExceptionsOfADay(t *testing.T) {
	p := newPast(t, 0, map[string]string{"report": "@every 1s", "import": "@every 1s"})
	if text := p.part("/", "exceptions"); !strings.Contains(text, ">No exception in 24 hours<") || strings.Contains(text, "<a ") {
		t.Errorf("without exceptions: %s", text)
	}
	p.runs("report", series.OutcomeFailed)
	p.runs("import", series.OutcomeFailed)
	p.runs("import", series.OutcomeTimeout)
	p.runs("import", series.OutcomeOK)
	text := p.part("/", "exceptions")
	links := regexp.MustCompile(`href="([^"]*)">.*?</svg>(.*?)</a>`).FindAllStringSubmatch(text, -1)
	if len(links) != 2 || links[0][2] != "<b>2</b> failed" || links[1][2] != "<b>1</b> timeout" || !strings.Contains(text, ">Exceptions in 24 hours:<") {
		t.Fatalf("the exceptions: %s", text)
	}
	for _, c := range []struct {
		target string
		runs   int
	}{{links[0][1], 2}, {links[1][1], 1}} {
		if got := strings.Count(p.part(html.UnescapeString(c.target), "runs"), "<tr data-row>"); got != c.runs {
			t.Errorf("%s lists %d runs, want %d", c.target, got, c.runs)
		}
	}
	p.now = p.now.Add(24*time.Hour + 2*time.Minute)
	if text := p.part("/", "exceptions"); strings.Contains(text, "failed") {
		t.Errorf("a day later: %s", text)
	}
}

// A store that does not answer is not one without exceptions.
func TestExceptionsOfASilentStore(t *testing.T) {
	p := newPast(t, 0, nil)
	for _, c := range []struct {
		s    ops.Snapshot
		want string
	}{{ops.Snapshot{AsOf: p.now}, "No exception in 24 hours"}, {ops.Snapshot{AsOf: p.now, Down: "away"}, "No exception is known in 24 hours"}, {ops.Snapshot{AsOf: p.now, Faults: []string{"a part is silent"}}, "No exception is known in 24 hours"}} {
		if got := p.h.exceptionsOf(&c.s).Text; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if p.h.exceptionsOf(new(ops.Snapshot)) != nil {
		t.Error("of a store that was never read, exceptions are counted")
	}
}

// The list of the runs of all jobs has an exception that the lines in memory no longer have, and says how far it has searched.
func TestRunsOfAllJobsHaveOlderExceptions(t *testing.T) {
	p := newPast(t, 0, map[string]string{"report": "@every 1s", "import": "@hourly"})
	p.runs("report", series.OutcomeTimeout)
	for range 100 {
		p.runs("report", series.OutcomeOK)
	}
	if text := p.part("/runs?verdict=timeout", "runs"); !strings.Contains(text, "No such run is on record.") || !regexp.MustCompile(`Searched: the verdicts from (\d+:\d+:\d+) on, and the exceptions from \d+:\d+:\d+ on\.`).MatchString(text) {
		t.Errorf("at first: %s", text)
	}
	if text := p.part("/", "exceptions"); !regexp.MustCompile(`>No exception from \d+:\d+:\d+ on<`).MatchString(text) {
		t.Errorf("the first page at first: %s", text)
	}
	p.runs("report", series.OutcomeOK)
	if text := p.part("/runs?verdict=timeout", "runs"); strings.Count(text, "<tr data-row>") != 1 || !strings.Contains(text, " on, and all exceptions that were ever recorded.") {
		t.Errorf("then: %s", text)
	}
	if text := p.part("/", "exceptions"); !strings.Contains(text, "<b>1</b> timeout") || !strings.Contains(text, "Exceptions in 24 hours") {
		t.Errorf("the first page: %s", text)
	}
	w := httptest.NewRecorder()
	p.h.apiRuns(w, httptest.NewRequest("GET", "/api/v1/runs?verdict=timeout", nil))
	if text := w.Body.String(); !strings.Contains(text, `"outcome":"timeout"`) || !strings.Contains(text, `"searched_from":"2026-11-26T08:00:4`) || strings.Contains(text, "exceptions_from") {
		t.Errorf("the API: %s", text)
	}
}

// The ticks that share a line are named after the verdict of the last, if it has one that its state does not say.
func TestTicksThatShareALine(t *testing.T) {
	p := newPast(t, 0, nil)
	from := ops.InstantOf(p.now)
	for want, r := range map[string]ops.Run{
		"ticks after 08:00:00: missed":                    {State: ops.OK, Verdict: "ran", Outcome: "ok", Between: "missed", From: from},
		"error; ticks after 08:00:00: missed":             {State: ops.Failing, Verdict: "ran", Outcome: "error", Between: "missed", From: from},
		"attempt 2; ticks after 08:00:00: missed":         {State: ops.OK, Verdict: "ran", Outcome: "ok", Attempt: 2, Between: "missed", From: from},
		"with all ticks after 08:00:00":                   {State: ops.Missed, Verdict: "missed", Between: "missed", From: from},
		"skipped: overlap; with all ticks after 08:00:00": {State: ops.Skipped, Verdict: "skipped", Reason: "overlap", Between: "skipped", From: from},
	} {
		var text strings.Builder
		if err := p.h.pages.templates.ExecuteTemplate(&text, "runcells", map[string]any{"Run": r, "Now": p.now, "Named": false}); err != nil {
			t.Fatal(err)
		}
		_, cell, _ := strings.Cut(text.String(), `data-label="Verdict">`)
		cell, _, _ = strings.Cut(cell, "</td>")
		if got := strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cell, "")); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
