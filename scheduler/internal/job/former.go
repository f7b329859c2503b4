package job

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Former is a period in which a former spec of a job was in force, and whose ticks may be
// undecided: those after Since, up to and including Until.
type Former struct {
	Spec         *spec.Schedule
	Revision     string
	Since, Until int64
	Policy       policy.Record
}

// Formers returns the former specs that the store has returned with a series. A spec was in force
// until it was last seen, or until the next spec came into force if that was later. A spec that
// cannot be parsed is left out: verify reports it.
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
		f.Policy, _ = policy.Parse(u.Policies) // an unreadable policy becomes the default
		all = append(all, f)
	}
	return all
}

// next returns the time since when the spec after a use has been in force, or 0 if it came before
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

// Names reports whether tick is a tick of the spec while it was in force.
func (f *Former) Names(tick int64) bool {
	return f.Since < tick && tick <= f.Until && f.Spec.PrevMilli(tick) == tick
}
