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
// returned with a series. The spec that was seen last was in force until the spec of the series
// replaced it; so was one that was seen within unseen of it, if the mark is one of its ticks from
// after the last one came: nodes are seen with a spec less often than they decide ticks. Any other
// one was in force until it was last seen, or until the first of those that were seen later came into
// force, if that was later. A spec that cannot be parsed is left out: verify reports it.
func Formers(s *series.Series, unseen time.Duration) (all []Former) {
	var latest series.RevisionUse
	for _, u := range s.Former {
		if u.Last >= latest.Last {
			latest = u
		}
	}
	for i := range s.Former {
		u := &s.Former[i]
		f, ok := former(u, replaced(s, u))
		if !ok {
			continue
		}
		decided := s.Mark >= latest.Since && f.Spec.PrevMilli(s.Mark) == s.Mark
		switch {
		case u.Last == latest.Last, decided && latest.Last-u.Last <= unseen.Milliseconds():
			f.Until = max(u.Last, s.Since)
		case f.Until <= s.Mark:
			continue
		}
		all = append(all, f)
	}
	return all
}

// replaced returns the end of a use: when it was last seen or, if that was later, when the first of the uses that were seen later came
// into force. Package verify does the same, and counts the lines of a journal as sightings too.
func replaced(s *series.Series, u *series.RevisionUse) int64 {
	until := max(u.Last, s.Since)
	for i := range s.Former {
		if v := &s.Former[i]; v.Last > u.Last {
			until = min(until, max(u.Last, v.Since))
		}
	}
	return until
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
