package verify

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A revision is a period in which nodes used a spec. Uses of the same text and zone that were
// recorded under several names, as in another year or with another zone database, are one revision,
// because all of them are evaluated with the zones of this process. A spec that was replaced and
// came back is another revision.
type revision struct {
	series.RevisionUse
	schedule *spec.Schedule // nil: the spec cannot be read
	fault    error          // why schedule is nil
	used     int64          // the latest instant at which it is known to have been in use
	until    int64          // the latest instant at which its ticks are due
	policies policy.Record
}

// readRevision parses the record of a revision.
func readRevision(s series.RevisionUse) *revision {
	r := &revision{RevisionUse: s, used: s.Last}
	r.First = s.Since
	r.policies, _ = policy.Parse(s.Policies) // an unreadable policy becomes the default
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		r.fault = err
		return r
	}
	r.schedule, r.fault = spec.Parse(s.Spec, zone)
	return r
}

// names reports whether ms is a tick of the spec.
func (r *revision) names(ms int64) bool { return r.schedule.NextMilli(ms-1) == ms }

// count returns the number of ticks of the revision in (after, through]. It has none before it was
// in force.
func (p *proof) count(r *revision, after, through int64) int {
	after = max(after, r.First)
	if after >= through || p.spent {
		return 0
	}
	if r.schedule.Every() > 0 { // the count is a division
		return r.schedule.Count(after, through, math.MaxInt)
	}
	n := r.schedule.Count(after, through, maxTicks+1)
	if n > maxTicks {
		p.exhaust()
	}
	return n
}

// A revisions has all revisions that were seen of a job, by name and by first sighting.
type revisions struct {
	byName map[string][]*revision // the uses of a revision, by first sighting
	all    []*revision            // those that can be read
	last   *revision              // the one in force; nil: there is none
}

// readRevisions collects the sightings. A line of a node is a sighting too.
func readRevisions(j *series.Journal) revisions {
	rs := revisions{byName: make(map[string][]*revision, len(j.Revisions))}
	type use struct {
		spec, zone string
		since      int64
	}
	byUse := make(map[use]*revision, len(j.Revisions))
	for _, s := range j.Revisions {
		s.Since = cmp.Or(s.Since, s.First)
		of := use{s.Spec, s.Zone, s.Since}
		if known := byUse[of]; known != nil {
			if s.Last > known.used {
				known.used, known.Node = s.Last, s.Node
				known.policies, _ = policy.Parse(s.Policies)
			}
			rs.byName[s.Revision] = append(rs.byName[s.Revision], known)
			continue
		}
		r := readRevision(s)
		byUse[of] = r
		rs.byName[s.Revision] = append(rs.byName[s.Revision], r)
		if r.schedule != nil {
			rs.all = append(rs.all, r)
		}
	}
	for i := range j.Lines {
		l := &j.Lines[i]
		if r := rs.of(l); r != nil && l.At >= r.used && l.Reason != series.ReasonRespecified && !beforePause(l) {
			r.used, r.Node = l.At, cmp.Or(l.Node, r.Node)
		}
	}
	return rs
}

// of returns the use of a revision that a line names: the one that was in force when the line was
// written or, for ticks of a former spec, when they were due. It returns nil if there is none.
func (rs *revisions) of(l *series.Line) (use *revision) {
	at := l.At
	if l.Reason == series.ReasonRespecified {
		at = l.To - 1
	}
	for _, r := range rs.byName[l.Revision] {
		if use == nil || r.First <= at {
			use = r
		}
	}
	return use
}

// TickOf returns the tick to which a line gives its verdict, or the latest of several, in Unix
// milliseconds. The line of the end of a pause covers ticks up to an instant that need not be a
// tick; if there is no tick, TickOf returns 0.
func TickOf(j *series.Journal, l *series.Line) (tick int64) {
	if !resumed(l) {
		return l.To
	}
	rs := readRevisions(j)
	rs.retire(nil)
	for _, r := range rs.all {
		if ms := r.schedule.PrevMilli(min(l.To, r.until)); ms > max(l.From, r.First) {
			tick = max(tick, ms)
		}
	}
	return tick
}

// A span selects the ticks of a revision that count: those in (after, through].
type span func(*revision) (after, through int64)

// within returns the span of (after, through] in which a revision was in use, up to the instant
// that last returns.
func within(after, through int64, last func(*revision) int64) span {
	return func(r *revision) (int64, int64) { return max(after, r.First), min(through, last(r)) }
}

func inForce(r *revision) int64 { return r.until }

// segments calls each for every period in which the same revisions are in their spans.
func (p *proof) segments(in span, each func(after, through int64, active []*revision)) {
	var cuts []int64
	for _, r := range p.revisions.all {
		if after, through := in(r); after < through {
			cuts = append(cuts, after, through)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := 1; i < len(cuts); i++ {
		var active []*revision
		for _, r := range p.revisions.all {
			if after, through := in(r); after <= cuts[i-1] && cuts[i] <= through {
				active = append(active, r)
			}
		}
		if len(active) > 0 {
			each(cuts[i-1], cuts[i], active)
		}
	}
}

// union counts the instants that any revision has in its span, each once. It leaves out the
// instants for which except returns true; except may be nil.
func (p *proof) union(in span, except func(ms int64) bool) (n int) {
	p.segments(in, func(after, through int64, active []*revision) {
		if len(active) == 1 && except == nil {
			n += p.count(active[0], after, through)
			return
		}
		for i, r := range active {
			for ms := r.schedule.NextMilli(after); ms != 0 && ms <= through && p.withinBudget(); ms = r.schedule.NextMilli(ms) {
				if (except == nil || !except(ms)) && !named(active[:i], ms) {
					n++
				}
			}
		}
	})
	return n
}
