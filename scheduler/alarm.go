package scheduler

import (
	"runtime"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
)

// An alarm wakes the node when something is due. It is one timer, and who waits
// for it also sends what it finds. They wait again after the answer: their stacks
// have grown by then, and need not once more. Guarded by the node's mutex.
type alarm struct {
	timer   *time.Timer
	off     chan struct{} // closed: it rings no more
	waiting int           // goroutines
	at      time.Time     // when it rings; zero: not set
	on      bool
	next    bool // a goroutine is on its way to look: no need to ring
}

const (
	maxSleep   = time.Second
	maxWaiting = 2 // one more than must wait: answers are there before the next ring
)

// awake lets the alarm ring from now on.
func (n *Node) awake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alarm.on = true
	n.alarm.timer, n.alarm.off = time.NewTimer(maxSleep), make(chan struct{})
	go n.attend()
	n.arm()
}

// attend looks what is due whenever the alarm rings, until it is off or enough
// others wait for it.
func (n *Node) attend() {
	for n.await() {
		n.tend()
	}
}

// await waits for the alarm. It reports whether the caller is to look.
func (n *Node) await() bool {
	a := &n.alarm
	n.mu.Lock()
	if !a.on || a.waiting == maxWaiting {
		n.mu.Unlock()
		return false
	}
	a.waiting++
	n.wg.Add(1)
	n.mu.Unlock()
	defer n.wg.Done()
	select {
	case <-a.timer.C:
	case <-a.off:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a.waiting--
	return a.on
}

// asleep stops the alarm. When it returns nothing is sent any more.
func (n *Node) asleep() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alarm.on = false
	n.alarm.timer.Stop()
	close(n.alarm.off)
}

// arm sets the alarm to when something is due, at most a second from now, so that
// a step of the clock is noticed. An earlier alarm than needed is left alone: it
// costs one look. The mutex is held.
func (n *Node) arm() {
	if !n.alarm.on || n.alarm.next {
		return
	}
	sleep := n.sleep()
	at := time.Now().Add(sleep)
	if !n.alarm.at.IsZero() && !at.Before(n.alarm.at) {
		return
	}
	n.alarm.at = at
	n.alarm.timer.Reset(sleep)
}

// tend sends what is due. It arms the alarm first, and hands on what is more than
// one request, so that nothing here waits for the store, nor for the logger.
func (n *Node) tend() {
	n.maintain(time.Now())
	ms := n.clock.Ms()
	n.mu.Lock()
	if !n.alarm.on {
		n.mu.Unlock()
		return
	}
	batch, later, more := n.due(ms)
	n.alarm.at, n.alarm.next = time.Time{}, more
	var parts [][]*ask
	for _, some := range job.ByShard(n.shards, batch, shardOfAsk) {
		parts = slices.AppendSeq(parts, slices.Chunk(some, sendMax))
	}
	requests := len(parts) + len(later)
	if requests > 0 && n.alarm.waiting == 0 {
		go n.attend()
	}
	n.sending += requests
	n.runs.Expect(len(batch))
	n.wg.Add(requests)
	n.woke = time.Now()
	n.arm()
	n.stir()
	n.mu.Unlock()
	if more {
		go func() {
			runtime.Gosched() // what was granted begins first
			n.tend()
		}()
	}
	for _, part := range parts {
		if requests--; requests > 0 {
			go n.send(part)
		} else {
			n.send(part)
		}
	}
	for _, share := range later {
		if requests--; requests > 0 {
			go n.peek(share)
		} else {
			n.peek(share)
		}
	}
}

// maintain writes, without waiting for the logger, what the log is due about the store and
// about runs whose contexts have ended.
func (n *Node) maintain(now time.Time) {
	lines := n.runs.Inspect(now)
	if write := n.monitor.due(now); write != nil {
		lines = append(lines, write)
	}
	n.events.beside(lines...)
}

// sleep is how long nothing is due.
func (n *Node) sleep() time.Duration {
	if n.queue.count() > 0 && n.free > 0 {
		return 0
	}
	next := n.agenda.next()
	if at := n.shelf.next(); at != 0 && (next == 0 || at < next) {
		next = at
	}
	if at := n.table.Next() - n.lead.ms(); at > 0 && !n.draining.Load() && (next == 0 || at < next) {
		next = at
	}
	if next == 0 {
		return maxSleep
	}
	return min(max(time.UnixMilli(next).Sub(n.clock.Now()), 0), maxSleep)
}

// stir lets a drain look whether it is over.
func (n *Node) stir() {
	if n.draining.Load() {
		n.wake.Raise()
	}
}

func shardOfAsk(a *ask) int { return int(a.e.Shard) }
