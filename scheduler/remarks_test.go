package scheduler_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A node remarks on jobs whose lease is longer than their interval.
func TestRemarksOnLongLeases(t *testing.T) {
	t.Parallel()
	n, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{
		{Name: "long", Spec: "@every 5s", Lease: 30 * time.Second, Func: nothing}, {Name: "equal", Spec: "@every 5s", Lease: 5 * time.Second, Func: nothing},
		{Name: "default", Spec: "@every 1s", Func: nothing},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 job has a lease that is longer than the interval, so that ticks are missed for so long when a node dies: long (30s, every 5s)"}
	if got := n.Remarks(); !slices.Equal(got, want) {
		t.Errorf("remarks %q, want %q", got, want)
	}
}

// A job whose deadline is the longest duration runs, also with a jitter, a long wait between
// tries, and a long window.
func TestLongestDurations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const longest = math.MaxInt64
		jobs := []scheduler.Job{
			{Name: "deadline", Spec: "@every 1m", Deadline: longest, Jitter: 5 * time.Second, Func: nothing},
			{Name: "window", Spec: "@every 1m", Deadline: longest, Window: longest, Timeout: longest, Takeover: scheduler.TakeoverRerun, Func: nothing},
			{Name: "all", Spec: "@every 1m", Deadline: longest, Misfire: scheduler.MisfireAll, Jitter: time.Second, Func: nothing},
			{Name: "retry", Spec: "@every 1m", Retry: scheduler.Retry{Tries: 3, Wait: longest - 1, Max: longest}, Func: nothing},
		}
		c := cluster(t, 2, jobs...)
		c.pass(10*time.Minute + 6*time.Second)
		for _, j := range jobs {
			if ran := len(c.ran(j.Name)); ran != 10 {
				t.Errorf("%s ran %d times in 10 minutes", j.Name, ran)
			}
		}
		for _, n := range c.nodes {
			if err := n.Ready(); err != nil {
				t.Error(err)
			}
		}
		c.wantLogged(0, "tick missed")
	})
}
