package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A world is a cluster in a bubble: one store, nodes on faulty wires to it, and a ledger
// that the jobs write themselves. When the test ends, all nodes are drained, and the ledger and the
// journals are compared with the promise.
type world struct {
	notifies atomic.Bool // nodes are notified of groups that are decided
	t        testing.TB
	store    store
	clock    atomic.Int64 // offset of the store's clock from the bubble's, in nanoseconds
	full     atomic.Bool  // the store refuses requests that take more memory
	jobs     []scheduler.Job
	setup    func(i int, cfg *scheduler.Config) // changes the configuration of node i; may be nil
	onEnd    func(*node)                        // called when its Run has returned; may be nil
	nodes    []*node

	stopped    time.Time
	slack      time.Duration // age up to which the last ticks may have no verdict yet; 0: 100ms
	partitions int           // partitions of the store; 0: one
	strange    strangeness   // the parts that cannot be checked then
	mixed      bool          // journals have ticks of several specs
	silent     bool          // lines of the logs are lost, or are about runs whose functions were not called
	stderr     io.Writer     // standard error of nodes; nil: their own

	lost []window // in these the store forgot its writes

	mu      sync.Mutex
	reached time.Time            // by the store's clock, before its last step
	masters []string             // the processes of the store's masters; the first has the list of nodes. None: the store does not report them
	jumpy   func() time.Duration // added to each reading of the store's clock; nil: nothing
	runs    map[string][]*run    // by job, in the order of their start
	open    map[ledgerKey]*run
	grants  map[string][]grant // by job
	sent    count
}

// A store is all that nodes, operators and tests use of a store that several processes share. A wire has no other capabilities,
// whatever the store behind it can do.
type store interface {
	driver.Driver
	driver.Waiter
	driver.Sharer
	driver.MultiAcquirer
	driver.MultiRenewer
	driver.Inspector
	driver.Forcer
	driver.Clocked
	series.Numbered
	series.Sharder
	series.GroupPeeker
	series.Controlled
	series.Journaled
	series.OutputKeeper
	series.Membership
	series.Changes
	series.RunNotifier
	Forget()
}

// A window is a time.
type window struct{ from, to time.Time }

func (w window) has(t time.Time) bool { return !t.Before(w.from) && !t.After(w.to) }

// A ledgerKey identifies a run: the tries of one attempt share it.
type ledgerKey struct {
	job   string
	fence int64
}

// A node is a scheduler.Node with the test's controls.
type node struct {
	*scheduler.Node
	c        *world
	wire     *wire
	logs     *observer.ObservedLogs
	events   eventLog
	life     context.Context // Run runs until this ends
	stop     context.CancelFunc
	stopping <-chan struct{} // closed by stop
	ended    chan struct{}
	err      error           // the error of Run, once ended is closed
	dead     context.Context // ends when the node is killed
	die      context.CancelFunc
	killed   time.Time
	peeks    atomic.Int64 // number of ticks that it has peeked at
	held     []held
	well     time.Time // since when it can reach the store, in a storm; zero: it cannot
	born     time.Time
	gone     time.Time // when stop was called; zero: not yet
	grace    time.Duration
	hung     atomic.Int64 // until when its logger and an observer hang, in Unix ns
}

// A run is one attempt of a tick as its function saw it.
type run struct {
	scheduler.Run
	node       *node
	tries      int
	began      time.Time
	last       time.Time     // when its last try began
	pause      time.Duration // the shortest time between two tries
	shown      time.Time     // the latest time that the store's clock had shown by then
	over       time.Time     // when the function returned; zero: not yet
	contextEnd time.Time     // when the context ended; zero: not while the function ran
	cause      error         // why the context ended
	err        error
	overlap    bool // runs of the job may overlap
}

// plan returns a world that has not been started, for tests that change it first.
func plan(t *testing.T, jobs ...scheduler.Job) *world { return planOn(t, inMemory, jobs...) }

// planOn is plan with another store. The functions that the store registers with Cleanup run after the end of the world.
func planOn(t testing.TB, open func(*world) store, jobs ...scheduler.Job) *world {
	c := &world{t: t, jobs: jobs, runs: map[string][]*run{}, open: map[ledgerKey]*run{}, grants: map[string][]grant{}}
	c.store = open(c)
	t.Cleanup(c.end)
	return c
}

func inMemory(c *world) store { return inMemoryWith(c, 1<<20) }

// cluster starts n nodes and passes half a second, so that later whole seconds end between ticks.
func cluster(t *testing.T, n int, jobs ...scheduler.Job) *world {
	return clusterAfter(t, 0, n, jobs...)
}

// clusterAfter is cluster after d: a day takes long to simulate with live nodes, and no time
// without.
func clusterAfter(t *testing.T, d time.Duration, n int, jobs ...scheduler.Job) *world {
	c := plan(t, jobs...)
	c.pass(d)
	for range n {
		c.start()
	}
	c.pass(500 * time.Millisecond)
	return c
}

// now returns the store's clock.
func (c *world) now() time.Time { return time.Now().Add(time.Duration(c.clock.Load())) }

// step moves the store's clock by a step.
func (c *world) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = c.furthest()
	c.clock.Add(int64(d))
}

// furthest returns the latest time that the store's clock has shown. The caller holds the lock of
// the world.
func (c *world) furthest() time.Time {
	if now := c.now(); now.After(c.reached) {
		return now
	}
	return c.reached
}

// pass lets time pass.
func (c *world) pass(d time.Duration) { time.Sleep(d) }

// start starts another node.
func (c *world) start() *node { return c.startWith(c.jobs...) }

func (c *world) startWith(jobs ...scheduler.Job) *node {
	n := c.create(jobs...)
	n.run()
	return n
}

// create makes a node that does not run yet, so that faults set on its wire before run apply from
// its first request on.
func (c *world) create(jobs ...scheduler.Job) *node {
	n := &node{c: c, ended: make(chan struct{}), held: []held{{time.Now(), jobs}}, well: time.Now(), born: time.Now()}
	n.wire = &wire{store: c.store, n: n}
	n.dead, n.die = context.WithCancel(context.Background())
	core, logs := observer.New(zap.LevelEnablerFunc(func(zapcore.Level) bool { return n.dead.Err() == nil }))
	n.logs = logs
	cfg := scheduler.Config{Name: fmt.Sprintf("node%d", len(c.nodes)), Store: n.wire, Observers: []scheduler.Observer{&n.events, stuck{n}}, Logger: withHook(zapLogger(core), n.logging), Jobs: n.recording(jobs)}
	if c.setup != nil {
		c.setup(len(c.nodes), &cfg)
	}
	n.grace = cmp.Or(cfg.Grace, 20*time.Second)
	made, err := scheduler.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	n.Node = made
	if c.stderr != nil {
		n.StandardError(c.stderr)
	}
	c.nodes = append(c.nodes, n)
	life, stop := context.WithCancel(context.Background())
	n.life, n.stop = life, func() {
		if n.gone.IsZero() {
			n.gone = time.Now()
		}
		stop()
	}
	n.stopping = n.life.Done()
	return n
}

// run starts a node that create made.
func (n *node) run() {
	go func() {
		defer close(n.ended)
		n.err = n.Run(n.life)
		if n.c.onEnd != nil {
			n.c.onEnd(n)
		}
	}()
}

// logging is called for each line that the node logs.
func (n *node) logging(message string) {
	n.askReady(message)
	n.wait()
}

// hang makes the logger and an observer of the node hang until then.
func (n *node) hang(until time.Time) { n.hung.Store(until.UnixNano()) }

// wait returns when the node no longer hangs.
func (n *node) wait() {
	if until := n.hung.Load(); until > 0 {
		time.Sleep(time.Until(time.Unix(0, until)))
	}
}

// A stuck observer hangs with its node.
type stuck struct{ n *node }

func (s stuck) Observe(scheduler.Event) { s.n.wait() }

// askReady calls Ready for each line that the node logs: a line that was logged under the node's
// mutex would wait forever.
func (n *node) askReady(string) { _ = n.Ready() }

// drain stops a node as SIGTERM does and returns the error of its Run.
func (n *node) drain() error {
	n.stop()
	<-n.ended
	return n.err
}

// kill stops a node as SIGKILL does: none of its requests arrives any more, its log is ignored, and
// its functions are gone.
func (n *node) kill() {
	n.c.mu.Lock()
	n.killed = time.Now()
	n.c.mu.Unlock()
	n.wire.cut(true)
	n.die()
	n.stop()
}

// partition cuts a node off the store; heal ends that.
func (n *node) partition() { n.wire.cut(true) }
func (n *node) heal()      { n.wire.cut(false) }

// outage cuts all nodes off for a while.
func (c *world) outage(d time.Duration) {
	for _, n := range c.nodes {
		n.partition()
	}
	c.pass(d)
	for _, n := range c.nodes {
		if n.killed.IsZero() {
			n.heal()
		}
	}
}

// end drains the remaining nodes and checks the promise.
func (c *world) end() {
	c.stopped = c.now()
	for _, n := range c.nodes {
		n.stop()
	}
	for _, n := range c.nodes {
		<-n.ended
	}
	c.pass(10 * time.Minute) // for functions that ignored their context, and for requests on their way
	c.check()
}

// recording wraps the functions of jobs so that they write the ledger.
func (n *node) recording(jobs []scheduler.Job) []scheduler.Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		j := &jobs[i]
		f, overlap := j.Func, j.Overlap == scheduler.OverlapAllow
		j.Func = func(ctx context.Context, r *scheduler.Run) error {
			w := n.c.write(n, ctx, r, overlap)
			alive, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			defer context.AfterFunc(n.dead, func() { stop(errKilled) })()
			err := errVanished
			defer func() { n.c.close(w, ctx, err) }()
			err = f(alive, r)
			return err
		}
	}
	return jobs
}

var (
	errKilled   = errors.New("the process was killed")
	errVanished = errors.New("the function panicked or ended its goroutine")
)

// write records a call of a function: the first try makes a run.
func (c *world) write(n *node, ctx context.Context, r *scheduler.Run, overlap bool) *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.open[ledgerKey{r.Job, r.Fence}]
	if w == nil {
		w = &run{Run: *r, node: n, began: time.Now(), shown: c.furthest(), overlap: overlap}
		c.runs[r.Job] = append(c.runs[r.Job], w)
		c.open[ledgerKey{r.Job, r.Fence}] = w
	}
	w.tries++
	if w.last = time.Now(); w.tries > 1 && !w.over.IsZero() {
		w.pause = min(cmp.Or(w.pause, w.last.Sub(w.over)), w.last.Sub(w.over))
	}
	w.over = time.Time{}
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.over.IsZero() {
			w.tell(ctx)
		}
	})
	return w
}

// tell records the cause with which the run's context ended.
func (r *run) tell(ctx context.Context) {
	if r.contextEnd.IsZero() && ctx.Err() != nil {
		r.contextEnd, r.cause = time.Now(), context.Cause(ctx)
	}
}

// close records that the function returned.
func (c *world) close(w *run, ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.tell(ctx)
	w.over, w.err = time.Now(), err
}

// ran returns a job's runs in the ledger, in the order of their start.
func (c *world) ran(job string) (rs []*run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs[job] {
		seen := *r
		rs = append(rs, &seen)
	}
	return rs
}

// ranAny returns the runs of all jobs, one job after the other.
func (c *world) ranAny() (rs []*run) {
	for _, j := range c.jobs {
		rs = append(rs, c.ran(j.Name)...)
	}
	return rs
}

// later returns the current entry of a run in the ledger.
func (c *world) later(r *run) *run {
	rs := c.ran(r.Job)
	return rs[slices.IndexFunc(rs, func(o *run) bool { return o.Fence == r.Fence })]
}

// running returns the run of a job that has not returned, or nil.
func (c *world) running(job string) *run {
	rs := c.ran(job)
	for _, r := range slices.Backward(rs) {
		if r.over.IsZero() {
			return r
		}
	}
	return nil
}

// holder returns the node that runs a job.
func (c *world) holder(job string) *node {
	c.t.Helper()
	r := c.running(job)
	if r == nil {
		c.t.Fatalf("no run of %s at %v", job, time.Now())
	}
	return r.node
}

// nothing is a job's function that returns at once.
func nothing(context.Context, *scheduler.Run) error { return nil }

// takes is a function that works for d, and ends early when its context does.
func takes(d time.Duration) scheduler.Func {
	return func(ctx context.Context, _ *scheduler.Run) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ignores is a function that works for d and ignores its context.
func ignores(d time.Duration) scheduler.Func {
	return func(context.Context, *scheduler.Run) error {
		time.Sleep(d)
		return nil
	}
}

// bubble runs a test in a bubble, in parallel with other tests.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}
