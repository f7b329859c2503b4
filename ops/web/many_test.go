package web

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// No node lives, and ten thousand jobs are overdue: each page stays small, and the first one has one line
// for their cause.
func TestPagesOfManyJobs(t *testing.T) {
	const jobs, most = 10_000, 200_000
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		open := make([]series.OpenRequest, jobs)
		for i := range open {
			open[i] = series.OpenRequest{Key: fmt.Sprintf("job-%05d", i), Node: "web-1", Revision: "r", Spec: "@every 5m", Zone: "UTC"}
		}
		pl.store.Open(t.Context(), open)
		time.Sleep(time.Hour)
		h, err := New(Options{Projection: ops.New(ops.Options{Store: pl.store, Namespace: "shop"}), Store: pl.store, Gate: pl.gate})
		if err != nil {
			t.Fatal(err)
		}
		pl.Handler = h
		h.o.Projection.Refresh(t.Context())
		for _, target := range []string{"/", "/jobs", "/jobs?state=overdue", "/runs", "/nodes", "/jobs/job-00001"} {
			w := pl.do("GET", target, pl.tokens[access.Operator])
			if w.Code != 200 || w.Body.Len() > most {
				t.Errorf("%s: %d, %d bytes", target, w.Code, w.Body.Len())
			}
			if target == "/" {
				wants(t, w, 200, "10,001 jobs</a>", "10001 jobs, such as job-00000, job-00001 and job-00002. The first: ")
				if n := strings.Count(w.Body.String(), `<li data-row class="need`); n != 2 {
					t.Errorf("the first page has %d lines about problems", n)
				}
			}
		}
	})
}
