package verify

import (
	"math"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// QuietUntil returns the instant, in Unix milliseconds of the store's clock, until which no tick of a
// job without overdue ticks becomes overdue if its records do not change. It is 0 if that is not
// known, as without a state: the job must be judged each time. The grace is [DefaultGrace].
func (j *Judge) QuietUntil() int64 {
	s := j.p.options.State
	if s == nil {
		return 0
	}
	until, grace := int64(math.MaxInt64), DefaultGrace.Milliseconds()
	for i := range s.Runs {
		if s.Runs[i].State != series.RunOpen {
			return 0
		}
		until = min(until, s.Until(&s.Runs[i])+grace)
	}
	for _, uses := range j.p.revisions.byName {
		for _, r := range uses {
			if r.schedule == nil {
				return 0
			}
			if tick := r.schedule.NextMilli(max(s.Mark, r.First)); tick != 0 {
				until = min(until, r.earliest(tick)+grace)
			}
		}
	}
	return until
}

// earliest returns an instant up to which neither a tick nor a later one is past its deadline. A tick
// before a long gap can have a later deadline than the ticks after the gap.
func (r *revision) earliest(tick int64) int64 {
	at := r.deadline(tick)
	if next := r.schedule.NextMilli(tick); next != 0 {
		at = min(at, next+r.policies.Within(time.Second).Milliseconds())
	}
	return at
}
