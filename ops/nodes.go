package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A NodeList is the nodes of a namespace, as the store has them. It never changes.
type NodeList struct {
	series.MemberList
	alive map[string]bool
	err   error // why they are not known
}

// NewNodeList is the list that a store answered, or an empty one with the reason why the nodes are not known.
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

// Err is why the nodes are not known; nil: they are.
func (f *NodeList) Err() error { return f.err }

// Alive counts the nodes that live: 0 too where that is not known.
func (f *NodeList) Alive() int { return len(f.alive) }

// Names are the nodes that live, by name.
func (f *NodeList) Names() (names []string) {
	for i := range f.Members {
		if m := &f.Members[i]; m.Alive(f.Now) {
			names = append(names, m.Node)
		}
	}
	slices.Sort(names)
	return names
}

// Known returns which nodes live; nil: that is not known.
func (f *NodeList) Known() func(node string) bool {
	if f.err != nil {
		return nil
	}
	return func(node string) bool { return f.alive[node] }
}

// Gone are the nodes that left or fell silent, the latest first.
func (f *NodeList) Gone() []series.Member {
	all := slices.DeleteFunc(slices.Clone(f.Members), func(m series.Member) bool { return m.Alive(f.Now) })
	slices.SortStableFunc(all, func(a, b series.Member) int { return int(max(b.Until, b.Left) - max(a.Until, a.Left)) })
	return all
}

// Departure says how a node went.
func Departure(m *series.Member) string {
	if m.Left != 0 {
		return fmt.Sprintf("%s left at %s (drained)", m.Node, stamp(m.Left))
	}
	return fmt.Sprintf("%s was last seen at %s (killed, or cut off from the store)", m.Node, stamp(m.Seen()))
}

// Seen is when a node was seen last, by the store's clock; zero: that is not known.
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

// retiredWithin is how long after a job was removed from all nodes a node has retired it: once it has
// not been opened for series.SightedWithin, in the next turns.
const retiredWithin = 2 * series.SightedWithin

// Removed reports whether a job was just removed from all nodes that had it, as by a deploy, so that a node
// will retire it, or a node with it comes back. After a while without either that is no longer believed.
func (f *NodeList) Removed(j *series.Journal, s *series.Series) bool {
	at, removed := f.MemberList.Removed(s, j.Revisions)
	return removed && s.Now-at < retiredWithin.Milliseconds()
}

// misses reports whether a node that is on the list of those that live has missed a beat.
func (f *NodeList) misses(node string) bool {
	return utc(f.Now).Sub(f.Seen(node)) > series.MemberEvery*3/2
}

// removed is what to do with a job that is in no configuration any more.
const removed = "if it was removed, retire it: cronce retire"

// cause says why nothing was decided, as far as the store shows it.
func (f *NodeList) cause(r *verify.Report, s *series.Series) string {
	seen := ""
	if r.SeenOn != "" {
		seen = fmt.Sprintf("%s was the last to be seen with this job, at %s", r.SeenOn, r.Seen.Format(time.RFC3339))
	}
	switch gone := f.Gone(); {
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
	case f.alive[r.SeenOn]:
		return fmt.Sprintf("%s has this job, and was last seen at %s: its log and its /readyz say what keeps it", r.SeenOn, f.Seen(r.SeenOn).Format(time.RFC3339))
	case seen == "":
		return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it; %s", len(f.alive), removed)
	}
	return fmt.Sprintf("no node has this job: %d nodes live, and none was seen with it of late: %s; %s", len(f.alive), seen, removed)
}

// stamp shows a time of the store, Unix ms, to the second.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// utc is a time of the store, Unix ms; zero for 0.
func utc(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
