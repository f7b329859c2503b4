package memlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A hundred thousand series are due at once, again and again. It measures a claim and its end,
// journal included.
func BenchmarkDueAtOnce(b *testing.B) {
	const n = 100_000
	now := time.Unix(1_700_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }, JournalLines: 10})
	cs, es := make([]series.Claim, n), make([]series.EndRequest, n)
	os := make([]series.OpenRequest, n)
	for i := range os {
		key, owner := fmt.Sprint("job-", i), fmt.Sprint("node/", i)
		os[i] = series.OpenRequest{Key: key, Node: "node"}
		cs[i] = series.Claim{Key: key, Owner: owner, TTL: time.Minute, Deadline: time.Minute, Attempts: 1, Latest: driver.MaxNumber}
		es[i].RunRef = series.RunRef{Key: key, Owner: owner}
	}
	mark := s.Open(b.Context(), os)[0].Mark
	var claiming, ending time.Duration
	for b.Loop() {
		now = now.Add(time.Second)
		for i := range cs {
			cs[i].Number, cs[i].After = mark+1000, mark
		}
		mark += 1000
		start := time.Now()
		for i, a := range s.Claim(b.Context(), cs) {
			if a.Kind != series.KindGranted {
				b.Fatalf("claim %d: %+v", i, a)
			}
			es[i].Number, es[i].Fence = a.Number, a.Fence
		}
		claiming += time.Since(start)
		start = time.Now()
		s.ReleaseRuns(b.Context(), es)
		ending += time.Since(start)
	}
	b.ReportMetric(float64(claiming.Nanoseconds())/float64(b.N*n), "ns/claim")
	b.ReportMetric(float64(ending.Nanoseconds())/float64(b.N*n), "ns/ending")
}
