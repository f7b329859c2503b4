package scheduler

import (
	"sync/atomic"

	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// An entry is a registered job. There may be hundreds of thousands, so it is
// small; what belongs to a tick in progress lives in asks and runs.
type entry struct {
	timetable.Entry
	open bool // the store has told of it; guarded by the node's mutex

	unsure uint8 // asks of it whose requests were not answered; guarded by the node's mutex

	ending atomic.Int32 // runs whose functions have returned and whose ends the store has not answered: see runs.Grant

	// Guarded by the node's mutex.
	mark   int64 // the highest mark seen
	since  int64 // when the store saw this spec's revision first
	latest *ask  // of the tick handed out last, while it has no verdict
	link   *ask  // of the next missed tick, while missed ticks run one after the other
}
