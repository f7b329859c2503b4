package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/dispatch"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/reconcile"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/requests"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// A Node is one process of a cluster that runs jobs. Make one with New, run it with Run. It is safe
// for concurrent use. The zero Node cannot be used.
type Node struct { // a facade: each part owns its state and its lock. Ticks go from the dispatcher to runs; the ends of runs go back
	cfg        Config
	id         string
	clock      clock.Clock
	registry   *registry
	events     *events
	monitor    *monitor
	claimer    *claimer.Claimer      // keeps the leases of runs
	dispatcher *dispatch.Dispatcher  // claims ticks when they are due
	runs       *runs.Runs            // executes granted ticks
	wanted     *reconcile.Requests   // jobs that a part wants to be opened, and partitions that one wants to be read
	reconciler *reconcile.Reconciler // opens jobs, and finds undecided ticks and abandoned runs
	heart      *heartbeat.Heart      // reports that the node is alive, and reads the clock
	requests   requests.Counts       // to the store
	places     *places               // takes the places of runs in limits
	outputs    *outputs              // sends the outputs of runs to the store; nil: the store keeps none
	changed    signal.Signal         // raised in a drain when quiet may have changed
	local      bool                  // the store is a series.Local
	started    atomic.Bool
	wg         sync.WaitGroup // the loops of the parts
}

// New checks the configuration and returns a node. It starts nothing. Its error joins every fault,
// each with its path.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	errs := cfg.faults()
	partitions := 1
	if partitioned, is := cfg.Store.(series.Partitioned); is {
		partitions = max(partitioned.Partitions(), 1)
	}
	n := &Node{id: cfg.Name + "-" + uuid.NewString()[:8], changed: signal.New(), wanted: reconcile.NewRequests()}
	n.places = &places{timeout: cfg.StoreTimeout}
	if cfg.Store != nil { // its absence is among the faults
		n.places.locker = lock.New(cfg.Store, n.id)
	}
	n.registry = newRegistry(&cfg, partitions, n.places)
	if _, err := n.registry.add(cfg.Jobs); err != nil {
		errs = append(errs, err)
	}
	cfg.Jobs = nil // the node keeps a smaller form of them
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("scheduler: configuration: %w", err)
	}
	n.cfg = cfg
	n.connect(partitions)
	n.registry.start(n.dispatcher.Change)
	for i, o := range cfg.Observers {
		if w, is := o.(watcher); is {
			if err := w.Watch(n); err != nil {
				return nil, fmt.Errorf("scheduler: configuration: observers[%d]: %w", i, err)
			}
		}
	}
	return n, nil
}

// connect makes the parts of the node. Each gets the parts that it calls, which are made before it.
func (n *Node) connect(partitions int) {
	cfg, revisions, early := &n.cfg, new(job.Revisions), signal.New()
	n.events = newEvents(cfg.Logger, cfg.Observers, n.id, &n.clock)
	n.monitor = &monitor{Health: health.New(cfg.Store, partitions, time.Now()), events: n.events, early: early}
	store := n.requests.Measure(cfg.Store)
	if local, is := cfg.Store.(series.Local); is {
		n.local = local.Local()
	}
	peeker, peeks := cfg.Store.(series.Peeker)
	if peeks {
		peeker = n.requests.MeasurePeeks(peeker)
	}
	groups, keeps := cfg.Store.(series.GroupPeeker)
	if keeps {
		groups = n.requests.MeasureGroups(groups)
	}
	n.outputs = newOutputs(cfg.Store, cfg.StoreTimeout)
	work := &executions{namespace: cfg.Namespace, node: n.id, logger: slog.New(n.events.log), registry: n.registry, outputs: n.outputs}
	n.runs = runs.New(runs.Config{
		Store: store, Refuses: refuses(cfg.Store), EndAnswered: n.monitor.EndAnswered, EndTimeout: cfg.StoreTimeout,
		Events: n.events, Work: work.work, Open: n.wanted.Add,
		Changed: n.changed, CancelGrace: cfg.CancelGrace,
	})
	n.claimer = claimer.New(store, n.id)
	most := 0
	if sharder, can := cfg.Store.(series.Sharder); can {
		most = sharder.MostShards()
	}
	n.dispatcher = dispatch.New(dispatch.Config{
		Runs: n.runs,
		Claims: claims.Config{
			Slots: cfg.Concurrency, Spread: cfg.Spread, Timeout: cfg.StoreTimeout, Partitions: partitions, Shards: most, Peek: peeks, Groups: keeps,
			Nodes: rendezvous.Of(n.id, nil), Revisions: revisions,
		},
		Claimer: n.claimer, Peeker: peeker, Groups: groups, Clock: &n.clock, Health: n.monitor, Events: n.events, Maintain: n.maintain,
		Open: n.wanted.Add, Learn: n.wanted.Read, Beat: early, Changed: n.changed, Local: n.local,
	})
	controlled, _ := cfg.Store.(series.Controlled)
	if n.local { // nodes of a local store need not open a job for as long as a removal may take
		controlled = nil
	}
	n.reconciler = reconcile.New(reconcile.Config{
		Store: store, Control: controlled, Node: n.id, Partitions: partitions, Clock: &n.clock, Revisions: revisions, Requests: n.wanted, Dispatcher: n.dispatcher,
		Health: n.monitor, Events: n.events, Opened: n.runs.Opened, Timeout: cfg.StoreTimeout,
	})
	n.heart = heartbeat.New(heartbeat.Config{
		Store: store, Node: n.id, Partitions: partitions, Clock: &n.clock, Health: n.monitor, Events: n.events,
		Timeout: cfg.StoreTimeout, ClockWarn: cfg.ClockWarn, ClockOffset: cfg.ClockOffset, Early: early,
		Nodes: n.setNodes, Joined: n.reconciler.Joined, Stepped: n.dispatcher.Shift, Idle: n.dispatcher.Idle,
	})
}

// refuses returns a function that reports whether an error is the store's refusal of a request.
func refuses(store Store) func(error) bool {
	if r, can := store.(driver.Refuser); can {
		return r.Refuses
	}
	return func(error) bool { return false }
}

// setNodes passes the list of live nodes on to the parts.
func (n *Node) setNodes(nodes rendezvous.Nodes, joined bool) {
	n.dispatcher.Nodes(nodes)
	n.reconciler.Nodes(nodes, joined)
}

// ID returns the node's name with its random part, as logs and journal show it.
func (n *Node) ID() string { return n.id }

// Run runs the jobs until ctx ends, then drains: see Config.Grace. It returns nil after a clean
// stop, or else an error that names the runs that ignored the end of their context. The store need
// not be reachable when Run is called: nothing runs until it is. If the store is a
// driver.StoreChecker, Run first checks whether the store is fit. If it is not, Run returns an
// error that wraps lock.ErrUnfit at once and has claimed nothing; a mere risk is logged. Run may be
// called once.
//
// At its end, Run waits for the logger and the Observers, for up to CancelGrace in all. Lines and
// events that they have not taken by then are lost. Stats counts both; the error names the events,
// but not the lines.
func (n *Node) Run(ctx context.Context) error {
	if n.started.Swap(true) {
		return errors.New("scheduler: run: a node runs once")
	}
	err := n.run(ctx)
	return errors.Join(err, n.events.end(n.cfg.CancelGrace))
}

// run is Run without the final delivery of lines and events.
func (n *Node) run(ctx context.Context) error {
	n.events.nodeStarted()
	defer n.registry.close()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer n.wg.Wait()
	defer stop()
	if err := n.fit(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if !n.join(ctx) {
		n.heart.Leave(life)
		return nil
	}
	quiet := n.beat(life)
	n.wg.Go(func() { n.reconciler.Run(life) })
	n.wg.Go(func() { n.reconciler.Retire(life) })
	n.wg.Go(func() { n.dispatcher.Run(life) })
	n.wg.Go(func() { n.heedNotices(life) })
	<-ctx.Done()
	err := n.drain()
	n.places.end()
	n.dispatcher.Stop()
	quiet()
	n.heart.Leave(life)
	n.outputs.end()
	return err
}

// beat starts the heartbeats, and returns a function that ends them and waits for the answer to the last one, at most
// Config.StoreTimeout: it would otherwise list the node again after it has left.
func (n *Node) beat(life context.Context) (quiet func()) {
	ctx, stop := context.WithCancel(life)
	ended := make(chan struct{})
	n.wg.Go(func() {
		defer close(ended)
		n.heart.Run(ctx)
	})
	return func() {
		stop()
		<-ended
	}
}

// join waits for the store, reads its clock and opens as many jobs as possible; the reconciler
// retries the others. It returns false if ctx ends first.
func (n *Node) join(ctx context.Context) bool {
	for !n.clock.Ready() {
		n.heart.Beat(ctx)
		if !n.clock.Ready() && wait.Sleep(ctx, time.Second) != nil {
			return false
		}
	}
	n.dispatcher.Restart()
	n.reconciler.OpenAll(ctx)
	return ctx.Err() == nil
}

// Ready returns nil while all parts of the store answer and the timetable moves. The error names
// the failing parts, without addresses, users or keys. A part that failed counts as down until it
// has answered for three seconds without another failure. Jobs that cannot be opened do not affect
// Ready: see Remarks.
func (n *Node) Ready() error {
	down := ""
	if faults := n.monitor.Down(time.Now()); len(faults) > 0 {
		down = n.monitor.Name(faults)
	}
	silence, woke := n.monitor.Silence(time.Now()), n.dispatcher.Woke()
	switch {
	case !n.started.Load():
		return errors.New("scheduler: not started")
	case n.dispatcher.Draining():
		return errors.New("scheduler: draining")
	case down != "": // also before the start, which waits for the store
		return fmt.Errorf("scheduler: store unreachable: %s", down)
	case woke.IsZero():
		return errors.New("scheduler: not started")
	case n.local: // a local store always answers, and gets no request while nothing can happen
	case silence > 3*heartbeat.Every:
		return fmt.Errorf("scheduler: no answer from the store for %v", silence.Round(time.Second))
	case time.Since(woke) > 5*dispatch.MaxSleep:
		return fmt.Errorf("scheduler: the timetable has not moved for %v", time.Since(woke).Round(time.Second))
	}
	return nil
}
