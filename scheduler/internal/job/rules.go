package job

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// Rules are the policies of a job with their defaults filled in.
type Rules struct {
	Overlap  series.Overlap
	Policy   policy.Record // the overlap, misfire, deadline and jitter policies, as the store records them
	Recorded string        // the text of Policy
	Rerun    bool          // a tick whose node died runs again
	GiveBack bool          // a run that a drain interrupted may run again
	Attempts int
	Window   time.Duration
	Timeout  time.Duration // 0: none
	Retry    Retry
	Lease    time.Duration // 0: derived from the interval, see LeaseOf
	Replicas int
	Quiet    bool   // runs that end ok are logged at level debug
	Shards   int    // how many parts a tick has; 0: it is not sharded, or a broadcast
	Params   string // the parameters of the first shards, one in each line
	FailAll  bool   // a sharded tick fails only if none of its shards is ok
}

// Retry repeats a failed function inside one attempt.
type Retry struct {
	Tries     int // how often the function is called at most; 0 and 1: once
	Wait, Max time.Duration
	Jitter    float64       // the share of a wait by which it may be shortened
	For       time.Duration // how long after the first try began the last one may begin; 0: no bound
}

// Backlog reports whether missed ticks run one after the other, oldest first.
func (r *Rules) Backlog() bool { return r.Policy.Misfire == policy.All }

// Jitter returns the upper bound of the time by which a tick is due after its instant.
func (r *Rules) Jitter() time.Duration { return r.Policy.Jitter }

// StartWithin returns how late the first attempt of a tick may start, and the reason that is
// recorded if it comes later. The interval is 0 for the last tick of a spec.
func (r *Rules) StartWithin(interval time.Duration) (within time.Duration, reason string) {
	return r.Policy.Within(interval), r.Late()
}

// Bounds of a lease that is derived from the interval.
const (
	MinLease = 3 * time.Second
	maxLease = 30 * time.Second
)

// LeaseOf returns the length of the lease of a tick. The interval is 0 for the last tick of a spec.
func (r *Rules) LeaseOf(interval time.Duration) time.Duration {
	switch {
	case r.Lease != 0:
		return r.Lease
	case interval == 0:
		return maxLease
	}
	return min(max(interval, MinLease), maxLease)
}

// Late returns the reason that is recorded for a tick whose first attempt comes too late.
func (r *Rules) Late() string {
	if r.Policy.Misfire == policy.Skip {
		return series.ReasonMisfire
	}
	return series.ReasonDeadline
}
