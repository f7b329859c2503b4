package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// forged is a store that has a fence far in the future under one job.
type forged struct {
	scheduler.Store
	job string
	is  *atomic.Bool
}

func (s forged) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	as := s.Store.Claim(ctx, cs)
	for i := range cs {
		if cs[i].Key == s.job && s.is.Load() {
			as[i] = series.Answer{Err: fmt.Errorf("claim %q: %w", s.job, driver.ErrFence)}
		}
	}
	return as
}

// A fence far in the future affects only its job: the store does not count as unreachable, even if
// no other job is claimed. It is logged once a minute and remarked on, with the job's name.
func TestForgedFenceIsOfOneJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var is atomic.Bool
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 10s", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Store = forged{cfg.Store, "a", &is} }
		n := c.start()
		c.pass(25 * time.Second)
		is.Store(true)
		c.pass(5 * time.Minute)
		if err := n.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if remarks := strings.Join(n.Remarks(), "; "); !strings.Contains(remarks, "1 job has a fence") || !strings.Contains(remarks, ": a") {
			t.Errorf("remarks: %s", remarks)
		}
		if lines := len(c.logged("fence ahead", "job", "a")); lines < 4 || lines > 6 {
			t.Errorf("the log has it %d times", lines)
		}
		c.wantLogged(0, "store unreachable")
		is.Store(false)
		c.pass(time.Minute)
		if n.Remarks() != nil || len(c.ran("a")) < 7 {
			t.Errorf("afterwards: %v, %d runs", n.Remarks(), len(c.ran("a")))
		}
	})
}
