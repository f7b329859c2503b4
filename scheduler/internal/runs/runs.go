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
)

// A Dispatcher claims ticks. Runs calls it without holding a mutex.
type Dispatcher interface {
	// Vacated is called when a function has returned: its slot is free.
	Vacated()
	// Ended is called with the store's answer to the end of a run, once per run.
	Ended(a *Attempt, e series.EndAnswer)
	// EndRefused is called when a job no longer waits for the end of a run, because the
	// store refuses the end and takes all else.
	EndRefused(a *Attempt)
}

// Events are queued for the log: no method waits for a logger.
type Events interface {
	RunStarted(a *Attempt)
	TryFailed(a *Attempt, try int, f *Failure)
	RunFinished(a *Attempt, outcome string, began time.Time, f *Failure)
	RenewalLate(a *Attempt, left time.Duration)
	LeaseLost(a *Attempt)
	IgnoresContext(a *Attempt)
}

// A Work is what an attempt does. Do may be called several times, one after the other.
// Ended is called once after the last of them, also if that panicked or ended its goroutine; it does not wait.
type Work interface {
	Do(ctx context.Context) error
	Ended()
}

// Config is what Runs need. All fields are required.
type Config struct {
	Store       EndStore
	Refuses     func(err error) bool       // reports whether the store answered an end, and refuses it
	EndAnswered func(shard int, err error) // is called after each request with ends; nil: the store answered
	EndTimeout  time.Duration              // of one request with ends
	Dispatcher  Dispatcher
	Events      Events
	Work        func(a *Attempt) Work // prepares the work of an attempt
	Open        func(j *job.Job)      // lets a job be opened soon
	Reached     func(now time.Time)   // notes that the store answered
	Changed     signal.Signal         // raised in a drain when Unfinished may have changed
	CancelGrace time.Duration         // how long a run may go on after its context ended
}

// Runs are the attempts of a node that have not ended. They are safe for concurrent use.
type Runs struct {
	cfg        Config
	born       time.Time
	starting   atomic.Int64  // claims that may lead to a start, and attempts that have not begun
	unanswered atomic.Int64  // attempts whose end the store has not answered
	draining   chan struct{} // closed by Drain
	ends       ends

	mu        sync.Mutex
	alive     []*Attempt            // whose functions have not returned, in no order
	refused   map[uint32][]*Attempt // by the number of the job, whose ends the store refuses for longer than their leases
	over      bool                  // the grace of a drain is over: nothing begins any more
	inspected time.Time
}

// New returns Runs without an attempt.
func New(cfg Config) *Runs {
	return &Runs{
		cfg: cfg, born: time.Now(), draining: make(chan struct{}), refused: map[uint32][]*Attempt{},
		ends: ends{store: cfg.Store, refuses: cfg.Refuses, answered: cfg.EndAnswered, timeout: cfg.EndTimeout},
	}
}

// Expect notes that n claims were sent. They count as starts until Start is called with
// their answers.
func (r *Runs) Expect(n int) { r.starting.Add(int64(n)) }

// Start registers granted attempts and starts them, when their ticks are there. They are
// the answer to so many claims. Their ends are repeated until life ends.
func (r *Runs) Start(life context.Context, granted []*Attempt, claims int) {
	r.mu.Lock()
	for _, a := range granted {
		a.runs, a.life = r, life
		a.Void = a.Void || r.over
		a.place = len(r.alive)
		r.alive = append(r.alive, a)
	}
	r.mu.Unlock()
	r.unanswered.Add(int64(len(granted)))
	r.starting.Add(int64(len(granted) - claims))
	start(granted)
}

// startMax is how many attempts are started before they may begin. Short ones end then,
// and the next use the memory they used while the processor still has it at hand.
const startMax = 128

// start starts each attempt when its tick is there. Run does not wait for them: a drain
// leaves those that ignore their context.
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
	r.cfg.Dispatcher.Vacated()
	r.changed()
}

// Replace ends the contexts of this node's runs of a job whose ticks are before newer,
// which waits for their end. Runs of other nodes learn of it through their renewal.
func (r *Runs) Replace(j *job.Job, newer int64) {
	var older []*Attempt
	r.mu.Lock()
	for _, a := range r.alive {
		if a.Job.No == j.No && a.Tick < newer {
			a.replaced = true
			older = append(older, a)
		}
	}
	r.mu.Unlock()
	for _, a := range older {
		a.Lease.Cancel(ErrReplaced)
	}
}

// changed lets a drain look whether it is over.
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
