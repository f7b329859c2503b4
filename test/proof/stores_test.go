package proof_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// elsewhere runs a scenario with members on the other stores that have numbered leases. The scenarios
// are as short as possible, because only the store differs.
func elsewhere(t *testing.T, scenario func(*testing.T, proof.Program)) {
	t.Helper()
	for _, b := range []proof.Backend{proof.PostgreSQL, proof.ZooKeeper} {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			scenario(t, proof.Member.On(b))
		})
	}
}

// The promise does not hang on Redis: nodes are killed, runs overlap and ticks are
// missed on the other stores, too.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]func(*testing.T, proof.Program){
		"kill": kill, "overlap": overlapPolicies, "misfire": misfirePolicies,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elsewhere(t, scenario)
		})
	}
}

// The leader of the ensemble that keeps the claims is killed, twice, while three
// nodes run jobs every second: each tick runs once, the late ones too, and nothing is
// lost.
func TestLeaderOfTheStoreIsKilled(t *testing.T) {
	t.Parallel()
	c := proof.NewCluster(t, proof.Member.On(proof.Ensemble))
	jobs := []proof.Job{
		{Name: "brief", Every: time.Second, Lease: 20 * time.Second, Misfire: scheduler.MisfireAll, Overlap: scheduler.OverlapAllow, Deadline: 10 * time.Minute},
		{Name: "long", Every: 3 * time.Second, Work: 2 * time.Second, Lease: 20 * time.Second, Misfire: scheduler.MisfireAll, Overlap: scheduler.OverlapAllow, Deadline: 10 * time.Minute},
	}
	startNodes(c, 3, proof.Node{Jobs: jobs, Grace: 5 * time.Second})
	c.Warm(jobs...)
	for range 2 {
		c.Pass(3 * time.Second)
		c.Strike()
	}
	c.Settle(jobs...)
	found := c.Finish(jobs...)
	acquit(t, found)
	for _, j := range jobs {
		if n := proof.Verdicts(found, j)[series.VerdictRan]; n < 4 {
			t.Errorf("%s ran %d times", j.Name, n)
		}
	}
}
