package series

import "context"

// A Position is a point in the changes of a store. Only the store that returned it can read it. Nil
// is no position.
type Position any

// Changes is a Numbered driver that can return which series have changed, at much less than the cost
// of reading all.
type Changes interface {
	// ChangedSince returns the series whose state, journal or revisions have changed since a
	// position, each once and in any order, and a position that includes these changes. Not counted
	// are the renewal of a run, and one more opening with the latest revision and its policies. A
	// series may be returned that the store has forgotten since.
	//
	// If complete is false, other series may have changed too: the position is nil or of another
	// store, the store was restarted, lost its data or put its clock back, or too many series have
	// changed. The caller then reads all series, after this request. A caller reads all series from
	// time to time in any case: a store that was tampered with may omit a change.
	ChangedSince(ctx context.Context, since Position) (keys []string, now Position, complete bool, err error)
}
