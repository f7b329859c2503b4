package proof_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// seconds returns n jobs that run each second. Every second one has policies by which each tick runs,
// however long this machine delays the nodes: the only excuse is the cap of a backlog, after a
// standstill of ten intervals that the meter measured.
func seconds(prefix string, n int) (jobs []proof.Job) {
	for i := range n {
		j := proof.Job{Name: fmt.Sprintf("%s%d", prefix, i), Every: time.Second, Cron: true}
		if i%2 == 0 {
			j.Overlap, j.Misfire, j.Deadline = scheduler.OverlapAllow, scheduler.MisfireAll, time.Minute
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// The usual recipe, lock by name, run, delete, on three nodes whose clocks are 50
// milliseconds apart: the checker must report that ticks ran twice.
func TestUsualLockRunsTwice(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member)
	jobs := seconds("job", 10)
	for i := range 3 {
		c.Start(proof.Node{Name: fmt.Sprint("usual", i), Recipe: proof.LockByName, Jobs: jobs, Offset: time.Duration(i) * 50 * time.Millisecond})
	}
	c.Warm(jobs...)
	c.Pass(running())
	convict(t, c.Finish(jobs...), proof.Twice)
}

// The usual recipe with one key per tick, through a proxy that loses every
// seventh reply: the client asks again and gets the answer that the key is taken, by
// itself. The checker must report that ticks are silently missing.
func TestUsualClaimMissesSilently(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member)
	jobs := seconds("job", 10)
	for i := range 3 {
		p := rig.NewProxy(t, c.Store.Addr())
		p.Set(rig.Faults{Cut: 7})
		c.Start(proof.Node{Name: fmt.Sprint("usual", i), Recipe: proof.ClaimTick, Jobs: jobs, Store: p.Addr(), Timeout: 3 * time.Second})
	}
	c.Warm(jobs...)
	c.Pass(running())
	convict(t, c.Finish(jobs...), proof.Silent)
}

// convict fails the test if the checker finds next to nothing of this rule: the
// checker then proves nothing elsewhere.
func convict(t *testing.T, e *proof.Evidence, r proof.Rule) {
	t.Helper()
	ticks := 0
	for _, j := range e.Jobs {
		ticks += len(j.Ticks(e.From, e.To))
	}
	n := proof.Count(proof.Check(e), r)
	t.Logf("%d of %d ticks: %s", n, ticks, r)
	if n < ticks/50 {
		t.Errorf("the checker found %d of %d ticks %q, want at least 2 %%: it does not see what it is for", n, ticks, r)
	}
}
