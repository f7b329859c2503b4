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
// removed nothing. Removed returns false while no node is alive, or if a number was decided later.
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
		if r := &s.Runs[i]; r.State == RunOpen {
			if m := l.member(driver.NodeOf(r.Owner)); m == nil || m.Left == 0 {
				return 0, false
			}
		}
	}
	return at, latest != 0 && s.Mark <= at && l.lives()
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
