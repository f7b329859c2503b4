package proof_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// Nodes are killed, stopped for longer than their leases, replaced by nodes with other clocks, cut off from the store, slowed down, and
// have logs that hang, and their store crashes, fails over, stands still or has a full disk, in turns.
// With CRONCE_CHAOS, how long it lasts on each store, the scenario runs on all of them, and writes the page about it.
func TestUpheaval(t *testing.T) {
	t.Parallel()
	text := os.Getenv("CRONCE_CHAOS")
	if text == "" {
		upheaval(t, proof.Redis, running())
		return
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("CRONCE_CHAOS: %v", err)
	}
	backends := []proof.Backend{proof.Redis, proof.Sentinel, proof.RedisCluster, proof.PostgreSQL, proof.MariaDB, proof.Ensemble}
	var all []proof.Outcome
	for _, b := range backends {
		t.Run(b.Name, func(t *testing.T) { all = append(all, upheaval(t, b, lasts)) })
	}
	if len(all) < len(backends) {
		t.Fatal("the page is not written: it would not have the stores whose scenario did not come to its end")
	}
	if err := proof.WriteTable("../../docs/chaos.md", "upheaval", proof.Table(all)); err != nil {
		t.Fatal(err)
	}
}

// durable are jobs whose ticks all run, however late, and some whose ticks are lost with their node. The longest standstill of a store,
// a failover, is shorter than ten intervals of the former, the longest backlog of a job.
func durable(replicas int) (jobs []proof.Job) {
	for i := range 12 {
		jobs = append(jobs, proof.Job{Name: fmt.Sprint("each", i), Every: 3 * time.Second, Lease: 10 * time.Second,
			Overlap: scheduler.OverlapAllow, Misfire: scheduler.MisfireAll, Deadline: 10 * time.Minute, Takeover: scheduler.TakeoverRerun, Attempts: 100})
	}
	for i := range 8 {
		jobs = append(jobs, proof.Job{Name: fmt.Sprint("rerun", i), Every: 10 * time.Second, Work: 3 * time.Second, Lease: lease,
			Misfire: scheduler.MisfireAll, Deadline: 10 * time.Minute, Takeover: scheduler.TakeoverRerun, Attempts: 100})
	}
	for i := range 4 {
		jobs = append(jobs, proof.Job{Name: fmt.Sprint("lost", i), Every: 2 * time.Second, Work: time.Second, Lease: lease})
	}
	for i := range jobs {
		jobs[i].Replicas = replicas
	}
	return jobs
}

func upheaval(t *testing.T, b proof.Backend, lasts time.Duration) proof.Outcome {
	c := proof.NewCluster(t, proof.Member.On(b))
	jobs := durable(b.Replicas)
	node := proof.Node{Jobs: jobs, Grace: 5 * time.Second, Verbose: true}
	u := &upheavals{Cluster: c, node: node}
	for range 4 {
		u.start()
	}
	c.Warm(jobs...)
	begun := time.Now()
	for round := 0; time.Since(begun) < lasts || round < kinds; round++ {
		u.disturb(round)
		c.Pass(time.Duration(rand.IntN(2000)) * time.Millisecond)
	}
	c.Settle(jobs...)
	e := c.Finish(jobs...)
	e.Allowed = explainedByUpheaval
	acquit(t, e)
	o := c.Outcome(e)
	o.Lasted, o.Deploys, o.Strikes = time.Since(begun), u.deploys, u.strikes
	if b.Replicas == 0 && (o.Faults[proof.CutOff] == 0 || o.Faults[proof.Slowed] == 0) { // no proxy is before the servers of the others
		t.Errorf("no node was cut off, or none was slowed down: %v", o.Faults)
	}
	return o
}

// upheavals are the faults of one run.
type upheavals struct {
	*proof.Cluster
	node             proof.Node
	started          int
	deploys, strikes int
}

// kinds are the kinds of faults.
const kinds = 7

// disturb makes one fault. Each of seven in a row is another one.
func (u *upheavals) disturb(round int) {
	alive := u.Alive()
	n := alive[rand.IntN(len(alive))]
	switch round % kinds {
	case 0:
		killBusiest(u.Cluster, isRerun)
		u.start()
	case 1:
		n.Pause()
		u.Pass(lease * 3 / 2)
		n.Continue()
	case 2:
		u.deploys++
		n.Terminate()
		u.start()
	case 3:
		u.strikes++
		u.Strike()
	case 4:
		if n.CutOff() {
			u.Pass(lease * 3 / 2)
			n.Mend()
		}
	case 5:
		n.HangLog()
		u.Pass(lease * 3 / 2)
		n.ReadLog()
	case 6:
		if n.Slow(time.Duration(rand.IntN(800)) * time.Millisecond) {
			u.Pass(lease * 3 / 2)
			n.Mend()
		}
	}
}

// start starts a node whose clock is right, a day ahead, or a day behind.
func (u *upheavals) start() {
	n := u.node
	n.Name = fmt.Sprint("n", u.started)
	n.Offset = time.Duration(u.started%3-1) * 24 * time.Hour
	u.started++
	u.StartBehind(n)
}

// explainedByUpheaval: a dead node's run is in the way of later ticks until its lease is over, and is lost then if its job says so.
// A job without a backlog misses ticks while the store does not answer.
func explainedByUpheaval(j *proof.Job, _ int64, v series.Verdict, reason string) bool {
	return j.Overlap != scheduler.OverlapAllow && v == series.VerdictSkipped && reason == series.ReasonOverlap ||
		j.Takeover == scheduler.TakeoverLost && v == series.VerdictLost ||
		j.Misfire != scheduler.MisfireAll && v == series.VerdictMissed
}
