package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Job is a function with a spec. Every node registers the same jobs; for each
// tick one node runs the function. Only Name, Func, and Spec or At are required.
type Job struct {
	// Name is the job's identity in the cluster: [A-Za-z0-9][A-Za-z0-9._-]{0,127}.
	Name string
	// Spec is the schedule: 5 to 7 cron fields, @daily and the like, or @every 90s. A leading
	// CRON_TZ=Zone names its zone. H stands for a value that a hash of Name chooses: see
	// spec.ForJob.
	Spec string
	// At is the only tick, a whole second; Spec must be empty then. Zero: Spec has the ticks.
	At time.Time
	// NotBefore is the first instant that may be a tick, a whole second. Zero: no lower bound.
	NotBefore time.Time
	// Until is the first instant that may no longer be a tick, a whole second. Zero: no upper
	// bound.
	Until time.Time
	// Every n, from 2 to 1000, keeps only each n-th tick of Spec, counted from NotBefore, which it
	// requires. The first tick is kept. Zero: every tick is kept.
	Every int
	// Exclude lists whole days of the zone without ticks: dates (2026-12-25), ranges of dates that
	// include both ends (2026-12-24..2027-01-01), and days of the week (SAT). Every counts the
	// excluded ticks too. Empty: none.
	Exclude []string
	// Func is the work. Its context ends, with a cause, when the lease is lost (lock.ErrLost), or
	// with ErrTimeout, ErrReplaced, ErrCancelled or ErrDrained. A nil error is success, also after ctx has ended. Any other error is a
	// failure, except Skip; see also Permanent and RetryAfter. A panic and runtime.Goexit are
	// recovered and are failures.
	Func Func
	// Middleware wraps Func, inside Config.Middleware: the first is the outermost.
	// Empty: none.
	Middleware []Middleware

	// Overlap decides about a tick while an earlier run is alive. Zero: OverlapSkip.
	Overlap Overlap
	// Misfire decides about ticks that no node could claim in time. Zero: MisfireOnce.
	Misfire Misfire
	// Takeover decides about a tick whose node died. Zero: TakeoverLost.
	Takeover Takeover
	// Attempts limits the attempts of one tick after takeovers and drains. Zero: 3.
	Attempts int
	// Window is how long after its instant a further attempt of a tick, or a shard, may start. Zero: 1h.
	Window time.Duration
	// Interrupted decides about a run that a drain ended. Zero: InterruptedRerun.
	Interrupted Interrupted
	// Deadline is how late after its jitter a tick's first attempt may start. Zero: the distance to the next
	// tick, at least 1s and at most 1h. Under MisfireAll it is ten times the distance, at least 10s and without an
	// upper bound; under MisfireSkip 1s; with Broadcast at most 1m.
	Deadline time.Duration
	// Timeout bounds all tries of one attempt together. Zero: no timeout.
	Timeout time.Duration
	// Retry repeats a failed function inside one attempt. Zero: no repeats.
	Retry Retry
	// Jitter is the upper bound of a delay of each tick. A hash of job and tick chooses the delay,
	// so it is the same on all nodes. A tick is never delayed into the next one: Jitter must be
	// below the interval. Zero: none.
	Jitter time.Duration
	// Lease is how long a dead node keeps its tick, at least 500ms. The node renews the lease every
	// third of it. If it is longer than the interval, the job misses several ticks when its node
	// dies: see Node.Remarks. Zero: the distance to the next tick, at least 3s and at most 30s.
	Lease time.Duration
	// Replicas is the number of replicas of the store that must have a grant before the function is
	// called, and each renewal before it counts. Fewer are doubt, and other nodes may then try the
	// tick too. Replicas makes it less likely that a failover loses a claim, but cannot exclude it.
	// The store must be a driver.Replicated. Zero: the node waits for no replica.
	Replicas int
	// Shards divides each tick into so many parts, which the nodes run at the same time: Func is called once
	// for each, with its number in Run.Shard. Each has its own lease, fence, attempts and takeover, and the tick ends with the
	// last of them. At most 1,000; the store must be a series.Sharder. OverlapAllow is refused. The node that
	// decides a tick fixes its number of shards: a change moves later ticks only. Zero: a tick is one run.
	Shards int
	// ShardParams are texts for the first shards, which get them as Run.Param: each at most 64 bytes that print, all together
	// at most 8 KiB. Empty: none.
	ShardParams []string
	// Broadcast lets each live node run each tick once: a node that is in the store's list of nodes when the tick is due.
	// Each runs a shard of its own: Run.Shards is how many nodes are expected, and Run.Param the node. A node that dies is not
	// replaced: the tick names it as lost, or as missed if it did not start by the Deadline, which is at most a minute by default. At most
	// 1,000 nodes; the store must be a series.Sharder. Shards, Window, Attempts, TakeoverRerun, MisfireAll and OverlapAllow are refused, and an
	// interrupted run is not repeated. False: one node runs a tick, or each shard of it.
	Broadcast bool
	// ShardFail decides when a tick of a job with Shards or Broadcast has failed. Zero: FailAny.
	ShardFail ShardFail
	// Limit bounds how many runs go on at once, over all jobs that name the same limit and all nodes. Each
	// try, and each shard, has a place of its own: it waits for one before Func is called, inside all
	// Middleware, and gives it back when Func returns. A run that waits has begun: it has a slot of its
	// node, its lease is renewed, and Timeout and a drain end its wait. If a run loses its place, the context of Func
	// ends with lock.ErrLost. Above 1 the store must be a driver.Sharer. Zero: no limit.
	Limit Limit
	// Quiet makes the node log the start of a run, and its end if it is ok, at level debug in place
	// of info. Other ends and all warnings are logged at their usual level.
	Quiet bool
}

// Func is the work of a job. It must return soon after ctx ended.
type Func = func(ctx context.Context, run *Run) error

// Retry repeats a failed function inside one attempt, with the same lease and fence. A function
// that panicked, or returned Skip or Permanent, is not repeated. No try begins after Job.Timeout or
// For: if the wait would end later, the run ends at once instead.
type Retry struct {
	Tries  int           // how often the function is called at most; 0 and 1: once
	Wait   time.Duration // before the second try, doubling up to Max. Zero: 1s
	Max    time.Duration // the longest wait, except for RetryAfter. Zero: 1m, or Wait if that is longer
	Jitter float64       // each wait is shortened by a random part, up to this share of it, 0 to 1. Zero: not shortened
	For    time.Duration // how long after the first try began another one may begin. Zero: no bound
}

// Overlap decides about a tick while an earlier run of its job is alive.
type Overlap uint8

// The overlap policies.
const (
	OverlapSkip    Overlap = iota // the tick is skipped
	OverlapQueue                  // the latest of the waiting ticks runs when the run ends
	OverlapAllow                  // both run
	OverlapReplace                // the context of the run is cancelled, then the latest waiting tick runs
)

// Misfire decides about ticks that passed while no node could claim them.
type Misfire uint8

// The misfire policies.
const (
	MisfireOnce Misfire = iota // the latest of them runs, if it is inside its deadline
	MisfireSkip                // none runs: a tick more than a second late is missed
	MisfireAll                 // the latest ten run, oldest first, one at a time unless OverlapAllow
)

// Takeover decides about a tick whose node died during the run.
type Takeover uint8

// The takeover policies.
const (
	TakeoverLost  Takeover = iota // it is recorded as lost
	TakeoverRerun                 // another node runs it again, with a higher fence
)

// Interrupted decides about a run that a drain had to end.
type Interrupted uint8

// The policies for interrupted runs.
const (
	InterruptedRerun Interrupted = iota // another node runs the tick again
	InterruptedLost                     // it is recorded as done, with the outcome interrupted
)

// ShardFail decides when a tick that is divided into shards has failed.
type ShardFail uint8

// The policies for failed shards.
const (
	FailAny ShardFail = iota // if a shard was not ok
	FailAll                  // if no shard was ok
)

// A Run describes to a job's function the tick that it runs and the lease that it runs under. A manual
// run, which an operator requested, belongs to no tick: see Run.Manual.
type Run struct {
	ID      string    // namespace/job@tick, the same for each attempt: the idempotency key for other systems. A manual run has an instant of its own in place of the tick. A shard has #shard behind it
	Job     string    // the job's name
	Node    string    // this node
	Tick    time.Time // the scheduled instant, UTC, before jitter. Of a run of a backfill: the earlier tick whose work it does. Of any other manual run: the instant of the request
	Fence   int64     // grows with each grant of the job: pass it to resources that can refuse the late write of a paused process
	Attempt int       // 1, or higher after a takeover or a drain
	Last    time.Time // the latest tick of the job that ended ok; zero if there is none. It is later than Tick in most runs of a backfill
	// Backfill reports that the run does the work of Tick for a backfill: an operator requested the work of
	// ticks that are decided, and each gets a manual run. Select data by Tick, and recognize a repeated attempt by ID.
	Backfill bool
	// Of a job with Job.Shards: the index of the shard, how many shards the tick has, and the shard's text. Each shard has its own
	// Fence, higher than every fence of earlier ticks. TickFence is the same for all shards of a tick, and lower than their fences.
	Shard, Shards int
	Param         string
	TickFence     int64

	number int64 // Unix ms: the tick, or the own instant of a manual run, as in ID; 0 if a test made the Run
	logger *slog.Logger
	lease  *claimer.Lease
	output *runOutput // nil: outputs are not kept
}

// Logger returns the node's logger with the run's keys. Its lines go to Config.Logger through the
// node's queue and in its order. Logging does not make the run wait; if the logger hangs, lines are
// lost. The methods of a slog.LogValuer are called at once. Other values are read when the line is
// written: log a copy of a value that changes later.
func (r *Run) Logger() *slog.Logger {
	if r.logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return r.logger.With(slog.String("job", r.Job),
		tick(cmp.Or(r.number, r.Tick.UnixMilli())), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Fence), shardKey(r.Shard, r.Shards))
}

// Manual reports whether an operator requested the run. The instant in its ID then has a part of a
// second, and is a tick of no spec. So has its Tick, but in a Backfill.
func (r *Run) Manual() bool { return r.Backfill || spec.Manual(r.Tick.UnixMilli()) }

// Check returns nil while the run's lease can be trusted. It reads the clock itself: call it right
// before an action that cannot be undone.
func (r *Run) Check() error {
	if r.lease == nil {
		return nil
	}
	return r.lease.Check()
}

// Deadline returns the time until which the run's lease can be trusted if it is not renewed. The
// node renews it every third of its length until the function has returned. Use Deadline to bound
// anything that must not outlive the right to run, such as another process. Deadline returns the
// zero time if the run has no lease, as in a test that makes a Run itself.
func (r *Run) Deadline() time.Time {
	if r.lease == nil {
		return time.Time{}
	}
	return r.lease.Deadline()
}
