package scheduler

import (
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
)

// closings are the runs whose functions have returned and whose ends are still to
// be told to the store. One goroutine at a time closes all there are. Ticks that
// are on their way to a start go first: while there are many, ends wait for them.
type closings struct {
	mu   sync.Mutex
	runs []*running
	busy bool // a goroutine closes
}

const (
	manyStarts = 256                    // with more starts than this on their way, ends wait
	putOff     = 250 * time.Millisecond // but no longer than this
)

// leave frees the slot and ends the lease as e says, now or when the starts let it.
func (r *running) leave(e lock.Ending) {
	r.how = e
	n := r.node
	c := &n.closings
	wait := n.starts.Load() > manyStarts && !n.draining.Load() && r.lease.Context().Err() == nil
	c.mu.Lock()
	c.runs = append(c.runs, r)
	if wait && len(c.runs) == 1 {
		time.AfterFunc(putOff, n.close)
	}
	wait = wait || c.busy
	c.mu.Unlock()
	if !wait {
		n.close()
	}
}

// close ends what there is to end, unless another goroutine does.
func (n *Node) close() {
	c := &n.closings
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return
	}
	c.busy = true
	for len(c.runs) > 0 {
		runs := c.runs
		c.runs = nil
		c.mu.Unlock()
		n.vacate(runs...)
		for _, r := range runs {
			if !r.lease.End(r.how, r) {
				n.ended()
			}
		}
		c.mu.Lock()
	}
	c.busy = false
}
