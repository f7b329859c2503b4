package zklock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// BenchmarkAcquireRelease acquires and releases one key again and again, without competition.
func BenchmarkAcquireRelease(b *testing.B) {
	d := newDriver(b, zkserver.Start(b).Addr(), zklock.Options{})
	for n := 0; b.Loop(); n++ {
		a := driver.Acquisition{Key: "k", Owner: fmt.Sprint("a/", n), TTL: time.Minute}
		g, err := d.Acquire(b.Context(), a)
		must(b, err)
		must(b, d.Release(b.Context(), holding(a, g)))
	}
}

// BenchmarkClaims claims two hundred series in one batch, and ends their runs in another.
func BenchmarkClaims(b *testing.B) {
	d := newDriver(b, zkserver.Start(b).Addr(), zklock.Options{})
	os, cs, es := make([]series.OpenRequest, 200), make([]series.Claim, 200), make([]series.EndRequest, 200)
	for i := range os {
		os[i] = series.OpenRequest{Key: fmt.Sprint("job-", i), Node: "n"}
	}
	now := d.Open(b.Context(), os)[0].Mark - 1_000_000_000
	d.ClockFrom(func() int64 { return now })
	for i := range os {
		os[i].Key = fmt.Sprint("bench-", i)
	}
	d.Open(b.Context(), os)
	for n := 0; b.Loop(); n++ {
		now += 1000
		for i := range cs {
			cs[i] = claimOf(os[i].Key, fmt.Sprint("a/", n), now)
			cs[i].After = now - 1000
		}
		for i, a := range d.Claim(b.Context(), cs) {
			if a.Kind != series.KindGranted {
				b.Fatalf("%+v", a)
			}
			es[i] = series.EndRequest{RunRef: series.RunRef{Key: cs[i].Key, Number: a.Number, Owner: cs[i].Owner, Fence: a.Fence}, Outcome: "ok", OK: true}
		}
		for _, e := range d.ReleaseRuns(b.Context(), es) {
			must(b, e.Err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/200, "µs/run")
}
