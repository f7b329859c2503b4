package series

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// SightedWithin is the longest time between two openings of a series by a live node that has it:
// such a node opens it again within that time. A series that no node has opened for so long is
// retired by a live node, if it was removed: see [MemberList.Removed].
const SightedWithin = 15 * time.Minute

// Removed reports whether a series was removed from the nodes that had it, as by a deploy, and
// when. Each node that opened it last has left the list since, or is alive and has neither opened
// it nor decided a number within [SightedWithin]. A node that fell silent may have died, and
// removed nothing. Removed returns false while no node is alive, if a number was decided later, or
// if a run or a shard is open whose node has not left, or whose lease has not ended: a node leaves when its drain begins,
// and its runs go on. A free shard has no node.
//
// The series must have been read after the list; uses are the uses in its journal.
func (l *MemberList) Removed(s *Series, uses []RevisionUse) (at int64, removed bool) {
	latest, within := int64(0), SightedWithin.Milliseconds()
	for i := range uses {
		latest = max(latest, uses[i].Last)
	}
	at = latest
	for i := range uses {
		if uses[i].Last < latest-within {
			continue
		}
		switch m := l.member(uses[i].Node); {
		case m == nil:
			return 0, false
		case m.Left != 0:
			at = max(at, m.Left)
		case !m.Alive(l.Now) || l.Now-max(latest, s.Mark) < within:
			return 0, false
		default:
			at = max(at, s.Mark)
		}
	}
	for i := range s.Runs {
		switch r := &s.Runs[i]; {
		case r.Shards > 0: // the node that opened it need not have a shard of it
		case r.State == RunOpen && (!l.left(r.Owner) || r.Until > s.Now):
			return 0, false
		}
	}
	for i := range s.Sheet.Shards {
		if h := &s.Sheet.Shards[i]; h.State == RunOpen && (!l.left(h.Owner) || h.Until > s.Now) {
			return 0, false
		}
	}
	return at, latest != 0 && s.Mark <= at && l.lives()
}

// left reports whether the node of an owner has left the list.
func (l *MemberList) left(owner string) bool {
	m := l.member(driver.NodeOf(owner))
	return m != nil && m.Left != 0
}

// member returns the member with this name, or nil.
func (l *MemberList) member(node string) *Member {
	for i := range l.Members {
		if l.Members[i].Node == node {
			return &l.Members[i]
		}
	}
	return nil
}

// lives reports whether any member is alive.
func (l *MemberList) lives() bool {
	for i := range l.Members {
		if l.Members[i].Alive(l.Now) {
			return true
		}
	}
	return false
}
