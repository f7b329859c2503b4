package job

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Former is a use of a former spec of a job, of which ticks may be undecided: those after
// Since, up to Until.
type Former struct {
	Spec         *spec.Schedule
	Revision     string
	Since, Until int64
	Policy       policy.Record
}

// Formers returns the former specs that the store has returned with a series. A spec was in
// force until it was seen last, or until the next one was there, if that came later. One that
// cannot be read is left out: verify reports it.
func Formers(s *series.Series) (all []Former) {
	for i := range s.Former {
		u := &s.Former[i]
		zone, err := time.LoadLocation(u.Zone)
		if err != nil {
			continue
		}
		text, err := spec.Parse(u.Spec, zone)
		if err != nil {
			continue
		}
		f := Former{Spec: text, Revision: u.Revision, Since: u.Since, Until: max(u.Last, next(s, u))}
		f.Policy, _ = policy.Parse(u.Policies) // what cannot be read is the default
		all = append(all, f)
	}
	return all
}

// next returns since when the spec that came after a use has been in force; 0: it came before
// the use.
func next(s *series.Series, u *series.RevisionUse) int64 {
	at := s.Since
	for i := range s.Former {
		if v := &s.Former[i]; v.Since > u.Since && (v.Since < at || at <= u.Since) {
			at = v.Since
		}
	}
	if at <= u.Since {
		return 0
	}
	return at
}

// Names reports whether the spec was in force for a tick.
func (f *Former) Names(tick int64) bool {
	return f.Since < tick && tick <= f.Until && f.Spec.PrevMilli(tick) == tick
}
