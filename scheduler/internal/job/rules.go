package job

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// Rules are the policies of a job with their defaults filled in.
type Rules struct {
	Overlap  series.Overlap
	Policy   policy.Record // overlap, misfire, deadline and jitter, as the store records them
	Recorded string        // the text of Policy
	Rerun    bool          // a tick whose node died runs again
	GiveBack bool          // a run that a drain interrupted may run again
	Attempts int
	Window   time.Duration
	Timeout  time.Duration // 0: none
	Retry    Retry
	Lease    time.Duration // 0: from the interval, see LeaseOf
	Replicas int
	Quiet    bool // runs that end well are logged at level debug
}

// Retry repeats a failed function inside one attempt.
type Retry struct {
	Tries     int // 0 and 1: once
	Wait, Max time.Duration
	Jitter    float64       // the share of a wait by which it may be shorter
	For       time.Duration // how long after the first try the last one may begin; 0: no bound
}

// Backlog reports whether missed ticks run one after the other, oldest first.
func (r *Rules) Backlog() bool { return r.Policy.Misfire == policy.All }

// Jitter bounds how much later than its instant a tick is due.
func (r *Rules) Jitter() time.Duration { return r.Policy.Jitter }

// StartWithin returns how late the first attempt of a tick may start, and the reason that
// is recorded for a later one. The interval is 0 for the last tick of a spec.
func (r *Rules) StartWithin(interval time.Duration) (within time.Duration, reason string) {
	return r.Policy.Within(interval), r.Late()
}

// The bounds of a lease that follows the interval.
const (
	MinLease = 3 * time.Second
	maxLease = 30 * time.Second
)

// LeaseOf returns for how long a tick is leased. The interval is 0 for the last tick of a
// spec.
func (r *Rules) LeaseOf(interval time.Duration) time.Duration {
	switch {
	case r.Lease != 0:
		return r.Lease
	case interval == 0:
		return maxLease
	}
	return min(max(interval, MinLease), maxLease)
}

// Late is the reason that is recorded for a tick whose first attempt comes too late.
func (r *Rules) Late() string {
	if r.Policy.Misfire == policy.Skip {
		return series.ReasonMisfire
	}
	return series.ReasonDeadline
}
