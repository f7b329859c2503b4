package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// Three nodes run the ticks that the limits of a spec leave, once each, and no other tick is
// missed, overdue or lost. The node that joins in the middle and the proof count from the same
// instant.
func TestLimitedJobs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) // a Saturday
		c := cluster(t, 2,
			scheduler.Job{Name: "fifth", Spec: "0 * * * *", NotBefore: begin.Add(-time.Hour), Every: 5, Func: nothing},
			scheduler.Job{Name: "days", Spec: "0 */6 * * *", Exclude: []string{"SUN", "2000-01-04"}, Func: nothing},
			scheduler.Job{Name: "part", Spec: "0 * * * *", NotBefore: begin.Add(12 * time.Hour), Until: begin.Add(15 * time.Hour), Func: nothing},
			scheduler.Job{Name: "once", At: begin.Add(30 * time.Hour), Func: nothing})
		c.pass(40 * time.Hour)
		c.start()
		c.pass(80*time.Hour + time.Minute)
		c.wantTally("fifth", "ran ok 24") // 4h, 9h, …, 119h
		c.wantTally("days", "ran ok 12")  // 3 of Saturday, 4 each of Monday and Wednesday, and 0h of Thursday
		c.wantTally("part", "ran ok 3")
		c.wantTally("once", "ran ok 1")
		c.wantLogged(0, "tick missed")
		for _, j := range c.nodes[0].Jobs() {
			if finished := j.Name == "part" || j.Name == "once"; finished != j.Next.IsZero() {
				t.Errorf("%s is due next at %v", j.Name, j.Next)
			}
		}
	})
}

// A job with one tick that is new to the store still runs if the tick is inside its deadline, once
// on all nodes and never again. An older tick has no verdict, and neither has an earlier tick of
// any other spec.
func TestAtInThePast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
		c := plan(t,
			scheduler.Job{Name: "recent", At: begin.Add(-20 * time.Minute), Func: nothing},
			scheduler.Job{Name: "jittered", At: begin.Add(-20 * time.Minute), Jitter: time.Minute, Func: nothing},
			scheduler.Job{Name: "shorter", At: begin.Add(-20 * time.Minute), Deadline: 10 * time.Minute, Func: nothing},
			scheduler.Job{Name: "older", At: begin.Add(-2 * time.Hour), Func: nothing},
			scheduler.Job{Name: "other", Spec: "0 * * * *", Func: nothing})
		for range 3 {
			c.start()
		}
		c.pass(5 * time.Minute)
		c.start()
		c.pass(5 * time.Minute)
		c.wantTally("recent", "ran ok 1")
		c.wantTally("jittered", "ran ok 1")
		for _, name := range []string{"shorter", "older", "other"} {
			c.wantTally(name, "")
		}
	})
}

// The path of a fault in a limit ends with its field. An instant in the past is no fault: a node
// can restart with it.
func TestFaultsOfLimits(t *testing.T) {
	t.Parallel()
	day := time.Date(2027, time.March, 28, 0, 0, 0, 0, time.UTC)
	for want, j := range map[string]scheduler.Job{
		`jobs[0].spec: spec "": empty`:                             {},
		`jobs[0].every: spec "@daily every=2": every "2": needs`:   {Spec: "@daily", Every: 2},
		`every "-1": must be 2 to 1000`:                            {Spec: "@daily", NotBefore: day, Every: -1},
		`jobs[0].at: spec "@daily": at "2027-03-28T00:00:00Z": is`: {Spec: "@daily", At: day},
		`at "2027-03-28T00:00:00.001Z": must be`:                   {At: day.Add(time.Millisecond)},
		`jobs[0].at: spec "@at 2027-03-28T00:00:00Z until=`:        {At: day, Until: day},
		`jobs[0].until: `:                                           {Spec: "@daily", NotBefore: day, Until: day},
		`exclude "yesterday": must be a date`:                       {Spec: "@daily", Exclude: []string{"yesterday"}},
		`jobs[0].exclude: spec "@weekly exclude=SUN": exclude "SUN`: {Spec: "@weekly", Exclude: []string{"SUN"}},
	} {
		j.Name, j.Func = "a", nothing
		if _, err := scheduler.New(scheduler.Config{Store: new(memlock.Store), Jobs: []scheduler.Job{j}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	over := scheduler.Job{Name: "a", At: day.AddDate(-30, 0, 0), Func: nothing}
	if _, err := scheduler.New(scheduler.Config{Store: new(memlock.Store), Jobs: []scheduler.Job{over}}); err != nil {
		t.Error(err)
	}
}
