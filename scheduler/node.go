package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/reconcile"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/internal/signal"
	"github.com/cronce/cronce/scheduler/internal/slab"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/internal/timetable"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Node is one process of a cluster that runs jobs. Make one with New, run it
// with Run. It is safe for concurrent use.
type Node struct {
	cfg        Config
	id         string
	claimer    *lock.Claimer
	peeker     driver.Peeker // nil if the store is none
	events     *events
	clock      clock.Clock
	revisions  job.Revisions
	monitor    *monitor
	base       context.Context // of requests to the store: ends after the drain
	started    atomic.Bool
	draining   atomic.Bool
	shards     int // of the store
	born       time.Time
	runs       *runs.Runs
	heart      *heartbeat.Heart
	reconciler *reconcile.Reconciler
	work       executions
	wg         sync.WaitGroup // beats, rota and requests
	wake       signal.Signal  // the drain
	early      signal.Signal  // the heart

	mu       sync.Mutex
	lines    []func() // log lines that were put off; written by unlock
	names    map[string]struct{}
	all      job.Rows[job.Job]
	entries  job.Rows[entry] // of the same
	specs    map[specKey]*spec.Schedule
	shared   map[job.Rules]*job.Rules
	table    timetable.Table
	alarm    alarm
	agenda   agenda
	shelf    shelf
	lead     lead
	queue    line                 // due, and waiting for a free slot
	fenced   map[*entry]time.Time // jobs that have a fence more than a day ahead, and when they were logged last
	parked   map[*entry][]*ask    // due, and waiting for the end of a run of this node, or for an older ask, to be answered
	mutes    map[*entry]*mute     // jobs whose asks are not answered
	watches  map[watched]plan
	lapsed   map[*entry]int64 // the mark that the store is known to have forgotten
	lapsedAt time.Duration    // when that was told last, since born
	laters   []*laterShare    // scratch: one for each shard
	members  rendezvous.Nodes
	room     slab.Slab[runs.Attempt]
	sending  int // requests on their way
	free     int // slots
	woke     time.Time
}

type specKey struct{ text, zone string }

// New checks the configuration and returns a node. It joins every fault, each
// with its path, and starts nothing.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, base: context.Background(), born: time.Now(), wake: signal.New(), early: signal.New(),
		names: make(map[string]struct{}, len(cfg.Jobs)), specs: map[specKey]*spec.Schedule{}, shared: map[job.Rules]*job.Rules{},
		watches: map[watched]plan{}, parked: map[*entry][]*ask{}, fenced: map[*entry]time.Time{}, mutes: map[*entry]*mute{}, lapsed: map[*entry]int64{},
		free: cfg.Concurrency,
	}
	n.shards = 1
	if sharded, is := cfg.Store.(driver.Sharded); is {
		n.shards = max(sharded.Shards(), 1)
	}
	n.laters = make([]*laterShare, n.shards)
	errs := cfg.faults()
	n.id = cfg.Name + "-" + uuid.NewString()[:8]
	errs = append(errs, n.registerAll(cfg.Jobs)...)
	n.cfg.Jobs = nil // what is kept of them is smaller
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("scheduler: configuration: %w", err)
	}
	n.members = rendezvous.Of(n.id, nil)
	n.events = newEvents(cfg.Logger, n.id, &n.clock)
	n.claimer = lock.New(cfg.Store, n.id).Claimer()
	n.claimer.EndTimeout(cfg.StoreTimeout)
	n.monitor = &monitor{Health: health.New(cfg.Store, n.shards, n.born), events: n.events, early: n.early}
	n.claimer.OnEnd(n.monitor.EndAnswered)
	n.peeker, _ = cfg.Store.(driver.Peeker)
	n.work.cfg, n.work.node = &n.cfg, n.id
	n.runs = runs.New(runs.Config{
		Dispatcher: dispatcher{n}, Events: n.events, Work: n.work.work, Open: n.openSoon, Heard: n.monitor.Heard,
		Changed: n.wake, CancelGrace: cfg.CancelGrace,
	})
	n.reconciler = reconcile.New(reconcile.Config{
		Store: cfg.Store, Node: n.id, Shards: n.shards, Clock: &n.clock, Revisions: &n.revisions, Dispatcher: dispatcher{n},
		Health: n.monitor, Events: n.events, Opened: n.runs.Opened, Timeout: cfg.StoreTimeout,
	})
	n.heart = heartbeat.New(heartbeat.Config{
		Store: cfg.Store, Node: n.id, Shards: n.shards, Clock: &n.clock, Health: n.monitor, Events: n.events,
		Timeout: cfg.StoreTimeout, ClockWarn: cfg.ClockWarn, ClockOffset: cfg.ClockOffset, Early: n.early,
		Nodes: n.setNodes, Joined: n.reconciler.Joined, Stepped: n.shift,
	})
	return n, nil
}

// setNodes sets the nodes that were seen alive.
func (n *Node) setNodes(nodes rendezvous.Nodes, joined bool) {
	n.mu.Lock()
	n.members = nodes
	n.mu.Unlock()
	n.reconciler.Nodes(nodes.Count(), joined)
}

// openSoon lets a job be opened soon.
func (n *Node) openSoon(j *job.Job) { n.reconciler.Open(j) }

// ID returns the node's name with its random part, as logs and journal show it.
func (n *Node) ID() string { return n.id }

// Add registers a job, before or while the node runs.
func (n *Node) Add(j Job) error {
	if err := n.register("job", &j); err != nil {
		return fmt.Errorf("scheduler: add: %w", err)
	}
	return nil
}

// registerAll returns the faults of all jobs. A job that is refused takes its name
// all the same.
func (n *Node) registerAll(jobs []Job) (errs []error) {
	refused := map[string]bool{}
	for i := range jobs {
		path, name := fmt.Sprintf("jobs[%d]", i), jobs[i].Name
		_, registered := n.names[name]
		twice := refused[name] && !registered
		err := n.register(path, &jobs[i])
		if twice {
			err = errors.Join(err, taken(path, name))
		}
		if err != nil {
			errs = append(errs, err)
			refused[name] = name != ""
		}
	}
	return errs
}

func taken(path, name string) error {
	return fmt.Errorf("%s.name: %s is taken by another job", path, text.Quote(name))
}

// register checks a job and puts it into the timetable. If the node runs, the job is
// opened soon.
func (n *Node) register(path string, j *Job) error {
	registered, err := n.enter(path, j)
	if err == nil && n.clock.Ready() {
		n.reconciler.Open(registered)
	}
	return err
}

// enter is register without the store.
func (n *Node) enter(path string, j *Job) (*job.Job, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.schedule(path, j)
	if _, twice := n.names[j.Name]; twice {
		err = errors.Join(err, taken(path, j.Name))
	}
	if _, can := n.cfg.Store.(driver.Replicated); j.Replicas > 0 && !can && n.cfg.Store != nil {
		err = errors.Join(err, fmt.Errorf("%s.replicas: is %d, but the store cannot wait for replicas", path, j.Replicas))
	}
	if err != nil {
		return nil, err
	}
	registered := n.all.Add()
	*registered = job.New(j.Name, s, n.share(rulesOf(j)), uint32(n.all.Size()-1), n.shardOf(j.Name))
	n.names[j.Name] = struct{}{}
	n.work.add(j.Func)
	e := n.entries.Add()
	e.Job = registered
	now := time.Now().UnixMilli() // until the cluster's clock is known; Run sets it right
	if n.clock.Ready() {
		now = n.clock.Ms()
	}
	e.Start(now)
	n.table.Push(e.No, e.Due())
	n.arm()
	return registered, nil
}

// schedule parses a job's spec; jobs with the same spec share one.
func (n *Node) schedule(path string, j *Job) (*spec.Schedule, error) {
	s, err := j.faults(path, n.cfg.Zone)
	if err != nil {
		return nil, err
	}
	key := specKey{s.Text(), s.Zone().String()}
	if known := n.specs[key]; known != nil {
		return known, nil
	}
	n.specs[key] = s
	return s, nil
}

// shardOf returns the shard of the store that a job lives in.
func (n *Node) shardOf(job string) uint16 {
	if n.shards <= 1 {
		return 0
	}
	return uint16(n.cfg.Store.(driver.Sharded).Shard(job))
}

func (n *Node) share(r job.Rules) *job.Rules {
	if known := n.shared[r]; known != nil {
		return known
	}
	n.shared[r] = &r
	return &r
}

// Run runs the jobs until ctx ends, then drains: see Config.Grace. It returns
// nil after a clean stop, else an error that names the runs that ignored the end
// of their context. The store need not be reachable when Run is called: nothing
// runs before it is. A store that is a driver.StoreChecker is asked first whether it is
// fit: if it is not, Run returns an error that is lock.ErrUnfit at once, and has
// claimed nothing; a risk is logged. Run may be called once.
func (n *Node) Run(ctx context.Context) error {
	if n.started.Swap(true) {
		return errors.New("scheduler: run: a node runs once")
	}
	n.events.nodeStarted()
	defer n.events.nodeStopped()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer n.events.wait()
	defer n.wg.Wait()
	defer stop()
	n.base = life
	n.runs.Until(life)
	if err := n.fit(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if !n.join(ctx) {
		return nil
	}
	n.wg.Go(func() { n.heart.Run(life) })
	n.wg.Go(func() { n.reconciler.Run(life) })
	n.awake()
	<-ctx.Done()
	err := n.drain()
	n.asleep()
	n.heart.Leave(life)
	return err
}

// join waits for the store, reads its clock and opens the jobs that can be opened; the
// rota tries the others again. It reports false if ctx ended first.
func (n *Node) join(ctx context.Context) bool {
	for !n.clock.Ready() {
		n.heart.Beat(ctx)
		if !n.clock.Ready() && !bounded.Pause(ctx, time.Second) {
			return false
		}
	}
	n.mu.Lock()
	now := n.clock.Ms()
	n.table.ResetAll(func(no int) int64 {
		e := n.entries.At(no)
		e.Start(now)
		return e.Due()
	})
	n.mu.Unlock()
	n.reconciler.OpenAll(ctx)
	return ctx.Err() == nil
}

// Ready returns nil while all parts of the store answer and the timetable is alive. The
// error names what fails, in words without addresses, users or keys. A part that failed
// counts as down until it has answered for three seconds without another failure. Jobs
// that cannot be opened are no reason not to be ready: see Remarks.
func (n *Node) Ready() error {
	down := ""
	if faults := n.monitor.Down(time.Now()); len(faults) > 0 {
		down = n.monitor.Name(faults) // asks the store for words: not under the mutex
	}
	silence := n.monitor.Silence(time.Now())
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !n.started.Load():
		return errors.New("scheduler: not started")
	case n.draining.Load():
		return errors.New("scheduler: draining")
	case down != "": // before the start too: it waits for the store
		return fmt.Errorf("scheduler: store unreachable: %s", down)
	case n.woke.IsZero():
		return errors.New("scheduler: not started")
	case silence > 3*heartbeat.Every:
		return fmt.Errorf("scheduler: no answer from the store for %v", silence.Round(time.Second))
	case time.Since(n.woke) > 5*maxSleep:
		return fmt.Errorf("scheduler: the timetable has not moved for %v", time.Since(n.woke).Round(time.Second))
	}
	return nil
}
