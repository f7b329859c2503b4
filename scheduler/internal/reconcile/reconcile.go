// Package reconcile registers the jobs of a node in the store, and reads the state of all jobs in
// turn. So a run that no other node knows of, or a tick that was missed yesterday, is found without
// a leader.
package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// Intervals and sizes of the turns.
const (
	turnEvery   = 10 * time.Second
	firstTurn   = turnEvery + settling // by then the others have noticed this node and have read their jobs again
	settling    = 2 * time.Second      // age of an undecided tick at which a turn claims it
	turnReaders = 8                    // about how many nodes of a large fleet have a turn, others each time
	turnLeast   = 200                  // the least number of jobs that a turn reads
	turnsPerRun = 60                   // number of turns in which the nodes together read all jobs
	scanFactor  = 10                   // number of jobs that a turn may pass over for each that it reads
	batchMax    = 1024                 // jobs in one call of the store
)

// A Store has the series of jobs.
type Store interface {
	series.Numbered
	series.Journaled
	series.Membership
}

// A Dispatcher claims the ticks of jobs.
type Dispatcher interface {
	// Jobs returns the number of job numbers in use. Removed jobs keep their numbers.
	Jobs() int
	// Job returns a job by its number.
	Job(no int) claims.Known
	// Opened applies the store's state of opened jobs. A tick that is claimed because no node has
	// decided it must be at least slack old.
	Opened(all []job.Opened, slack time.Duration)
	// Draining reports whether the node has stopped claiming.
	Draining() bool
	// Idle returns how long nothing can happen.
	Idle() time.Duration
}

// Health is notified of answers and failures of the store, and explains errors.
type Health interface {
	Answered(p health.Part, err error)
	Explain(err error) string
}

// Events writes events to the log.
type Events interface {
	JobsNotOpen(count int, names string, cause error)
	JobsOpen()
	SpecsDiffer(j *job.Job, own, other string)
	MarkAhead(j *job.Job, mark int64)
	JobRetired(name, reason string)
}

// Config has the dependencies and settings of a Reconciler. All fields but Control are required.
type Config struct {
	Store      Store
	Control    series.Controlled // nil: removed jobs are not retired
	Node       string
	Partitions int
	Clock      *clock.Clock
	Revisions  *job.Revisions
	Requests   *Requests
	Dispatcher Dispatcher
	Health     Health
	Events     Events
	Opened     func(j *job.Job) // is called when the store has accepted an opening of a job
	Timeout    time.Duration    // of one request
}

// A Reconciler opens jobs and reads their state. It is safe for concurrent use.
type Reconciler struct {
	cfg    Config
	joined signal.Signal // raised when a node joined

	mu        sync.Mutex
	openings  openings
	cursor    cursor
	nodes     rendezvous.Nodes
	other     map[*job.Job]string // the other revision that was logged
	differing []*job.Job          // jobs whose other revision is due in the log
}

// New returns a Reconciler without jobs. It starts nothing.
func New(cfg Config) *Reconciler {
	return &Reconciler{cfg: cfg, joined: signal.New(), nodes: rendezvous.Of(cfg.Node, nil), other: map[*job.Job]string{}}
}

// gather adds the requested jobs to the openings. The caller holds the mutex.
func (r *Reconciler) gather() {
	for _, j := range r.cfg.Requests.take() {
		if j = r.cfg.Dispatcher.Job(int(j.No)).Job; j != nil {
			r.openings.add(j)
		}
	}
}

// Forget forgets a job that was removed or replaced.
func (r *Reconciler) Forget(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openings.forget(j)
	delete(r.other, j)
}

// Nodes sets the list of live nodes. If one joined, all jobs are read once, because the node may
// have other specs.
func (r *Reconciler) Nodes(nodes rendezvous.Nodes, joined bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = nodes
	if joined {
		r.cursor.readAll(r.cfg.Dispatcher.Jobs())
	}
}

// Joined starts the next turn at once.
func (r *Reconciler) Joined() { r.joined.Raise() }

// OpenAll opens as many jobs as possible; Run retries the others.
func (r *Reconciler) OpenAll(ctx context.Context) {
	jobs := r.cfg.Dispatcher.Jobs()
	r.mu.Lock()
	for _, j := range known(r.cfg.Dispatcher) {
		r.openings.add(j)
	}
	r.mu.Unlock()
	r.openDue(ctx)
	if jobs > 0 {
		r.mu.Lock()
		r.cursor.at = int(rendezvous.Hash(r.cfg.Node) % uint64(jobs)) // the other nodes start at other positions
		r.mu.Unlock()
	}
}

// Run opens the jobs that are not open and reads the state of all jobs in turn, until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	turn := time.NewTimer(firstTurn)
	defer turn.Stop()
	again := time.NewTimer(openPause)
	defer again.Stop()
	for {
		select {
		case <-turn.C:
			if r.cfg.Dispatcher.Draining() { // an opened job counts as a job of this node
				continue
			}
			r.readTurn(ctx, r.turn(r.cfg.Clock.Ms()), again)
			turn.Reset(max(turnEvery, r.cfg.Dispatcher.Idle()))
		case <-r.cfg.Requests.reading:
			if partitions := r.cfg.Requests.takePartitions(); !r.cfg.Dispatcher.Draining() {
				r.readTurn(ctx, slices.DeleteFunc(known(r.cfg.Dispatcher), func(j *job.Job) bool { return !partitions[j.Partition] }), again)
			}
		case <-r.joined:
			turn.Reset(0)
		case <-r.cfg.Requests.raised:
			if !r.openDue(ctx) {
				again.Reset(openPause)
			}
		case <-again.C:
			if !r.cfg.Dispatcher.Draining() && !r.openDue(ctx) {
				again.Reset(openPause)
			}
		case <-ctx.Done():
			return
		}
	}
}

// readTurn reads the jobs of a turn, and lets again fire if some of them are not open.
func (r *Reconciler) readTurn(ctx context.Context, jobs []*job.Job, again *time.Timer) {
	if len(jobs) == 0 {
		return
	}
	r.read(ctx, jobs)
	if r.unopened() { // the tries of openDue may have ended long ago
		again.Reset(openPause)
	}
	r.logDiffering(ctx)
}

// turn returns the jobs to read now. In a large fleet not each node has a turn each time.
func (r *Reconciler) turn(now int64) []*job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	if nodes := r.nodes.Count(); nodes > turnReaders && r.nodes.Draw(uint64(now/turnEvery.Milliseconds()), nodes) >= turnReaders {
		return nil
	}
	return r.cursor.turn(r.cfg.Dispatcher, r.nodes.Count(), now)
}

// known returns all jobs.
func known(d Dispatcher) (all []*job.Job) {
	for no := range d.Jobs() {
		if j := d.Job(no).Job; j != nil {
			all = append(all, j)
		}
	}
	return all
}

// read reads the state of jobs, separately for each partition. Openings wait for it, so if a partition does not answer in time, the rest
// of its jobs is retried later.
func (r *Reconciler) read(ctx context.Context, jobs []*job.Job) {
	var wg sync.WaitGroup
	for _, partition := range job.ByPartition(r.cfg.Partitions, jobs, partitionOf) {
		wg.Go(func() { r.readPartition(ctx, partition) })
	}
	wg.Wait()
}

func (r *Reconciler) readPartition(ctx context.Context, jobs []*job.Job) {
	for len(jobs) > 0 {
		batch, began := jobs[:min(len(jobs), batchMax)], time.Now()
		jobs = jobs[len(batch):]
		if err := r.request(ctx, batch, settling); err != nil && time.Since(began) >= r.cfg.Timeout {
			r.fail(jobs, err)
			return
		}
	}
}

// fail lets jobs be retried that were not read.
func (r *Reconciler) fail(jobs []*job.Job, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, j := range jobs {
		if r.has(j) {
			r.openings.failed(j, err, now)
		}
	}
}

func partitionOf(j *job.Job) int { return int(j.Partition) }
