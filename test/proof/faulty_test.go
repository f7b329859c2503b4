package proof_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// Every node has a proxy of its own that loses every n-th reply after the request
// was executed, holds traffic back, resets connections, or goes silent. As long
// as one node reaches the store, no tick is missed, and none runs twice.
func TestFaultyNetwork(t *testing.T) {
	t.Parallel()
	both(t, faultyNetwork)
}

func faultyNetwork(t *testing.T, p proof.Program) {
	c := proof.NewCluster(t, p)
	jobs := append(seconds("quick", 8),
		proof.Job{Name: "long", Every: 4 * time.Second, Work: 3 * time.Second, Lease: 2 * time.Second, Takeover: scheduler.TakeoverRerun, Attempts: 100},
		proof.Job{Name: "allow", Every: 2 * time.Second, Work: 3 * time.Second, Overlap: scheduler.OverlapAllow, Takeover: scheduler.TakeoverRerun, Attempts: 100})
	for i := range jobs {
		jobs[i].Deadline = 10 * time.Minute
		if jobs[i].Lease == 0 {
			jobs[i].Lease = 30 * time.Second // the end of a run gets through within it, so that no tick is lost
		}
	}
	var proxies []*rig.Proxy
	for i := range 3 {
		p := rig.NewProxy(t, c.Store.Addr())
		proxies = append(proxies, p)
		c.Start(proof.Node{Name: fmt.Sprint("n", i), Jobs: jobs, Store: p.Addr(), Timeout: 700 * time.Millisecond, Verbose: i == 0})
	}
	c.Warm(jobs...)
	for i, begun := 0, time.Now(); time.Since(begun) < running(); i++ {
		disturb(c, proxies, i)
	}
	lost := 0
	for _, p := range proxies {
		p.Set(rig.Faults{})
		lost += p.Lost()
	}
	t.Logf("%d replies lost", lost)
	c.Settle(jobs...)
	e := c.Finish(jobs...)
	e.Allowed = explainedByDoubt
	acquit(t, e)
	if e.Say("tick passed") == 0 {
		t.Error("no node said that a tick is another's")
	}
}

// disturb does another of its faults to all proxies, and each time something worse
// to one of them.
func disturb(c *proof.Cluster, proxies []*rig.Proxy, i int) {
	faults := []rig.Faults{{Swallow: 5}, {Cut: 4}, {Delay: 3, DelayFor: 150 * time.Millisecond}, {Cut: 7, Delay: 2, DelayFor: 40 * time.Millisecond}}
	for _, p := range proxies {
		p.Set(faults[i%len(faults)])
	}
	worse := []rig.Faults{{Hole: true}, {Refuse: true}, {Swallow: 2}, {Cut: 2}}
	proxies[i%len(proxies)].Set(worse[i/2%len(worse)])
	c.Pass(1500 * time.Millisecond)
}

// explainedByDoubt: a node in doubt about its grant may start it late, and stand
// in the way of the next tick then, where runs must not overlap.
func explainedByDoubt(j *proof.Job, _ int64, v series.Verdict, reason string) bool {
	return v == series.VerdictSkipped && reason == series.ReasonOverlap && j.Overlap != scheduler.OverlapAllow
}
