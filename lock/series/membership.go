package series

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A Beat reports that a node is alive.
type Beat struct {
	Node  string
	TTL   time.Duration // how long the node is alive from now on
	Ahead time.Duration // how far its machine's clock is ahead of the store's, negative if behind; stores keep ms
}

// A BeatAnswer is the answer to a beat.
type BeatAnswer struct {
	Nodes    []string              // nodes seen within their time to live, sorted, the caller included
	Readings []driver.ClockReading // the clock that came with the answer
}

// Membership is a Driver that keeps a list of nodes. The list only spreads work: no promise depends
// on it.
type Membership interface {
	// Beat records that a node is alive for its TTL more, and returns the live nodes: at most MaxNodes,
	// those whose time ends first, and the caller in any case.
	Beat(ctx context.Context, b Beat) (BeatAnswer, error)
	// Leave takes node off the list of live nodes, and records when it left. It changes nothing if the node has left already.
	Leave(ctx context.Context, node string) error
	// Members reads the list and changes nothing.
	Members(ctx context.Context) (MemberList, error)
}

// The bounds of a list of nodes. A store omits and deletes members beyond them, and data that
// cannot be a node: a list that was tampered with costs no more than another.
const (
	MaxNodes = 1000           // live nodes in one answer
	MaxGone  = 200            // nodes that left or fell silent, in one answer: the latest
	GoneFor  = 24 * time.Hour // how long such nodes are kept
)

// A MemberList is the list of nodes in a store.
type MemberList struct {
	Now     int64    // the store's clock, Unix ms
	Members []Member // by name
}

// A Member is a node that is alive, or was lately.
type Member struct {
	Node  string
	Until int64  // it is, or was, alive until then unless it beats again: Unix ms on the store's clock; 0 once it left
	Left  int64  // when it left, Unix ms; 0: it did not
	Ahead *int64 // how many ms its clock was ahead of the store's at its last beat, negative if behind; nil: not known
}

// Trim sorts the members by name, and deletes those that a store does not keep. It keeps at most
// MaxNodes that are alive at Now, those whose time ends first, and the MaxGone latest of the others
// that left or fell silent within GoneFor before Now.
func (l *MemberList) Trim() {
	ms := l.Now
	slices.SortFunc(l.Members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.rank(ms), b.rank(ms)), cmp.Compare(a.Node, b.Node))
	})
	living, gone := 0, 0
	l.Members = slices.DeleteFunc(l.Members, func(m Member) bool {
		if m.Alive(ms) {
			living++
			return living > MaxNodes || m.Until > ms+driver.MaxTTL.Milliseconds()
		}
		gone++
		return gone > MaxGone || max(m.Until, m.Left) <= ms-GoneFor.Milliseconds()
	})
	slices.SortFunc(l.Members, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
}

// rank returns the time until the end of a member that is alive at ms, or the time since the end of
// another one, or until that end if the clock was put back since.
func (m *Member) rank(ms int64) int64 {
	if m.Alive(ms) {
		return m.Until - ms
	}
	since := ms - max(m.Until, m.Left)
	return max(since, -since)
}

// MemberFor is how long the beat of a node of the scheduler counts. A node beats each MemberEvery,
// so one beat may be lost.
const (
	MemberFor   = 25 * time.Second
	MemberEvery = 10 * time.Second
)

// Seen returns when a node of the scheduler that has not left was last seen, Unix ms.
func (m *Member) Seen() int64 { return m.Until - MemberFor.Milliseconds() }

// Alive reports whether a member is alive at ms.
func (m *Member) Alive(ms int64) bool { return m.Left == 0 && ms < m.Until }
