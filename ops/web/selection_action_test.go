package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A form for several jobs pauses or resumes them. One that names another action, as no page does, is refused and changes no job: the page
// of its results has no words for it, and would call a job resumed that was retired.
func TestSelectionOfAnotherAction(t *testing.T) {
	pl := newPlane(t, "")
	for _, action := range []string{"retire", "run", "skip", "cancel", "backfill", ""} {
		form := url.Values{"action": {action}, "op": {"op-" + action}, "reason": {"for the night"}, "job": {"report"}, "seen": {"0"}}
		if action == "backfill" {
			form["from"], form["to"], form["digest"] = []string{"2026-01-31 02:00"}, []string{"2026-01-31 03:00"}, []string{"0123456789abcdef"}
		}
		w := pl.post("/changes", form)
		wants(t, w, http.StatusBadRequest, "action must be pause or resume", "Not done")
		if strings.Contains(w.Body.String(), `action="/changes"`) {
			t.Errorf("the form of %q can be sent again", action)
		}
	}
	audit, err := pl.store.Audit(t.Context(), "report", 0)
	if err != nil || len(audit) != 0 {
		t.Errorf("%v: the jobs were changed: %v", err, audit)
	}
}
