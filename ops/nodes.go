package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A NodeList is the list of nodes of a namespace, as the store has it. It is immutable.
type NodeList struct {
	series.MemberList
	alive map[string]bool
	err   error // why the nodes are not known
}

// NewNodeList returns the list that a store returned, or an empty list with the reason why the
// nodes are not known.
func NewNodeList(list series.MemberList, err error) *NodeList {
	if err != nil {
		return &NodeList{err: err}
	}
	f := &NodeList{MemberList: list, alive: map[string]bool{}}
	for i := range list.Members {
		if m := &list.Members[i]; m.Alive(list.Now) {
			f.alive[m.Node] = true
		}
	}
	return f
}

// Err returns the reason why the nodes are not known, or nil if they are.
func (f *NodeList) Err() error { return f.err }

// Alive returns the number of live nodes. It is 0 too if the nodes are not known.
func (f *NodeList) Alive() int { return len(f.alive) }

// MayDecide reports whether a node may still decide a tick that looks overdue: one is alive, or the
// nodes are not known. The nodes may have just returned, so the tick is probed again [SecondProbe]
// later.
func (f *NodeList) MayDecide() bool { return len(f.alive) > 0 || f.err != nil }

// Names returns the names of the live nodes, sorted.
func (f *NodeList) Names() (names []string) {
	for i := range f.Members {
		if m := &f.Members[i]; m.Alive(f.Now) {
			names = append(names, m.Node)
		}
	}
	slices.Sort(names)
	return names
}

// Known returns a function that reports whether a node is alive, or nil if the nodes are not known.
func (f *NodeList) Known() func(node string) bool {
	if f.err != nil {
		return nil
	}
	return func(node string) bool { return f.alive[node] }
}

// Gone returns the nodes that left or fell silent, the latest first.
func (f *NodeList) Gone() []series.Member {
	all := slices.DeleteFunc(slices.Clone(f.Members), func(m series.Member) bool { return m.Alive(f.Now) })
	slices.SortStableFunc(all, func(a, b series.Member) int { return int(max(b.Until, b.Left) - max(a.Until, a.Left)) })
	return all
}

// Departure describes how a node left.
func Departure(m *series.Member) string {
	if m.Left != 0 {
		return fmt.Sprintf("%s left at %s, to drain", m.Node, stamp(m.Left))
	}
	return fmt.Sprintf("%s was last seen at %s (killed, or cut off from the store)", m.Node, stamp(m.Seen()))
}

// Seen returns when a node was last seen, by the store's clock; zero: that is not known.
func (f *NodeList) Seen(node string) time.Time {
	for i := range f.Members {
		switch m := &f.Members[i]; {
		case m.Node != node:
		case m.Left != 0:
			return utc(m.Left)
		default:
			return utc(min(m.Seen(), f.Now))
		}
	}
	return time.Time{}
}

// lastBeat returns when a node that has not left was last seen; zero: it left, or that is not known. A node that drains renews its
// leases and sends no heartbeats.
func (f *NodeList) lastBeat(node string) time.Time {
	for i := range f.Members {
		if m := &f.Members[i]; m.Node == node && m.Left != 0 {
			return time.Time{}
		}
	}
	return f.Seen(node)
}

// retiredWithin is the longest time in which a node retires a job that was removed from all nodes:
// in a turn after the job has not been opened for series.SightedWithin.
const retiredWithin = 2 * series.SightedWithin

// Removed reports whether a job was just removed from all nodes that had it, as by a deploy, so
// that a node will retire it unless a node with the job comes back. If neither happens within
// retiredWithin, Removed returns false again.
func (f *NodeList) Removed(j *series.Journal, s *series.Series) bool {
	at, removed := f.MemberList.Removed(s, j.Revisions)
	return removed && s.Now-at < retiredWithin.Milliseconds()
}

// NoneHas returns a sentence if it is known that no live node has a job that is not retired, or "": the nodes are known, and
// each that had the job has not been seen with it within series.SightedWithin, or does not live. The state
// must have been read after the journal.
func (f *NodeList) NoneHas(j *series.Journal, s *series.Series) string {
	last := why.LastUsed(j.Revisions)
	if f.err != nil || last == nil || s.Err != nil || s.Retired() {
		return ""
	}
	if crontab(last) || len(f.alive) > 0 && f.Now < HadUntil(max(last.Last, s.Mark)).UnixMilli() {
		return ""
	}
	return fmt.Sprintf("No live node has this job, of %s: %s was the last to be seen with it, at %s.", plural(len(f.alive), "node"), last.Node, stamp(last.Last))
}

// crontab reports whether crontab commands claim the ticks of a job, by the revision that was used last.
func crontab(last *series.RevisionUse) bool {
	policies, _ := policy.Parse(last.Policies)
	return policies.Crontab
}

// misses reports whether a node on the list of live nodes has missed a heartbeat.
func (f *NodeList) misses(node string) bool {
	return utc(f.Now).Sub(f.Seen(node)) > series.MemberEvery*3/2
}

// latest returns the live node that was seen last; nil: no node lives.
func (f *NodeList) latest() (latest *series.Member) {
	for i := range f.Members {
		if m := &f.Members[i]; m.Alive(f.Now) && (latest == nil || m.Until > latest.Until) {
			latest = m
		}
	}
	return latest
}

// drains returns a node that left the list, with an alive run of the job; nil: there is none.
func (f *NodeList) drains(s *series.Series) *series.Member {
	for i := range f.Members {
		m := &f.Members[i]
		alive := func(owner string, state series.RunState, until int64) bool {
			return m.Left != 0 && state == series.RunOpen && until > s.Now && driver.NodeOf(owner) == m.Node
		}
		if slices.ContainsFunc(s.Runs, func(r series.Run) bool { return r.Shards == 0 && alive(r.Owner, r.State, r.Until) }) ||
			slices.ContainsFunc(s.Sheet.Shards, func(h series.Shard) bool { return alive(h.Owner, h.State, h.Until) }) {
			return m
		}
	}
	return nil
}

// has reports whether a live node has the job of a report, as far as the store shows it.
func (f *NodeList) has(r *verify.Report) bool {
	return f.alive[r.SeenOn] && !f.misses(r.SeenOn) && f.Now < HadUntil(r.Seen.UnixMilli()).UnixMilli()
}

// removed is the advice for a job that may not be in any configuration any more.
const removed = "if it was removed, retire it: cronce retire"

// cause returns the reason why no node decided the tick, as far as the store shows it.
func (f *NodeList) cause(r *verify.Report, s *series.Series) string {
	seen := ""
	if r.SeenOn != "" {
		seen = fmt.Sprintf("%s was the last to be seen with this job, at %s", r.SeenOn, r.Seen.Format(time.RFC3339))
	}
	switch gone, latest, drains := f.Gone(), f.latest(), f.drains(s); {
	case s.Mark > s.Now+series.Tolerance:
		return fmt.Sprintf("the job is decided until %s: see cronce doctor", stamp(s.Mark))
	case f.err != nil && seen != "":
		return "which nodes live is not known: " + seen
	case f.err != nil:
		return "which nodes live is not known"
	case len(f.alive) == 0 && len(gone) > 0:
		return fmt.Sprintf("no node lives: %s", Departure(&gone[0]))
	case len(f.alive) == 0 && seen != "":
		return "no node lives: " + seen
	case len(f.alive) == 0:
		return "no node lives"
	case f.alive[r.SeenOn] && f.misses(r.SeenOn):
		return fmt.Sprintf("%s has this job, and was last seen at %s: it misses its beats", r.SeenOn, f.Seen(r.SeenOn).Format(time.RFC3339))
	case f.has(r):
		return fmt.Sprintf("%s had this job at %s, and was last seen at %s: see its log and its /readyz for the cause; if a reload has removed the job from it, that is known from %s on",
			r.SeenOn, r.Seen.Format(time.RFC3339), later(f.Seen(r.SeenOn), r.Seen).Format(time.RFC3339), HadUntil(r.Seen.UnixMilli()).Format(time.RFC3339))
	case f.misses(latest.Node): // the list of live nodes names them for some seconds after all were killed
		return "all nodes miss their beats: " + Departure(latest)
	case drains != nil:
		return fmt.Sprintf("no other node has this job: %s, and its run goes on", Departure(drains))
	case seen == "":
		return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it; %s", len(f.alive), removed)
	}
	return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it of late: %s; %s", len(f.alive), seen, removed)
}

// later returns the later of the last heartbeat of a node and the last time when it was seen with a
// job: the store records them separately.
func later(beat, withJob time.Time) time.Time {
	if withJob.After(beat) {
		return withJob
	}
	return beat
}

// stamp formats a time of the store, in Unix milliseconds, to the second.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// utc converts a time of the store, in Unix milliseconds; 0 becomes the zero time.
func utc(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
