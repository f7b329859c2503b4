package runs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/signal"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Dispatcher claims ticks. Runs calls it without holding a mutex.
type Dispatcher interface {
	// Vacated is called when a function has returned, so that its slot is free.
	Vacated()
	// Ended is called with the store's answer to the end of a run, once per run.
	Ended(a *Attempt, e series.EndAnswer)
	// EndRefused is called when a job stops waiting for the end of a run, because the store refuses
	// the end and accepts all other requests.
	EndRefused(a *Attempt)
}

// Events queues events for the log: no method waits for a logger.
type Events interface {
	RunStarted(a *Attempt)
	TryFailed(a *Attempt, try int, f *Failure, wait time.Duration)
	RunFinished(a *Attempt, outcome string, began time.Time, f *Failure)
	RenewalLate(a *Attempt, left time.Duration)
	LeaseLost(a *Attempt)
	IgnoresContext(a *Attempt)
}

// A Work is the work of an attempt. Do may be called several times, one after the other. Ended is
// called once after the last call, even if that call panicked or ended its goroutine; it must not
// block. Failed is whether it was a shard that failed for good.
type Work interface {
	Do(ctx context.Context) error
	Ended(failed bool)
}

// Config has the dependencies and settings of Runs. All fields are required.
type Config struct {
	Store       EndStore
	Refuses     func(err error) bool           // reports whether an error is the store's refusal of an end
	EndAnswered func(partition int, err error) // is called after each request with ends; nil error: the store answered
	EndTimeout  time.Duration                  // of one request with ends
	Events      Events
	Work        func(a *Attempt) Work // prepares the work of an attempt
	Open        func(j *job.Job)      // requests that a job be opened soon
	Changed     signal.Signal         // raised in a drain when Unfinished may have changed
	CancelGrace time.Duration         // how long a run may continue after its context ended
}

// Runs are the attempts of a node that have not ended. They are safe for concurrent use.
type Runs struct {
	cfg        Config
	born       time.Time
	starting   atomic.Int64  // claims that may lead to a start, plus attempts that have not begun
	unanswered atomic.Int64  // attempts whose ends the store has not answered
	draining   chan struct{} // closed by Drain
	ends       ends

	mu        sync.Mutex
	alive     []*Attempt            // attempts whose functions have not returned, in no order
	refused   map[uint32][]*Attempt // by job number: attempts whose ends the store has refused for longer than their leases
	over      bool                  // the grace of a drain is over: no attempt begins any more
	inspected time.Time
}

// New returns Runs without attempts.
func New(cfg Config) *Runs {
	return &Runs{
		cfg: cfg, born: time.Now(), draining: make(chan struct{}), refused: map[uint32][]*Attempt{},
		ends: ends{store: cfg.Store, refuses: cfg.Refuses, answered: cfg.EndAnswered, timeout: cfg.EndTimeout},
	}
}

// Expect records that n claims were sent. They count as starts until Start is called with their
// answers.
func (r *Runs) Expect(n int) { r.starting.Add(int64(n)) }

// Start registers the attempts that were granted in answer to this number of claims of the
// dispatcher, and starts each at its tick. Their ends are repeated until life ends.
func (r *Runs) Start(life context.Context, d Dispatcher, granted []*Attempt, claims int) {
	r.mu.Lock()
	for _, a := range granted {
		a.runs, a.dispatcher, a.life = r, d, life
		a.Void = a.Void || r.over
		a.place = len(r.alive)
		r.alive = append(r.alive, a)
	}
	r.mu.Unlock()
	r.unanswered.Add(int64(len(granted)))
	r.starting.Add(int64(len(granted) - claims))
	start(granted)
}

// startMax is the number of attempts that are started before they may begin. Short ones end then,
// and the next attempts reuse their memory while it is still in the processor's cache.
const startMax = 128

// start starts each attempt at its tick. Run does not wait for these goroutines, because a drain
// leaves attempts that ignore their context.
func start(all []*Attempt) {
	var early []*Attempt
	for i, a := range all {
		if a.Wait > 0 {
			early = append(early, a)
		} else {
			go a.execute()
		}
		if (i+1)%startMax == 0 {
			runtime.Gosched()
		}
	}
	if len(early) == 0 {
		return
	}
	wait := early[0].Wait
	for _, a := range early {
		wait = min(wait, a.Wait)
	}
	time.AfterFunc(wait, func() {
		for _, a := range early {
			a.Wait -= wait
		}
		start(early)
	})
}

// vacate removes an attempt whose function has returned, and frees its slot.
func (r *Runs) vacate(a *Attempt) {
	r.mu.Lock()
	last := r.alive[len(r.alive)-1]
	r.alive[a.place], last.place = last, a.place
	r.alive[len(r.alive)-1] = nil
	r.alive = r.alive[:len(r.alive)-1]
	r.mu.Unlock()
	a.dispatcher.Vacated()
	r.changed()
}

// Replace cancels the contexts of this node's runs of a job with ticks before newer, which waits
// for their end. The runs of other nodes are notified through their renewal. A tick does not replace
// a manual run.
func (r *Runs) Replace(j *job.Job, newer int64) {
	var older []*Attempt
	r.mu.Lock()
	for _, a := range r.alive {
		if a.Job.No == j.No && a.Tick < newer && !spec.Manual(a.Tick) {
			a.replaced = true
			older = append(older, a)
		}
	}
	r.mu.Unlock()
	for _, a := range older {
		a.Lease.Cancel(ErrReplaced)
	}
}

// changed notifies a drain that it may be over.
func (r *Runs) changed() {
	if r.drains() {
		r.cfg.Changed.Raise()
	}
}

// drains reports whether Drain was called.
func (r *Runs) drains() bool {
	select {
	case <-r.draining:
		return true
	default:
		return false
	}
}
