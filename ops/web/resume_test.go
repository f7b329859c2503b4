package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// A resume of a job that no live node has says so, on the page that answers the form of a job and on the one for several jobs.
func TestResumeWithoutANode(t *testing.T) {
	const none = "no live node has report: its ticks are overdue until one opens it"
	for target, form := range map[string]url.Values{
		"/jobs/report/resume": {"op": {"o"}, "seen": {"1"}},
		"/changes":            {"op": {"o"}, "seen": {"1"}, "job": {"report"}, "action": {"resume"}},
	} {
		pl := newPlane(t, "")
		if err := pl.store.Leave(t.Context(), "web-1"); err != nil {
			t.Fatal(err)
		}
		if a := pl.store.Control(t.Context(), series.Control{Key: "report", Action: series.ActionPause, Op: "p", Who: "ann", Reason: "by hand", Seen: series.AnySeen}); !a.Made {
			t.Fatalf("%+v", a)
		}
		w := pl.post(target, form)
		if wants(t, w, 200, none, "esumed"); strings.Contains(w.Body.String(), `role="alert"`) || pl.changes(t, "report") != 2 {
			t.Errorf("%s: %d changes: %s", target, pl.changes(t, "report"), w.Body)
		}
	}
}
