package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/lock"
)

// A Job is a function with a spec. Every node registers the same jobs; for each
// tick one node runs the function. Only Name, Func, and Spec or At are required.
type Job struct {
	// Name is the job's identity in the cluster: [A-Za-z0-9][A-Za-z0-9._-]{0,127}.
	Name string
	// Spec says when: 5 to 7 cron fields, @daily and the like, or @every 90s. A
	// leading CRON_TZ=Zone names its zone. H is a value that a hash of Name chooses: see
	// spec.ForJob.
	Spec string
	// At is the only tick, a whole second; Spec is empty then. Zero: Spec has the ticks.
	At time.Time
	// NotBefore is the first instant that may be a tick, a whole second. Zero: no bound.
	NotBefore time.Time
	// Until is the first instant that may be no tick any more, a whole second. Zero: no bound.
	Until time.Time
	// Every keeps each so many-th tick of Spec, counted from NotBefore, which it needs: the first is
	// kept. It is 2 to 1000. Zero: each tick is kept.
	Every int
	// Exclude are whole days of the zone without ticks: dates (2026-12-25), dates from the first to
	// the last (2026-12-24..2027-01-01), days of the week (SAT). They count for Every. Empty: none.
	Exclude []string
	// Func is the work. Its context ends, with a cause, when the lease is lost
	// (lock.ErrLost), on ErrTimeout, ErrReplaced or ErrDrained. A nil error is
	// success; a panic is recovered and is a failure, and so is runtime.Goexit. Errors
	// are failures but for Skip; see also Permanent and RetryAfter.
	Func Func
	// Middleware wraps Func, inside Config.Middleware: the first is the outermost.
	// Empty: none.
	Middleware []Middleware

	// Overlap says what happens to a tick while an earlier run is alive. Zero: OverlapSkip.
	Overlap Overlap
	// Misfire says what happens to ticks that no node could claim in time. Zero: MisfireOnce.
	Misfire Misfire
	// Takeover says what happens to a tick whose node died. Zero: TakeoverLost.
	Takeover Takeover
	// Attempts caps the attempts of one tick, after takeovers and drains. Zero: 3.
	Attempts int
	// Window is how long after its instant another attempt of a tick may start. Zero: 1h.
	Window time.Duration
	// Interrupted says what happens to a run that a drain ended. Zero: InterruptedRerun.
	Interrupted Interrupted
	// Deadline is how late a tick's first attempt may start. Zero: the distance to
	// the next tick, within 1s to 1h; under MisfireAll ten times that.
	Deadline time.Duration
	// Timeout bounds all tries of one attempt. Zero: none.
	Timeout time.Duration
	// Retry repeats a failed function inside one attempt. Zero: no repeats.
	Retry Retry
	// Jitter delays each tick by a hash of job and tick, the same on all nodes,
	// up to this and never into the next tick; it must be below the interval.
	// Zero: none.
	Jitter time.Duration
	// Lease is how long a dead node keeps its tick; it is renewed every third of
	// it. At least 500ms. Zero: the distance to the next tick, within 3s to 30s. With a
	// longer one a job stands still for several ticks when its node dies: see Node.Remarks.
	Lease time.Duration
	// Replicas is how many replicas of the store must have a grant before the
	// function is called, and each renewal before it counts; fewer are doubt, and
	// other nodes may try the tick too. It makes the loss of a tick's claim by a
	// failover less likely, not impossible. Zero: none are waited for. The store
	// must be a driver.Replicated.
	Replicas int
	// Quiet lets the node log the start of a run, and its end if it is ok, at level debug in
	// place of info. Other ends, and all warnings, are logged as without it.
	Quiet bool
}

// Func is the work of a job. It must return soon after ctx ended.
type Func = func(ctx context.Context, run *Run) error

// Retry repeats a failed function inside one attempt: same lease, same fence. A
// function that panicked is not repeated, nor is one that returned Skip or Permanent. No try
// begins after the job's Timeout or For: a run whose next try would ends without it, at once.
type Retry struct {
	Tries  int           // how often the function is called in all; 0 and 1: once
	Wait   time.Duration // before the second try, doubling up to Max. Zero: 1s
	Max    time.Duration // the longest wait, but for RetryAfter. Zero: 1m, or Wait if that is longer
	Jitter float64       // each wait is shorter by a random part, up to this share of it, 0 to 1. Zero: none is
	For    time.Duration // how long after the beginning of the first try another one may begin. Zero: no bound
}

// Overlap is what happens to a tick while an earlier run of its job is alive.
type Overlap uint8

// The overlap policies.
const (
	OverlapSkip    Overlap = iota // the tick is skipped
	OverlapQueue                  // the latest such tick runs when the run ends
	OverlapAllow                  // both run
	OverlapReplace                // the context of the run is ended, then the latest such tick runs
)

// Misfire is what happens to ticks that passed while no node could claim them.
type Misfire uint8

// The misfire policies.
const (
	MisfireOnce Misfire = iota // the latest of them runs, if inside its deadline
	MisfireSkip                // none runs: a tick more than a second late is missed
	MisfireAll                 // the latest ten run, oldest first, one after the other unless OverlapAllow
)

// Takeover is what happens to a tick whose node died in the middle.
type Takeover uint8

// The takeover policies.
const (
	TakeoverLost  Takeover = iota // it is recorded as lost
	TakeoverRerun                 // another node runs it again, with a higher fence
)

// Interrupted is what happens to a run that a drain had to end.
type Interrupted uint8

// The policies for interrupted runs.
const (
	InterruptedRerun Interrupted = iota // another node runs the tick again
	InterruptedLost                     // it is recorded as done, with the outcome interrupted
)

// A Run gives a job's function which tick it runs, and by which right.
type Run struct {
	ID      string    // namespace/job@tick: the same for each attempt; the idempotency key for the outside world
	Job     string    // the job's name
	Node    string    // this node
	Tick    time.Time // the scheduled instant, UTC, before jitter
	Fence   int64     // grows with each grant of the job: give it to whatever must refuse a paused holder's late write
	Attempt int       // 1, or more after a takeover
	Last    time.Time // the latest tick of the job that ended ok; zero if none
	logger  *slog.Logger
	lease   *lock.Lease
	output  *runOutput // nil: it is not kept
}

// Logger is the node's logger with the run's keys. Its lines go to Config.Logger in the order of
// the node's, through a queue: they do not make the run wait, and are lost if the logger hangs.
// The methods of a slog.LogValuer are called at once. Other values are read when the line is
// written: log a copy of a value that changes later.
func (r *Run) Logger() *slog.Logger {
	if r.logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.logger.With(slog.String("job", r.Job),
		tick(r.Tick.UnixMilli()), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Fence))
}

// Check returns nil while the run's lease may be trusted. It reads the clock
// itself: call it right before what cannot be taken back.
func (r *Run) Check() error {
	if r.lease == nil {
		return nil
	}
	return r.lease.Check()
}

// Deadline returns until when the run's lease may be trusted, unless it is renewed, which happens
// every third of it until the function has returned. Zero: the run has no lease, as in a test that
// makes one. Something that must not outlive the right to run, such as another process, needs it.
func (r *Run) Deadline() time.Time {
	if r.lease == nil {
		return time.Time{}
	}
	return r.lease.Deadline()
}
