// Package schedulertest runs jobs on a simulated cluster: the real scheduler, with a store in
// memory, in a bubble of [testing/synctest]. Days pass in milliseconds, nodes are killed at any
// instant, and a test reads the verdict of each tick.
//
//	schedulertest.Run(t, start, func(c *schedulertest.Cluster) {
//		first, _ := c.Node(report), c.Node(report)
//		c.Advance(90 * time.Minute)
//		first.Kill()
//		c.Advance(time.Hour)
//		c.WantRan("report", start.Add(5*time.Minute), start.Add(65*time.Minute), start.Add(125*time.Minute))
//	})
//
// Jobs run on the bubble's clock. They may sleep, but must not wait for a socket, nor hold a mutex
// while they wait, because the bubble's time does not advance meanwhile.
package schedulertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// The store keeps the whole journal of a long test.
const (
	journalLines = 1 << 20
	journalBytes = 1 << 28
)

// A Cluster is a set of nodes on one store. Only the goroutine of the test may call its methods.
type Cluster struct {
	t     *testing.T
	store *memlock.Store
	nodes []*Node
}

// Run calls f with a cluster without nodes, in a bubble whose time begins at start: any instant
// after the year 2000, or the zero time for the beginning of that year. When f has returned, Run
// fails the test if a tick is overdue. Then it stops the nodes as SIGTERM does, and fails the test
// if a tick has no verdict or more than one.
func Run(t *testing.T, start time.Time, f func(c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		if ahead := time.Until(start); ahead > 0 {
			time.Sleep(ahead)
		} else if !start.IsZero() && ahead < 0 {
			t.Fatalf("schedulertest: start is %s, must be %s or later", start.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))
		}
		c := &Cluster{t: t, store: memlock.New(memlock.Options{JournalLines: journalLines, JournalTotal: journalBytes})}
		defer c.end() // also when f calls t.FailNow
		f(c)
	})
}

// end stops all nodes and checks their journals against the invariants.
func (c *Cluster) end() {
	c.t.Helper()
	for _, fault := range c.overdue() { // before the stop, which may make ticks overdue
		c.t.Error(fault)
	}
	for _, n := range c.nodes {
		n.stop()
	}
	for _, n := range c.nodes {
		<-n.ended
	}
	for key, report := range c.reports() {
		for _, violation := range report.Violations {
			c.t.Errorf("%s: %v", key, violation)
		}
	}
}

// overdue returns the jobs with ticks that no node has decided in time.
func (c *Cluster) overdue() (faults []string) {
	c.t.Helper()
	for key, report := range c.reports() {
		if report.Overdue > 0 {
			faults = append(faults, fmt.Sprintf("%s: %d ticks are overdue", key, report.Overdue))
		}
	}
	return faults
}

// reports returns the report of each job.
func (c *Cluster) reports() map[string]verify.Report {
	c.t.Helper()
	keys, err := c.store.Keys(context.Background())
	if err != nil {
		c.t.Errorf("schedulertest: read the jobs: %v", err)
	}
	all := map[string]verify.Report{}
	for _, key := range keys {
		all[key] = c.judge(key).Report()
	}
	return all
}

// Advance lets d pass.
func (c *Cluster) Advance(d time.Duration) { time.Sleep(d) }

// Verdict returns the state of a tick of a job.
func (c *Cluster) Verdict(job string, tick time.Time) verify.TickState {
	state, _ := c.judge(job).Tick(tick)
	return state
}

// Want fails the test unless a tick of a job has this state.
func (c *Cluster) Want(job string, tick time.Time, want verify.TickState) {
	c.t.Helper()
	if got := c.Verdict(job, tick); got != want {
		c.t.Errorf("%s, tick %s: %s, want %s", job, name(tick), got, want)
	}
}

// Ran returns the ticks of a job whose last attempt ended ok, in order.
func (c *Cluster) Ran(job string) (ticks []time.Time) {
	judge := c.judge(job)
	for _, line := range c.journal(job).Lines {
		tick := time.UnixMilli(line.To).UTC()
		if state, _ := judge.Tick(tick); state == verify.TickRan && line.Fence != 0 {
			ticks = append(ticks, tick)
		}
	}
	slices.SortFunc(ticks, time.Time.Compare)
	return slices.CompactFunc(ticks, time.Time.Equal)
}

// WantRan fails the test unless exactly these ticks of a job ran.
func (c *Cluster) WantRan(job string, ticks ...time.Time) {
	c.t.Helper()
	if got := c.Ran(job); !slices.EqualFunc(got, ticks, time.Time.Equal) {
		c.t.Errorf("%s ran for %s, want %s", job, names(got), names(ticks))
	}
}

func name(tick time.Time) string { return tick.UTC().Format("2006-01-02 15:04:05") }

func names(ticks []time.Time) string {
	all := make([]string, len(ticks))
	for i, tick := range ticks {
		all[i] = name(tick)
	}
	return fmt.Sprintf("%q", all)
}

func (c *Cluster) judge(job string) *verify.Judge {
	c.t.Helper()
	state := c.store.ReadSeries(context.Background(), []string{job})[0]
	return verify.NewJudge(c.journal(job), verify.Options{Now: time.Now(), State: &state})
}

func (c *Cluster) journal(job string) series.Journal {
	c.t.Helper()
	journal, err := c.store.Journal(context.Background(), job, journalLines)
	if err != nil {
		c.t.Fatalf("schedulertest: read the journal of %q: %v", job, err)
	}
	return journal
}

// A Node is one node of the cluster.
type Node struct {
	*scheduler.Node
	wire  *wire
	stop  context.CancelFunc // stops the node as SIGTERM does
	ended chan struct{}      // closed when Run has returned
	err   error              // of Run
}

// Node starts another node with these jobs.
func (c *Cluster) Node(jobs ...scheduler.Job) *Node {
	c.t.Helper()
	n := &Node{wire: newWire(c.store), ended: make(chan struct{})}
	node, err := scheduler.New(scheduler.Config{
		Name: fmt.Sprintf("node-%d", len(c.nodes)+1), Store: n.wire, Jobs: jobs,
		Middleware: []scheduler.Middleware{n.mortal},
	})
	if err != nil {
		c.t.Fatalf("schedulertest: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.Node, n.stop = node, stop
	c.nodes = append(c.nodes, n)
	go func() {
		defer close(n.ended)
		n.err = node.Run(ctx)
	}()
	return n
}

// Stop stops the node as SIGTERM does, and returns the error of its Run.
func (n *Node) Stop() error {
	n.stop()
	<-n.ended
	return n.err
}
