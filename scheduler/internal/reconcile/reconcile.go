// Package reconcile registers the jobs of a node in the store, and reads the state of all
// jobs in turn: so a run that no other node knows of, or a tick that was missed yesterday,
// is found without a leader.
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

// The rhythm of a node that has nothing else to do.
const (
	turnEvery   = 10 * time.Second
	firstTurn   = turnEvery + settling // when the others have noticed this node and have read their jobs again
	settling    = 2 * time.Second      // how old an undecided tick is before a turn claims it
	turnLeast   = 200                  // how many jobs a turn reads at least
	turnsPerRun = 60                   // in how many turns the nodes together read all jobs
	scanFactor  = 10                   // how many jobs a turn passes for each that it reads
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
	// Jobs returns how many numbers of jobs there are.
	Jobs() int
	// Job returns a job by its number.
	Job(no int) claims.Known
	// Opened takes what the store has of jobs. A tick claimed because no node has decided
	// it must be at least as old as slack.
	Opened(all []job.Opened, slack time.Duration)
	// Draining reports whether the node claims nothing more.
	Draining() bool
	// Idle returns for how long nothing can happen.
	Idle() time.Duration
}

// Health is notified of answers and failures of the store, and explains errors.
type Health interface {
	Answered(p health.Part, err error)
	Explain(err error) string
}

// Events are written to the log.
type Events interface {
	JobsNotOpen(count int, names string, cause error)
	JobsOpen()
	SpecsDiffer(j *job.Job, own, other string)
	MarkAhead(j *job.Job, mark int64)
	JobRetired(name, reason string)
}

// Config is what a Reconciler needs. All fields but Control are required.
type Config struct {
	Store      Store
	Control    series.Controlled // of the store; nil: jobs that were removed are not retired
	Node       string
	Shards     int
	Clock      *clock.Clock
	Revisions  *job.Revisions
	Dispatcher Dispatcher
	Health     Health
	Events     Events
	Opened     func(j *job.Job) // is called when the store has taken an opening of a job
	Timeout    time.Duration    // of one request
}

// A Reconciler opens jobs and reads their state. It is safe for concurrent use.
type Reconciler struct {
	cfg    Config
	open   signal.Signal // jobs are to be opened
	joined signal.Signal // a node joined

	mu        sync.Mutex
	openings  openings
	cursor    cursor
	nodes     rendezvous.Nodes
	other     map[*job.Job]string // the other revision that was logged
	differing []*job.Job          // whose other revision is to be logged
}

// New returns a Reconciler without a job. It starts nothing.
func New(cfg Config) *Reconciler {
	return &Reconciler{cfg: cfg, open: signal.New(), joined: signal.New(), nodes: rendezvous.Of(cfg.Node, nil), other: map[*job.Job]string{}}
}

// Open lets a job be opened soon, or the one that has taken its place. A job that was removed is
// not opened.
func (r *Reconciler) Open(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j = r.cfg.Dispatcher.Job(int(j.No)).Job; j != nil {
		r.openings.ask(j)
		r.open.Raise()
	}
}

// Forget forgets a job that was removed, or whose place another one has taken.
func (r *Reconciler) Forget(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openings.forget(j)
	delete(r.other, j)
}

// Nodes sets the nodes that were seen alive. If one joined, all jobs are read once: it may have
// other specs.
func (r *Reconciler) Nodes(nodes rendezvous.Nodes, joined bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = nodes
	if joined {
		r.cursor.readAll(r.cfg.Dispatcher.Jobs())
	}
}

// Joined lets the next turn begin at once.
func (r *Reconciler) Joined() { r.joined.Raise() }

// OpenAll opens all jobs that can be opened; Run tries the others again.
func (r *Reconciler) OpenAll(ctx context.Context) {
	jobs := r.cfg.Dispatcher.Jobs()
	r.mu.Lock()
	for no := range jobs {
		if j := r.cfg.Dispatcher.Job(no).Job; j != nil {
			r.openings.ask(j)
		}
	}
	r.mu.Unlock()
	r.openDue(ctx)
	if jobs > turnLeast {
		r.mu.Lock()
		r.cursor.at = int(rendezvous.Hash(r.cfg.Node) % uint64(jobs)) // not where the other nodes are
		r.mu.Unlock()
	}
}

// Run opens jobs that are not open and reads the state of all jobs in turn, until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	turn := time.NewTimer(firstTurn)
	defer turn.Stop()
	again := time.NewTimer(openPause)
	defer again.Stop()
	for {
		select {
		case <-turn.C:
			if r.cfg.Dispatcher.Draining() { // to open a job says that this node looks after it
				continue
			}
			if jobs := r.turn(r.cfg.Clock.Ms()); len(jobs) > 0 {
				r.read(ctx, jobs)
				if r.unopened() { // the tries of openDue may have ended long ago
					again.Reset(openPause)
				}
				r.logDiffering(ctx)
			}
			turn.Reset(max(turnEvery, r.cfg.Dispatcher.Idle()))
		case <-r.joined:
			turn.Reset(0)
		case <-r.open:
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

// turn takes the jobs that are read now.
func (r *Reconciler) turn(now int64) []*job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor.turn(r.cfg.Dispatcher, r.nodes.Count(), now)
}

// read reads the state of jobs, each shard by itself.
func (r *Reconciler) read(ctx context.Context, jobs []*job.Job) {
	var wg sync.WaitGroup
	for _, shard := range job.ByShard(r.cfg.Shards, jobs, shardOf) {
		wg.Go(func() {
			for batch := range slices.Chunk(shard, batchMax) {
				r.request(ctx, batch, settling)
			}
		})
	}
	wg.Wait()
}

func shardOf(j *job.Job) int { return int(j.Shard) }
