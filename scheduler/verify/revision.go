package verify

import (
	"cmp"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A revision is a spec that nodes had, and when. What was recorded under several
// names of one text and zone, as in another year or with another zone database, is
// one revision: it is read with the zones of this process in any case.
type revision struct {
	driver.RevisionUse
	schedule *spec.Schedule // nil: the spec cannot be read
	fault    error          // why
	used     int64          // the latest instant at which it is known to have been in use
	until    int64          // the latest instant at which its ticks are due
	policies policy.Record
}

// readRevision parses what was recorded of a revision.
func readRevision(s driver.RevisionUse) *revision {
	r := &revision{RevisionUse: s, used: s.Last}
	r.policies, _ = policy.Parse(s.Policies) // what cannot be read is the default
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		r.fault = err
		return r
	}
	r.schedule, r.fault = spec.Parse(s.Spec, zone)
	return r
}

// names reports whether ms is an instant of the spec.
func (r *revision) names(ms int64) bool { return r.schedule.NextMilli(ms-1) == ms }

// count returns how many ticks of the revision are due after one instant and
// not after another. Before it was seen first it has none.
func (p *proof) count(r *revision, after, through int64) int {
	after = max(after, r.First)
	if after >= through || p.spent {
		return 0
	}
	n := r.schedule.Count(after, through, maxTicks+1)
	if r.schedule.Every() == 0 { // else it is a division
		p.work += n
		p.spend()
	}
	return n
}

// revisions are all that were seen of a job, by their names and by first sighting.
type revisions struct {
	byName map[string]*revision
	all    []*revision // that can be read
	last   *revision   // the one in force; nil: there is none
}

// readRevisions gathers the sightings. A line is a sighting too.
func readRevisions(j *driver.Journal) revisions {
	rs := revisions{byName: make(map[string]*revision, len(j.Revisions))}
	byText := make(map[[2]string]*revision, len(j.Revisions))
	for _, s := range j.Revisions {
		text := [2]string{s.Spec, s.Zone}
		if known := byText[text]; known != nil {
			known.First = min(known.First, s.First)
			if s.Last > known.used {
				known.used, known.Node = s.Last, s.Node
				known.policies, _ = policy.Parse(s.Policies)
			}
			rs.byName[s.Revision] = known
			continue
		}
		r := readRevision(s)
		byText[text], rs.byName[s.Revision] = r, r
		if r.schedule != nil {
			rs.all = append(rs.all, r)
		}
	}
	for i := range j.Lines {
		if r := rs.byName[j.Lines[i].Revision]; r != nil && j.Lines[i].At >= r.used {
			r.used, r.Node = j.Lines[i].At, cmp.Or(j.Lines[i].Node, r.Node)
		}
	}
	return rs
}

// A span says which part of a revision's ticks counts: those of (after, through].
type span func(*revision) (after, through int64)

// within is the span of (after, through] in which a revision was in use, up to
// the instant that last gives.
func within(after, through int64, last func(*revision) int64) span {
	return func(r *revision) (int64, int64) { return max(after, r.First), min(through, last(r)) }
}

func inForce(r *revision) int64 { return r.until }

// union counts the instants that any revision names in its span, each once, and
// returns how many they are. Those that except reports are left out; nil: none.
func (p *proof) union(in span, except func(ms int64) bool) (n int) {
	rs := &p.revisions
	for i, r := range rs.all {
		after, through := in(r)
		if after >= through {
			continue
		}
		for ms := r.schedule.NextMilli(after); ms != 0 && ms <= through && p.spend(); ms = r.schedule.NextMilli(ms) {
			if (except == nil || !except(ms)) && !rs.earlier(i, in, ms) {
				n++
			}
		}
	}
	return n
}

// earlier reports whether one of the first n revisions names ms in its span.
func (rs *revisions) earlier(n int, in span, ms int64) bool {
	for _, r := range rs.all[:n] {
		if after, through := in(r); after < ms && ms <= through && r.names(ms) {
			return true
		}
	}
	return false
}
