package schedulertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Ticks that no node decides are overdue until a node is alive again.
func TestOverdue(t *testing.T) {
	job := scheduler.Job{Name: "report", Spec: "5 * * * *", Func: func(context.Context, *scheduler.Run) error { return nil }}
	Run(t, time.Time{}, func(c *Cluster) {
		n := c.Node(job)
		c.Advance(10 * time.Minute)
		if got := c.overdue(); len(got) > 0 {
			t.Errorf("%q", got)
		}
		n.Kill()
		c.Advance(3 * time.Hour)
		if got := c.overdue(); !slices.Equal(got, []string{"report: 2 ticks are overdue"}) {
			t.Errorf("%q", got)
		}
		c.Node(job)
		c.Advance(time.Minute)
	})
}
