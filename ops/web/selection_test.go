package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// The selected jobs, or all jobs of a filter, are listed and then changed with one form. Each job has
// its own result, and a repetition changes nothing more.
func TestSelection(t *testing.T) {
	pl := newPlane(t, "")
	for _, job := range []string{"a", "b&c"} {
		if o := pl.store.Open(t.Context(), []series.OpenRequest{{Key: job, Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC"}})[0]; o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	pl.p = ops.New(ops.Options{Store: pl.store, Namespace: "shop"})
	pl.p.Refresh(t.Context())
	store := &lossy{Store: pl.store}
	var err error
	if pl.Handler, err = New(Options{Projection: pl.p, Store: store, Gate: pl.gate}); err != nil {
		t.Fatal(err)
	}
	operator, viewer := pl.tokens[access.Operator], pl.tokens[access.Viewer]
	wants(t, pl.do("GET", "/jobs", operator), 200, `name="job" value="b&amp;c"`, `href="/changes?action=pause&amp;all=1"`)
	if strings.Contains(pl.do("GET", "/jobs", viewer).Body.String(), "checkbox") {
		t.Error("a viewer can select jobs")
	}
	wants(t, pl.do("GET", "/changes?action=retire&job=a", operator), 400, "action must be")
	plan := pl.do("GET", "/changes?action=pause&job=a&job=b%26c&job=none", operator)
	wants(t, plan, 200, "Pause 2 jobs", "There is no job none on record.")
	form := fields(t, plan.Body.String(), "/changes")
	if len(form["job"]) != 2 || len(form["seen"]) != 2 || pl.changes(t, "a") != 0 {
		t.Fatalf("%v", form)
	}
	c := series.Control{Key: "a", Action: series.ActionPause, Op: "x", Who: "bob", Reason: "gateway is moved", Seen: 0}
	if a := pl.store.Control(t.Context(), c); !a.Made {
		t.Fatalf("%+v", a)
	}
	form.Set("reason", "for the night")
	form.Set("until", "+8h")
	store.lose.Store(6) // all replies
	w := pl.post("/changes", form)
	again := fields(t, w.Body.String(), "/changes")
	wants(t, w, http.StatusServiceUnavailable, "0 jobs paused", "of b&amp;c was done is not known")
	store.lose.Store(0)
	for range 2 {
		w = pl.post("/changes", again)
		wants(t, w, 200, "1 job paused", "another change came first, pause by bob")
	}
	if pl.changes(t, "a") != 1 || pl.changes(t, "b&c") != 1 {
		t.Errorf("%d and %d changes", pl.changes(t, "a"), pl.changes(t, "b&c"))
	}
	wants(t, pl.do("GET", "/changes?action=pause&all=1", operator), 200, "Pause 1 job<", "Of the selected jobs, 2 are paused already.")
	wants(t, pl.do("GET", "/changes?action=resume&all=1&q=b*", operator), 200, "Resume 1 job<", "b&amp;c")
	many := url.Values{"action": {"pause"}, "op": {"y"}, "reason": {"for the night"}}
	none := pl.post("/changes", many)
	wants(t, none, 400, "no job is selected")
	if strings.Contains(none.Body.String(), `action="/changes"`) {
		t.Errorf("a form without a job can be sent again: %s", none.Body)
	}
	for i := range mostSelected + 1 {
		many.Add("job", fmt.Sprint(i))
		many.Add("seen", "0")
	}
	wants(t, pl.post("/changes", many), 400, "1,001 jobs are selected")
	many.Del("seen")
	many["job"] = many["job"][:2]
	wants(t, pl.post("/changes", many), 400, "each job must have its seen")
}

// The bound of a selection counts the jobs that the change affects, not those that are in the requested state.
func TestSelectionBound(t *testing.T) {
	for name, c := range map[string]struct {
		running, paused int
		fault           string
	}{
		"as many as are allowed": {mostSelected, 1, ""},
		"one more":               {mostSelected + 1, 0, "1,001 jobs are selected, and at most 1,000 are changed at once: narrow the filter"},
	} {
		s := &ops.Snapshot{}
		for i := range c.running + c.paused {
			s.Jobs = append(s.Jobs, &ops.Job{Name: fmt.Sprintf("job-%04d", i), Series: series.Series{Paused: i >= c.running}})
		}
		b := selectionBody{Action: series.ActionPause}
		if got := b.list(httptest.NewRequest("GET", "/changes?all=1", nil), s); got != c.fault || len(b.Jobs) != c.running || b.Already != c.paused {
			t.Errorf("%s: %q, %d jobs, %d already", name, got, len(b.Jobs), b.Already)
		}
	}
}

// A deadlined response records until when it may be written.
type deadlined struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadlined) SetWriteDeadline(at time.Time) error {
	d.at = at
	return nil
}

// The answer for several jobs may be written after the last of them was changed: a server's own deadline is that of a page.
func TestSelectionTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		form := url.Values{"action": {"pause"}, "op": {"one"}, "reason": {"for the night"}, "job": {"report"}, "seen": {"0"}}
		r := httptest.NewRequest("POST", "/changes", strings.NewReader(form.Encode()))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+pl.tokens[access.Operator])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		pl.ServeHTTP(w, r)
		if wants(t, w.ResponseRecorder, 200, "1 job paused"); time.Until(w.at) < selectionTimeout+ChangeTimeout {
			t.Errorf("the answer must be written within %v", time.Until(w.at))
		}
	})
}
