package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// H in a spec is a value of the job's own. Each job runs once an hour, on one of the nodes, at its
// own minute, and the store has the value, so that the proof needs no name.
func TestHashedSpec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "report", Spec: "H * * * *", Func: nothing}, {Name: "cleanup", Spec: "H * * * *", Func: nothing}}
		c := cluster(t, 2, jobs...)
		c.pass(3*time.Hour + time.Second)
		for i, want := range []struct {
			minute int
			spec   string
		}{{53, "53 * * * *"}, {2, "2 * * * *"}} {
			name := jobs[i].Name
			c.wantTally(name, "ran ok 3")
			for _, r := range c.ran(name) {
				if r.Tick.Minute() != want.minute {
					t.Errorf("%s ran at %v", name, r.Tick)
				}
			}
			j, err := c.store.Journal(t.Context(), name, 0)
			if err != nil || j.Revisions[0].Spec != want.spec {
				t.Errorf("%s is recorded with %q, %v", name, j.Revisions[0].Spec, err)
			}
		}
	})
}

// A fault of H is a fault of the spec.
func TestHashedSpecFaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"H(9-70) * * * *", "0 9 * H *", "@daily H"} {
		_, err := scheduler.New(scheduler.Config{Name: "n", Store: new(memlock.Store), Jobs: []scheduler.Job{{Name: "a", Spec: text, Func: nothing}}})
		if err == nil || !strings.Contains(err.Error(), "jobs[0].spec: spec ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
