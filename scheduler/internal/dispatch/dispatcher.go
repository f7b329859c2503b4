package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// Runs executes granted ticks. The dispatcher calls it without holding its mutex.
type Runs interface {
	// Expect announces that n claims are about to be sent.
	Expect(n int)
	// Start starts the attempts that were granted in answer to this number of claims of d. Requests
	// that report their ends are repeated until life ends.
	Start(life context.Context, d runs.Dispatcher, granted []*runs.Attempt, claims int)
	// Replace cancels the contexts of runs of a job with ticks before newer.
	Replace(j *job.Job, newer int64)
}

// Health is notified of answers and failures of the store.
type Health interface {
	Answered(p health.Part, err error)
}

// Events queues events for the log: no method waits for a logger.
type Events interface {
	claims.Events
	// NamesWinners reports whether the log has the lines of Passed.
	NamesWinners() bool
	Unreplicated(s claims.Short)
	StoreForgot(r claims.Regressed)
	FenceAhead(f claims.Fenced)
}

// Config has the dependencies and settings of a Dispatcher. All fields but Peeker and Groups are required.
type Config struct {
	Runs     Runs
	Claims   claims.Config
	Claimer  *claimer.Claimer
	Peeker   series.Peeker      // nil: the store does not support peeking
	Groups   series.GroupPeeker // nil: the store does not keep groups
	Clock    *clock.Clock
	Health   Health
	Events   Events
	Open     func(j *job.Job)    // requests that a job be opened soon
	Maintain func(now time.Time) // is called whenever the dispatcher wakes; must not block
	Learn    func(p uint16)      // requests that all jobs of a partition be read soon
	Beat     signal.Signal       // raised when the clock may be behind the store's, or the list of nodes is needed
	Local    bool                // the store is a series.Local
	Changed  signal.Signal       // raised in a drain when InDoubt may have changed
}

// A Dispatcher sends claims when they are due. It is safe for concurrent use.
type Dispatcher struct {
	cfg      Config
	life     context.Context // of requests
	stopped  chan struct{}   // closed by Stop
	draining atomic.Bool
	wg       sync.WaitGroup // goroutines that wait for the timer, and requests without an answer

	mu      sync.Mutex
	claims  *claims.Claims
	timer   timer
	lead    lead
	sending map[*request]struct{} // requests without an answer
	answers Answers
	woke    time.Time // when the dispatcher woke last; zero: not yet
}

// New returns a Dispatcher without jobs. It starts nothing.
func New(cfg Config) *Dispatcher {
	return &Dispatcher{cfg: cfg, stopped: make(chan struct{}), claims: claims.New(cfg.Claims), sending: map[*request]struct{}{}}
}

// Change adds jobs, whose numbers must be the next free ones, removes jobs, and replaces the jobs
// that have the numbers of the replacements, in one step.
func (d *Dispatcher) Change(added, removed, replaced []*job.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now().UnixMilli() // used until the cluster's clock is known; then Restart corrects it
	if d.cfg.Clock.Ready() {
		now = d.cfg.Clock.Ms()
	}
	for _, j := range added {
		d.claims.Add(j, now)
	}
	if len(removed)+len(replaced) > 0 {
		d.claims.Change(removed, replaced, now)
	}
	d.arm()
}

// Restart sets all jobs to the ticks around the time of the cluster clock.
func (d *Dispatcher) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claims.Restart(d.cfg.Clock.Ms())
}

// Jobs returns the number of job numbers in use. Removed jobs keep their numbers.
func (d *Dispatcher) Jobs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claims.Jobs()
}

// Job returns a job by its number.
func (d *Dispatcher) Job(no int) claims.Known {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claims.Job(no)
}

// Known returns the jobs that were not removed with numbers in [from, to).
func (d *Dispatcher) Known(from, to int) (all []claims.Known) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for no := from; no < to; no++ {
		if known := d.claims.Job(no); known.Job != nil {
			all = append(all, known)
		}
	}
	return all
}

// Nodes sets the list of live nodes.
func (d *Dispatcher) Nodes(nodes rendezvous.Nodes) {
	d.mu.Lock()
	d.claims.Nodes(nodes)
	fx := d.claims.Effects()
	d.mu.Unlock()
	d.apply(fx)
}

// Shift moves all planned instants by a step of the clock.
func (d *Dispatcher) Shift(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claims.Shift(by.Milliseconds())
	d.arm()
}

// Drain stops new claims. Claims that may have been granted are repeated until they are answered.
// From now on Config.Changed is raised when InDoubt may have changed.
func (d *Dispatcher) Drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining.Store(true)
	d.claims.Drain(d.cfg.Clock.Ms())
	d.arm()
}

// Draining reports whether Drain was called.
func (d *Dispatcher) Draining() bool { return d.draining.Load() }

// InDoubt counts the claims that may be granted, and returns up to most of their names as job@tick.
// In a drain these are all claims that are on their way or will be sent again.
func (d *Dispatcher) InDoubt(most int) (names []string, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, count = d.claims.InDoubt(most)
	for r := range d.sending {
		count += len(r.claims)
		for _, p := range r.claims[:min(len(r.claims), most-len(names))] {
			names = append(names, p.String())
		}
	}
	return names, count
}

// changed notifies a drain that it may be over.
func (d *Dispatcher) changed() {
	if d.draining.Load() {
		d.cfg.Changed.Raise()
	}
}

// Woke returns when the dispatcher last woke, which is at most a second ago while all is well.
// Zero: not yet.
func (d *Dispatcher) Woke() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.woke
}

// MaxIdle bounds Idle.
const MaxIdle = time.Hour

// Idle returns how long nothing can happen on a local store: no run of this node is alive, no claim
// is on its way or unsettled, and nothing is due. It returns 0 for any other store, because only
// requests reveal a step of its clock or the actions of other nodes.
func (d *Dispatcher) Idle() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.cfg.Local || d.draining.Load() || len(d.sending) > 0 || d.claims.Unsettled() > 0 || d.claims.Free() < d.cfg.Claims.Slots {
		return 0
	}
	return d.sleep()
}

// FenceAhead returns the count of the jobs that have a fence more than a day ahead, and the names of
// up to most of them.
func (d *Dispatcher) FenceAhead(most int) (names []string, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claims.FenceAhead(most)
}

// Answers has the number of answers to claims, by kind.
type Answers [series.KindOperator + 1]int64

// Answers returns the number of answers to claims, by kind.
func (d *Dispatcher) Answers() Answers {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answers
}

// Load returns the number of free slots, and the number of claims that have no verdict and are not
// on their way.
func (d *Dispatcher) Load() (free, pending int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.claims.Free(), d.claims.Unsettled()
}
