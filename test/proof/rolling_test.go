package proof_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// All nodes are replaced one after the other, under load, by nodes with other
// specs for some jobs; then back again. A tick that both specs name runs once, a
// tick of one of them runs while there are nodes that know it, and none runs twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	both(t, rollingRestart)
}

func rollingRestart(t *testing.T, p proof.Program) {
	c := proof.NewCluster(t, p)
	r := &rolling{Cluster: c, t: t, due: map[string][]int64{}, specs: [2][]proof.Job{rollingJobs(0), rollingJobs(1)}}
	for range 3 {
		r.nodes = append(r.nodes, r.start())
	}
	c.Warm(r.specs[0]...)
	r.since = time.Now()
	for begun := time.Now(); time.Since(begun) < running(); {
		c.Pass(2 * time.Second)
		r.roll()
	}
	c.Pass(2 * time.Second)
	e := c.Finish(r.specs[r.at]...)
	r.account(e.To)
	e.Due, e.Also = r.due, r.specs[1-r.at]
	acquit(t, e)
	if n := e.Say("specs differ"); n == 0 && !testing.Short() {
		t.Error("no node said that specs differ")
	}
}

// rollingJobs are the jobs before (0) and after (1) the change.
func rollingJobs(version int) []proof.Job {
	every := func(seconds ...time.Duration) time.Duration { return seconds[version] * time.Second }
	return append(seconds("load", 20),
		proof.Job{Name: "slower", Every: every(1, 2), Cron: true},
		proof.Job{Name: "faster", Every: every(4, 2), Cron: true},
		proof.Job{Name: "apart", Every: every(2, 3)},
		proof.Job{Name: "long", Every: 3 * time.Second, Work: 2 * time.Second, Takeover: scheduler.TakeoverRerun})
}

// rolling is a cluster whose nodes are being replaced.
type rolling struct {
	*proof.Cluster
	t     *testing.T
	specs [2][]proof.Job
	at    int // which of the specs is the newest
	nodes []*proof.Process
	count int
	since time.Time // from when on ticks of the newest specs are due
	due   map[string][]int64
}

func (r *rolling) start() *proof.Process {
	r.count++
	return r.Start(proof.Node{Name: fmt.Sprint("n", r.count), Jobs: r.specs[r.at]})
}

// roll replaces every node by one with the other specs.
func (r *rolling) roll() {
	r.t.Helper()
	old := r.nodes
	since, last := time.Time{}, time.Time{}
	from := r.at
	r.at = 1 - r.at
	r.nodes = nil
	for _, p := range old {
		fresh := r.start()
		r.Must("the new node takes part", func(v proof.View) bool { return len(v.Find(isStart, by(fresh.Pid))) > 0 })
		if since.IsZero() {
			since = time.Now()
		}
		r.nodes = append(r.nodes, fresh)
		if r.count == 4 && !testing.Short() { // after the very first change
			r.Pass(11 * time.Second) // long enough that the nodes notice
		}
		last = p.Terminate()
		if err := p.Wait(patience); err != nil {
			r.t.Errorf("%s: %v", p.Node.Name, err)
		}
	}
	r.charge(from, last.Add(-time.Second))
	r.since = since
}

// charge counts the ticks of one of the specs as due until to.
func (r *rolling) charge(specs int, to time.Time) {
	for _, j := range r.specs[specs] {
		ticks := append(r.due[j.Name], j.Ticks(r.since, to)...)
		slices.Sort(ticks)
		r.due[j.Name] = slices.Compact(ticks)
	}
}

// account closes the books at the end.
func (r *rolling) account(to time.Time) { r.charge(r.at, to) }
