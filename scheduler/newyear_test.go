package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// All nodes are down while the year changes, after which a spec in a zone with daylight saving has
// another revision. It is the same spec, and its first sighting is last year's. So the ticks of the
// outage are decided, and one that is inside its deadline runs. A zone without such a change is the
// control.
func TestStopOverNewYear(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var jobs []scheduler.Job
		for name, zone := range map[string]string{"london": "Europe/London", "utc": "UTC"} {
			jobs = append(jobs,
				scheduler.Job{Name: name, Spec: "CRON_TZ=" + zone + " */5 * * * *", Deadline: time.Hour, Func: nothing},
				scheduler.Job{Name: name + "-all", Spec: "CRON_TZ=" + zone + " */5 * * * *", Misfire: scheduler.MisfireAll, Func: nothing})
		}
		c := plan(t, jobs...)
		year := time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)
		c.pass(time.Until(year.Add(-12 * time.Minute)))
		old := c.start()
		c.pass(time.Until(year.Add(-6 * time.Minute)))
		if err := old.drain(); err != nil {
			t.Error(err)
		}
		c.pass(time.Until(year.Add(time.Minute)))
		c.start()
		c.pass(5 * time.Minute)
		for _, name := range []string{"london", "utc"} {
			c.wantTally(name, "missed misfire 1, ran ok 3") // at -10, -5, 0, 5
			c.wantTally(name+"-all", "ran ok 4")
			c.wantLogged(0, "specs differ", "job", name)
		}
	})
}

// Nodes that run while the year changes do not report each other's new revision as another spec.
func TestRunningOverNewYear(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "CRON_TZ=Europe/London */5 * * * *", Func: nothing})
		c.pass(time.Until(time.Date(2000, time.December, 31, 23, 41, 0, 0, time.UTC)))
		for range 3 {
			c.start()
		}
		c.pass(40 * time.Minute)
		c.wantTally("a", "ran ok 8")
		c.wantLogged(0, "specs differ")
	})
}

// Nodes with different time zone databases have one spec with two meanings: the warning reports
// this.
func TestZoneDatabasesDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "CRON_TZ=Europe/London 0 0 * * *", Func: nothing})
		c.store.Open(t.Context(), []series.OpenRequest{{Key: "a", Node: "other", Revision: "of another database", Spec: "CRON_TZ=Europe/London 0 0 * * *", Zone: "Europe/London"}})
		c.pass(time.Minute)
		own := c.nodes[0].logged("specs differ")
		if len(own) != 1 || own[0].keys["other"] != own[0].keys["spec"].(string)+", by another time zone database" {
			t.Errorf("the warning is %v", own)
		}
	})
}
