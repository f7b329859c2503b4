package series

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// SightedWithin is how long after an opening a node that lives has a series at least: the nodes
// that have one open it again within that time. A series that none has opened for so long is
// retired by a node that lives, if it was removed: see [MemberList.Removed].
const SightedWithin = 15 * time.Minute

// Removed reports whether a series was removed from the nodes that had it, as by a deploy, and
// when: each of those that opened it last has left the list since, or lives and has neither opened
// it nor decided a number within [SightedWithin]. A node that fell silent may have died, and removed nothing; nor
// is anything removed while no node lives, or where a number was decided later.
//
// The series must have been read after the list, and its uses are those of its journal.
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

// lives reports whether a member lives.
func (l *MemberList) lives() bool {
	for i := range l.Members {
		if l.Members[i].Alive(l.Now) {
			return true
		}
	}
	return false
}
