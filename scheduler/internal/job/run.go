package job

import (
	"sync/atomic"
	"time"
)

// A Run is a run of a job that this node was granted.
//
// Ending counts the runs of the job whose functions have returned and whose ends the store has not
// answered. It belongs to the claims; package runs changes the count, and claims of the job wait
// while it is not 0. Otherwise a claim could reach the store before the end. Its tick would then be
// skipped for a run that is over, or that run would be taken over although its outcome is known.
type Run struct {
	Job     *Job
	Ending  *atomic.Int32
	Tick    int64
	TTL     time.Duration // length of the lease
	Backlog bool          // the next missed tick is claimed when this run has ended
	Void    bool          // the node has no use for the grant
}
