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

// Formers returns the former specs that may have undecided ticks, of those that the store has
// returned with a series. A node is seen with a spec less often than it decides ticks: specs that
// were seen within unseen of the last sighting were all in use then, and in force until the spec of
// the series replaced them. An older one was in force until it was last seen, or until the next spec
// came into force if that was later. A spec that cannot be parsed is left out: verify reports it.
func Formers(s *series.Series, unseen time.Duration) (all []Former) {
	latest := int64(0)
	for i := range s.Former {
		latest = max(latest, s.Former[i].Last)
	}
	for i := range s.Former {
		u := &s.Former[i]
		together := latest-u.Last <= unseen.Milliseconds()
		if !together && u.Last < s.Mark {
			continue
		}
		until := max(u.Last, s.Since)
		if !together {
			until = max(u.Last, next(s, u))
		}
		if f, ok := former(u, until); ok {
			all = append(all, f)
		}
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

// former parses a use that was in force until an instant.
func former(u *series.RevisionUse, until int64) (f Former, ok bool) {
	zone, err := time.LoadLocation(u.Zone)
	if err != nil {
		return f, false
	}
	text, err := spec.Parse(u.Spec, zone)
	if err != nil {
		return f, false
	}
	f = Former{Spec: text, Revision: u.Revision, Since: u.Since, Until: until}
	f.Policy, _ = policy.Parse(u.Policies) // an unreadable policy becomes the default
	return f, true
}

// Names reports whether tick is a tick of the spec while it was in force.
func (f *Former) Names(tick int64) bool {
	return f.Since < tick && tick <= f.Until && f.Spec.PrevMilli(tick) == tick
}
