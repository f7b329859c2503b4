package proof

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/scheduler"
)

// A Job describes a job of a scenario: its schedule, its policies, and the work of its function. Only
// Name and Every are required.
type Job struct {
	Name  string
	Every time.Duration // whole seconds; the ticks are its multiples since 1970
	Cron  bool          // the spec has */n in the seconds field, not @every; Every must divide a minute

	Overlap     scheduler.Overlap
	Misfire     scheduler.Misfire
	Takeover    scheduler.Takeover
	Interrupted scheduler.Interrupted
	Attempts    int
	Deadline    time.Duration
	Timeout     time.Duration
	Retry       scheduler.Retry
	Lease       time.Duration
	Replicas    int

	Work   time.Duration // the duration of the function
	Deaf   bool          // the function ignores its context
	Writes time.Duration // the interval of writes to the guarded resource; zero: none. One more follows the end of the context
	Fail   int           // the number of first tries that fail
}

// Spec returns the job's spec as the scheduler reads it.
func (j *Job) Spec() string {
	if j.Cron {
		return fmt.Sprintf("*/%d * * * * *", j.Every/time.Second)
	}
	return "@every " + j.Every.String()
}

// Ticks returns the job's ticks in [from, to), in Unix milliseconds. It does not use the code under
// test.
func (j *Job) Ticks(from, to time.Time) (ticks []int64) {
	step := j.Every.Milliseconds()
	for t := (from.UnixMilli() + step - 1) / step * step; t < to.UnixMilli(); t += step {
		ticks = append(ticks, t)
	}
	return ticks
}

// scheduled returns the job for the scheduler.
func (j *Job) scheduled(f scheduler.Func) scheduler.Job {
	return scheduler.Job{
		Name: j.Name, Spec: j.Spec(), Func: f, Overlap: j.Overlap, Misfire: j.Misfire, Takeover: j.Takeover,
		Attempts: j.Attempts, Interrupted: j.Interrupted, Deadline: j.Deadline, Timeout: j.Timeout, Retry: j.Retry, Lease: j.Lease,
		Replicas: j.Replicas,
	}
}

// A Node is the configuration of one process. Only Name and Jobs are required. A Cluster sets the
// addresses.
type Node struct {
	Name      string
	Store     string
	Witness   string
	Namespace string
	Recipe    Recipe
	Jobs      []Job

	Offset      time.Duration // the error of its clock
	Grace       time.Duration // of its drain
	CancelGrace time.Duration
	Timeout     time.Duration // of one request to the store
	Verbose     bool          // the node also logs the ticks that it takes for decided by others
}

func (n *Node) level() zapcore.Level {
	if n.Verbose {
		return zap.DebugLevel
	}
	return zap.InfoLevel
}

// A Recipe is the way in which members decide which of them runs a tick.
type Recipe string

// The recipes. The zero value is cronce. The others are the usual recipes.
const (
	Lease      Recipe = ""
	ClaimTick  Recipe = "claim" // SET job:tick NX PX by a client that repeats requests
	LockByName Recipe = "lock"  // SET job NX PX, run, DEL
)
