package sqllock_test

import (
	"fmt"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

func eachBench(b *testing.B, f func(b *testing.B, d *sqllock.Driver)) {
	for _, on := range []struct {
		name string
		open func(testing.TB) database
	}{{"PostgreSQL", postgres}, {"MariaDB", mariadb}, {"SQLite", sqlite}} {
		b.Run(on.name, func(b *testing.B) {
			d := on.open(b)
			f(b, newDriver(b, d.connect(b), d.dialect, sqllock.Options{}))
		})
	}
}

// BenchmarkAcquireRelease measures a lease of a key that no other owner wants, from its grant to
// its release.
func BenchmarkAcquireRelease(b *testing.B) {
	eachBench(b, func(b *testing.B, d *sqllock.Driver) {
		for i := 0; b.Loop(); i++ {
			a := driver.Acquisition{Key: "key", Owner: fmt.Sprint("n/", i), TTL: minute}
			g, err := d.Acquire(b.Context(), a)
			must(b, err)
			must(b, d.Release(b.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}))
		}
	})
}

// BenchmarkClaimsAndEndings measures 200 claims that are granted, and their endings.
func BenchmarkClaimsAndEndings(b *testing.B) {
	eachBench(b, func(b *testing.B, d *sqllock.Driver) {
		os, cs, es := make([]series.OpenRequest, 200), make([]series.Claim, 200), make([]series.EndRequest, 200)
		for i := range os {
			os[i] = series.OpenRequest{Key: fmt.Sprint("job-", i), Node: "n"}
		}
		all := d.Open(b.Context(), os)
		for i := range cs {
			cs[i] = series.Claim{Key: os[i].Key, Attempts: 1, TTL: minute, Deadline: 1e6 * minute, Latest: driver.MaxNumber}
			must(b, all[i].Err)
		}
		for n := int64(1); b.Loop(); n++ {
			b.StopTimer()
			for i := range cs { // each mark is the number that was claimed last
				cs[i].After = all[i].Mark + n - 1
				cs[i].Number, cs[i].Owner = all[i].Mark+n, fmt.Sprint("n/", n)
			}
			waitFor(b, d, cs[0].Number)
			b.StartTimer()
			for i, a := range d.Claim(b.Context(), cs) {
				if a.Kind != series.KindGranted {
					b.Fatalf("%+v", a)
				}
				es[i] = series.EndRequest{RunRef: series.RunRef{Key: cs[i].Key, Number: a.Number, Owner: cs[i].Owner, Fence: a.Fence}, Outcome: series.OutcomeOK, OK: true}
			}
			for _, e := range d.ReleaseRuns(b.Context(), es) {
				must(b, e.Err)
			}
		}
	})
}

// waitFor waits until a number is due.
func waitFor(b *testing.B, d *sqllock.Driver, number int64) {
	for {
		rs, err := d.Now(b.Context())
		must(b, err)
		if rs[0].Time.UnixMilli() >= number {
			return
		}
	}
}
