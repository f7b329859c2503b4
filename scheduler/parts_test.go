package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// everySecond returns n jobs that are due every second, distributed over a few partitions.
func everySecond(n int) (jobs []scheduler.Job) {
	for i := range n {
		jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 1s", Lease: 3 * time.Second, Func: takes(200 * time.Millisecond)})
	}
	return jobs
}

// One of three partitions does not answer when a node starts, and for minutes. The jobs of the others
// run on time, and no lease is lost. The node is not ready all the time, and names the partition
// without an address or the driver's words. It is logged at once, once a minute, and when the partition
// is back.
func TestSilentPartitionAtStart(t *testing.T) {
	for partition := range 3 { // the first has the list of nodes
		t.Run(fmt.Sprint(partition), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, append(everySecond(12), scheduler.Job{Name: "long", Spec: "@every 1m", Lease: 3 * time.Second, Func: takes(30 * time.Second)})...)
				c.partitions = 3
				n := c.create(c.jobs...)
				n.wire.silence(partition)
				n.run()
				c.pass(10 * time.Second)
				ready := 0
				for range 230 {
					if n.Ready() == nil {
						ready++
					}
					c.pass(time.Second)
				}
				err := n.Ready()
				if ready > 0 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("partition %d of 3", partition+1)) {
					t.Errorf("ready in %d of 230 looks; then %v", ready, err)
				}
				for _, raw := range []string{"deadline exceeded", "10.0.0", "node0"} {
					if strings.Contains(err.Error(), raw) {
						t.Errorf("%v contains %q", err, raw)
					}
				}
				for i := range c.jobs {
					job := c.jobs[i].Name
					ran, want := len(c.ran(job)), 234
					if job == "long" {
						want = 3
					}
					if of := n.wire.Partition(job); of == partition && ran > 0 || of != partition && ran < want {
						t.Errorf("%s of partition %d ran %d times", job, of, ran)
					}
				}
				for i := range c.jobs {
					for _, r := range c.ran(c.jobs[i].Name) {
						if late := r.began.Sub(r.Tick); late > 3*time.Second || r.Tick.Sub(start) > 20*time.Second && late > 100*time.Millisecond {
							t.Errorf("%s ran %v late at %v", r.Job, late, r.Tick)
						}
					}
				}
				if un := len(n.logged("store unreachable")); un < 3 || un > 6 {
					t.Errorf("the log has it %d times in four minutes", un)
				}
				c.wantLogged(0, "store back")
				c.wantLogged(0, "lease lost")
				n.wire.silence()
				c.pass(70 * time.Second)
				if err := n.Ready(); err != nil {
					t.Errorf("after all: %v", err)
				}
				for i := range c.jobs {
					if len(c.ran(c.jobs[i].Name)) == 0 {
						t.Errorf("%s has never run", c.jobs[i].Name)
					}
				}
				c.wantLogged(1, "store back")
				c.wantLogged(1, "jobs open")
				c.pass(10 * time.Second)
			})
		})
	}
}

// A partition falls silent when all jobs are open: the rota cannot read its jobs. The log names them as
// the remarks do, they are retried, and the log has a line when all have been read.
func TestSilentPartitionOnTheRota(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, everySecond(12)...)
		c.partitions = 3
		n := c.start()
		c.pass(15 * time.Second)
		if remarks := n.Remarks(); len(remarks) > 0 {
			t.Errorf("before: %q", remarks)
		}
		n.wire.silence(1)
		c.pass(30 * time.Second) // including a turn that finds no recently decided tick
		c.wantLogged(1, "jobs not open")
		if remarks := n.Remarks(); len(remarks) != 1 {
			t.Errorf("remarks %q, want those that could not be read", remarks)
		}
		n.wire.silence()
		c.pass(20 * time.Second)
		c.wantLogged(1, "jobs open")
		if remarks := n.Remarks(); len(remarks) > 0 {
			t.Errorf("after: %q", remarks)
		}
	})
}

// A store takes 1.5 s for each request that opens jobs, or answers none, and a node has so many
// jobs that its turn ends before all were requested. The log and the remarks name as not open only
// the jobs that were requested. The others come first in the next turn, and all are open in the
// end.
func TestSlowOpenings(t *testing.T) {
	for name, slow := range map[string]fault{"slow": {there: 1500 * time.Millisecond}, "silent": {lost: lostRequest}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var jobs []scheduler.Job
				for i := range 3000 { // a request has 1024 of them
					jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 1h", Func: nothing})
				}
				c := plan(t, jobs...)
				n := c.create(jobs...)
				n.wire.spoil(func(op string) fault {
					if op == "open" {
						return slow
					}
					return fault{}
				})
				n.run()
				c.pass(3500 * time.Millisecond) // two requests were answered, or one was not and the next is on its way
				remarks, lines := strings.Join(n.Remarks(), "\n"), c.logged("jobs not open")
				if name == "slow" {
					if remarks != "952 jobs are still to be opened" || len(lines) > 0 {
						t.Errorf("remarks %q, in the log %d times", remarks, len(lines))
					}
					c.pass(9 * time.Second)
					c.wantLogged(0, "jobs not open")
					c.wantLogged(0, "jobs open")
				} else {
					if !strings.HasPrefix(remarks, "1024 jobs cannot be opened: ") || !strings.HasSuffix(remarks, "\n1976 jobs are still to be opened") {
						t.Errorf("remarks %q", remarks)
					}
					if len(lines) != 1 || lines[0].keys["count"] != int64(1024) {
						t.Errorf("the log has %+v", lines)
					}
					n.wire.spoil(nil)
					c.pass(75 * time.Second)
					c.wantLogged(1, "jobs open")
				}
				if remarks := n.Remarks(); remarks != nil {
					t.Errorf("in the end: %q", remarks)
				}
			})
		})
	}
}

// The data of some jobs in the store cannot be read. The others run, however many unreadable ones
// there are. These are named, in the log once a minute, and run once they can be read again.
func TestUnreadableJobs(t *testing.T) {
	for _, foul := range []int{1, 1100} {
		t.Run(fmt.Sprint(foul), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var jobs []scheduler.Job
				var names []string
				for i := range foul {
					jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("foul", i), Spec: "@every 10s", Func: nothing})
					names = append(names, jobs[i].Name)
				}
				c := plan(t, append(jobs, everySecond(3)...)...)
				n := c.create(c.jobs...)
				n.wire.spoilKeys(names...)
				n.run()
				c.pass(time.Minute + 500*time.Millisecond)
				if err := n.Ready(); err != nil {
					t.Errorf("not ready: %v", err)
				}
				remarks := strings.Join(n.Remarks(), "\n")
				if !strings.Contains(remarks, fmt.Sprintf("%d job", foul)) || !strings.Contains(remarks, `job "foul`) || strings.Contains(remarks, "10.0.0") || len(remarks) > 1000 {
					t.Errorf("remarks: %s", remarks)
				}
				added := scheduler.Job{Name: "added", Spec: "@every 1s", Func: nothing}
				c.jobs = append(c.jobs, added)
				if err := n.Add(n.recording([]scheduler.Job{added})[0]); err != nil {
					t.Error(err)
				}
				c.pass(4 * time.Minute)
				for _, job := range []string{"job0", "job1", "job2"} {
					c.wantTally(job, "ran ok 300")
				}
				c.wantTally("added", "ran ok 240")
				if lines := c.logged("jobs not open"); len(lines) < 4 || len(lines) > 6 || lines[0].keys["count"] != int64(foul) {
					t.Errorf("the log has it %d times", len(lines))
				}
				c.wantLogged(0, "store unreachable")
				n.wire.spoilKeys()
				c.pass(75 * time.Second)
				if n.Remarks() != nil || slices.ContainsFunc(names, func(name string) bool { return len(c.ran(name)) == 0 }) {
					t.Errorf("75 s after they could be read: %v", n.Remarks())
				}
				c.wantLogged(1, "jobs open")
			})
		})
	}
}

// A store that answers heartbeats and accepts no claims, as at maxmemory, is down for as long as
// that lasts, however many requests there are, and is back once.
func TestStoreThatTakesNoClaims(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 2, everySecond(5)...)
		c.pass(10 * time.Second)
		for _, n := range c.nodes {
			n.wire.spoil(func(op string) fault {
				if op == "claim" || op == "release" {
					return fault{lost: lostRequest, reset: true}
				}
				return fault{}
			})
		}
		c.pass(2 * time.Second)
		ready := 0
		for range 1080 {
			for _, n := range c.nodes {
				if n.Ready() == nil {
					ready++
				}
			}
			c.pass(100 * time.Millisecond)
		}
		if err := c.nodes[0].Ready(); ready > 0 || err == nil || !strings.Contains(err.Error(), "claims: ") || strings.Contains(err.Error(), "reset by peer") {
			t.Errorf("ready in %d of 2160 looks; then %v", ready, err)
		}
		c.wantLogged(4, "store unreachable") // on two nodes, at once and after a minute
		c.wantLogged(0, "store back")
		for _, n := range c.nodes {
			n.wire.spoil(nil)
		}
		c.pass(10 * time.Second)
		for _, n := range c.nodes {
			if err := n.Ready(); err != nil {
				t.Error(err)
			}
		}
		c.wantLogged(2, "store back")
	})
}
