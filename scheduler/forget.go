package scheduler

import "time"

// forgetful is how long the loss of one job's mark stands for that of others: a
// store that was emptied has lost them all.
const forgetful = 10 * time.Second

// forgot tells of a store that has lost what it had decided, as after a failover, a
// restart without its data, or a slip of an operator's: it knows no mark of a job,
// or one below what this node has seen. Ticks between the two may run again. The
// node's mutex is held, until unlock.
func (n *Node) forgot(e *entry, mark int64) {
	if e.mark == 0 || n.lapsed[e] == e.mark {
		return
	}
	n.lapsed[e] = e.mark
	if since := time.Since(n.born); n.lapsedAt == 0 || since-n.lapsedAt > forgetful {
		n.lapsedAt = since
		seen := e.mark
		n.afterUnlock(func() { n.events.storeForgot(e.Job, mark, seen) })
	}
}
