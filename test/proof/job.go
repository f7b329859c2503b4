package proof

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/scheduler"
)

// A Job is what a scenario wants nodes to run: when, by which policies, and what
// its function does meanwhile. Only Name and Every are required.
type Job struct {
	Name  string
	Every time.Duration // whole seconds; its ticks are the multiples since 1970
	Cron  bool          // as */n in the seconds field, not as @every: Every must divide a minute

	Overlap     scheduler.Overlap
	Misfire     scheduler.Misfire
	Takeover    scheduler.Takeover
	Interrupted scheduler.Interrupted
	Attempts    int
	Deadline    time.Duration
	Timeout     time.Duration
	Retry       scheduler.Retry
	Lease       time.Duration

	Work   time.Duration // how long the function takes
	Deaf   bool          // it ignores its context
	Writes time.Duration // it writes to its guarded resource this often, and once more when its context has ended
	Fail   int           // its first tries that fail
}

// Spec is the job's spec in the scheduler's words.
func (j *Job) Spec() string {
	if j.Cron {
		return fmt.Sprintf("*/%d * * * * *", j.Every/time.Second)
	}
	return "@every " + j.Every.String()
}

// Ticks returns the job's ticks in [from, to), in Unix milliseconds. It counts by
// arithmetic of its own: what is judged here has no say.
func (j *Job) Ticks(from, to time.Time) (ticks []int64) {
	step := j.Every.Milliseconds()
	for t := (from.UnixMilli() + step - 1) / step * step; t < to.UnixMilli(); t += step {
		ticks = append(ticks, t)
	}
	return ticks
}

// scheduled is the job as the scheduler wants it.
func (j *Job) scheduled(f scheduler.Func) scheduler.Job {
	return scheduler.Job{
		Name: j.Name, Spec: j.Spec(), Func: f, Overlap: j.Overlap, Misfire: j.Misfire, Takeover: j.Takeover,
		Attempts: j.Attempts, Interrupted: j.Interrupted, Deadline: j.Deadline, Timeout: j.Timeout, Retry: j.Retry, Lease: j.Lease,
	}
}

// A Node is what a process is started with. Only Name and Jobs are required; a
// Cluster fills in the addresses.
type Node struct {
	Name      string
	Store     string
	Witness   string
	Namespace string
	Recipe    Recipe
	Jobs      []Job

	Offset      time.Duration // how far its clock is off
	Grace       time.Duration // of its drain
	CancelGrace time.Duration
	Timeout     time.Duration // of one request to the store
	Verbose     bool          // it reports also which ticks it believes to be another's
}

func (n *Node) level() zapcore.Level {
	if n.Verbose {
		return zap.DebugLevel
	}
	return zap.InfoLevel
}

// Recipe is how a member decides which of them runs a tick.
type Recipe string

// The recipes. The zero value is what this repository is about, the others are
// what everyone writes.
const (
	Lease      Recipe = ""
	ClaimTick  Recipe = "claim" // SET job:tick NX PX by a client that repeats requests
	LockByName Recipe = "lock"  // SET job NX PX, run, DEL
)
