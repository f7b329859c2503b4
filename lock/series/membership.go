package series

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A BeatAnswer is the answer to a beat.
type BeatAnswer struct {
	Nodes    []string              // nodes seen within their time to live, sorted, the asker included
	Readings []driver.ClockReading // the clock that came with the answer
}

// Membership is a Driver that keeps a list of nodes. The list only spreads work:
// nothing that is promised depends on it.
type Membership interface {
	// Beat records that node lives for ttl more, and returns the nodes that live: at
	// most MaxNodes, those whose time ends first, and the asker in any case.
	Beat(ctx context.Context, node string, ttl time.Duration) (BeatAnswer, error)
	// Leave takes node off the list of those that live, and records when it left.
	Leave(ctx context.Context, node string) error
	// Members reads the list and changes nothing.
	Members(ctx context.Context) (MemberList, error)
}

// The bounds of a list of nodes. What is beyond them, or cannot be a node, a store
// leaves out, and drops: a list that was tampered with costs no more than one that
// was not.
const (
	MaxNodes = 1000           // that live, in one answer
	MaxGone  = 200            // that left or fell silent, in one answer: the latest
	GoneFor  = 24 * time.Hour // how long those are remembered
)

// A MemberList is a list of nodes as a store has it.
type MemberList struct {
	Now     int64    // the store's clock, Unix ms
	Members []Member // by name
}

// A Member is a node that lives, or did lately.
type Member struct {
	Node  string
	Until int64 // it lives, or lived, until then unless it beats again: Unix ms on the store's clock; 0 once it left
	Left  int64 // when it left, Unix ms; 0: it did not
}

// LatestMembers is for stores: of the members it returns, by name, at most MaxNodes
// that live at ms, those whose time ends first, and the MaxGone latest of the others
// that left or fell silent within GoneFor before it.
func LatestMembers(all []Member, ms int64) []Member {
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.rank(ms), b.rank(ms)), cmp.Compare(a.Node, b.Node))
	})
	living, gone := 0, 0
	kept := slices.DeleteFunc(all, func(m Member) bool {
		if m.Alive(ms) {
			living++
			return living > MaxNodes || m.Until > ms+driver.MaxTTL.Milliseconds()
		}
		gone++
		return gone > MaxGone || max(m.Until, m.Left) <= ms-GoneFor.Milliseconds()
	})
	slices.SortFunc(kept, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
	return kept
}

// rank is the time to the end of a member that lives at ms, or since the end of
// another; or to it, if the clock was put back since.
func (m *Member) rank(ms int64) int64 {
	if m.Alive(ms) {
		return m.Until - ms
	}
	since := ms - max(m.Until, m.Left)
	return max(since, -since)
}

// MemberFor is how long the beat of a node of the scheduler counts: two of the next, one each MemberEvery, may be lost.
const (
	MemberFor   = 25 * time.Second
	MemberEvery = 10 * time.Second
)

// Seen is when a node of the scheduler that has not left was seen last, Unix ms.
func (m *Member) Seen() int64 { return m.Until - MemberFor.Milliseconds() }

// Alive reports whether a member lives at ms.
func (m *Member) Alive(ms int64) bool { return m.Left == 0 && ms < m.Until }
