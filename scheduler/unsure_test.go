package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// While the store is away, each job has at most four open claims that may have been granted, for
// however long that lasts and for any lease, besides the claims that were on their way at the
// beginning. Newer ticks wait unsent. When the store is back the latest tick is decided as if it
// had been claimed all the time: it runs in time, and the earlier ones are missed.
func TestUnsureAsksAreBounded(t *testing.T) {
	for _, reset := range []bool{true, false} {
		for _, misfire := range []scheduler.Misfire{scheduler.MisfireOnce, scheduler.MisfireSkip, scheduler.MisfireAll} {
			for _, away := range []time.Duration{2300 * time.Millisecond, 7 * time.Second, 3 * time.Minute, 12 * time.Minute} {
				t.Run(fmt.Sprint(reset, misfire, away), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						c := plan(t)
						for i := range 3 {
							c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("j", i), Spec: "@every 1s", Misfire: misfire, Lease: 10 * time.Minute, Func: nothing})
						}
						n := c.start()
						c.pass(10*time.Second + 500*time.Millisecond)
						gone := time.Now()
						n.wire.spoil(func(string) fault { return fault{lost: lostRequest, reset: reset} })
						most := 0
						sent := c.counted(func() {
							for range int(away / (100 * time.Millisecond)) {
								c.pass(100 * time.Millisecond)
								most = max(most, n.Pending())
							}
						})
						n.wire.spoil(nil)
						back := time.Now()
						c.pass(20 * time.Second)
						bound := 4 + 1 // and one that waits
						if !reset {
							bound += 2 // on their way when the first was given up
						}
						if most > bound*len(c.jobs) {
							t.Errorf("%d asks of %d jobs are open, want %d of each", most, len(c.jobs), bound)
						}
						if seconds := int(away/time.Second) + 6; sent.claims > 7*len(c.jobs)*seconds {
							t.Errorf("%d claims of %d jobs in %v", sent.claims, len(c.jobs), away)
						}
						for _, j := range c.jobs {
							rs := c.ran(j.Name)
							rs = rs[slices.IndexFunc(rs, func(r *run) bool { return r.began.After(gone) }):]
							if first := rs[0]; first.began.Sub(back) > 2*time.Second || misfire != scheduler.MisfireAll && first.began.Sub(first.Tick) > time.Second+50*time.Millisecond {
								t.Errorf("%s: the first run came %v after the store, %v after its tick", j.Name, first.began.Sub(back), first.began.Sub(first.Tick))
							}
							for i, r := range rs[1:] {
								if want := rs[i].Tick.Add(time.Second); !r.Tick.Equal(want) {
									t.Errorf("%s: after %v ran %v", j.Name, want.Add(-time.Second), r.Tick)
								}
							}
						}
						c.wantLogged(0, "tick missed", "reason", "lost")
						if left := n.Pending(); left > len(c.jobs) { // looks at runs that were open when another request saw them
							t.Errorf("%d asks are left", left)
						}
					})
				})
			}
		}
	}
}
