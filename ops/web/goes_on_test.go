package web

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/ops/access"
)

// A person or a program that goes on behind a run of a job gets the older runs, and not that run again. A bound at the tick of a run
// includes that run.
func TestRunsOfAJobGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "the older failure")
		older := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark
		fail(t, pl.store, older, "the newer failure")
		newer := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark
		pl.p.Refresh(t.Context())
		of := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
		for query, want := range map[string][2]bool{
			"":                       {true, true},
			"?after=" + of(newer):    {true, false},
			"?after=" + of(older):    {false, false},
			"?from=" + of(newer):     {false, true},
			"?to=" + of(older):       {true, false},
			"?from=" + of(newer+1e3): {false, false},
		} {
			for _, base := range []string{"/jobs/report/runs", "/api/v1/jobs/report/runs"} {
				body := pl.do("GET", base+query, pl.tokens[access.Viewer]).Body.String()
				if got := [2]bool{strings.Contains(body, "the older failure"), strings.Contains(body, "the newer failure")}; got != want {
					t.Errorf("%s%s has the older and the newer run: %v, want %v", base, query, got, want)
				}
			}
		}
	})
}
