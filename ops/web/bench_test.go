package web

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// BenchmarkPages reads each page of 10,000 jobs, each of which has run 100 times: a million runs. The
// 99th percentile stands beside the mean.
func BenchmarkPages(b *testing.B) {
	const jobs, runs = 10_000, 100
	now := time.Unix(1_700_000_040, 0) // the beginning of a minute
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }, JournalTotal: 2 * jobs * runs})
	opens := make([]series.OpenRequest, jobs)
	for i := range opens {
		opens[i] = series.OpenRequest{Key: fmt.Sprintf("job-%05d", i), Node: "web-1", Revision: "r", Spec: "0 * * * * *", Zone: "UTC"}
	}
	s.Open(b.Context(), opens)
	mark := now.UnixMilli()
	claims, ends := make([]series.Claim, jobs), make([]series.EndRequest, jobs)
	for range runs {
		now = now.Add(time.Minute)
		tick := now.UnixMilli()
		for i := range claims {
			claims[i] = series.Claim{Key: opens[i].Key, Owner: "web-1/x", Number: tick, After: mark, TTL: 10 * time.Second,
				Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r"}
		}
		for i, a := range s.Claim(b.Context(), claims) {
			if a.Kind != series.KindGranted {
				b.Fatal(a.Kind, a.Err)
			}
			ends[i] = series.EndRequest{RunRef: series.RunRef{Key: opens[i].Key, Number: tick, Owner: "web-1/x", Fence: a.Fence}}
		}
		s.ReleaseRuns(b.Context(), ends)
		mark = tick
	}
	tokens, texts := make([]access.Token, 1000), make([]string, 1000) // so many that none asks too often
	for i := range tokens {
		var err error
		if tokens[i], texts[i], err = access.NewToken(fmt.Sprint("viewer-", i), access.Viewer); err != nil {
			b.Fatal(err)
		}
	}
	gate := access.NewGate(access.Options{Tokens: func() []access.Token { return tokens }, Cookie: "cronce-shop"})
	p := ops.New(ops.Options{Store: s, Namespace: "shop"})
	p.Refresh(b.Context())
	h, err := New(Options{Projection: p, Store: s, Gate: gate})
	if err != nil {
		b.Fatal(err)
	}
	pl := &plane{Handler: h}
	for _, target := range []string{"/", "/jobs", "/jobs?q=job-0999", "/jobs?state=failing", "/runs", "/jobs/job-00001", "/nodes", "/api/v1/jobs?q=0999"} {
		b.Run(target[1:], func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				w := pl.do("GET", target, texts[len(took)%len(texts)])
				took = append(took, time.Since(begin))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
				b.ReportMetric(float64(w.Body.Len()), "page-B")
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
