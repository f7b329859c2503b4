package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// sendMax is how many asks go to the store in one call. The driver splits them
// further as the store needs.
const sendMax = 1024

// due hands out what is to be sent at ms, at most sendMax fresh ticks at a time,
// and reports whether more is due. Fresh ticks are those of the lead, too. It arms
// every next tick before anything is sent: nothing here waits for the store.
func (n *Node) due(ms int64) (send []*ask, peek []*laterShare, more bool) {
	laters := n.laters // one for each shard
	clear(laters)
	ahead := ms + n.lead.ms()
	for range sendMax {
		if at := n.table.Next(); at == 0 || at > ahead || n.draining.Load() {
			break
		}
		t, ok := n.handOut(ahead)
		later := &laters[t.shard()]
		switch {
		case !ok:
		case n.cfg.Spread == 0 || n.members.First(t.e.Hash, t.tick, ""):
			send = append(send, t.ask())
		case n.peeker == nil:
			n.agenda.add(max(ms, t.tick)+n.cfg.Spread.Milliseconds(), t.ask())
		default:
			if *later == nil {
				*later = n.shelf.share(max(ms, t.tick) + n.cfg.Spread.Milliseconds())
			}
			(*later).ticks = append((*later).ticks, t)
		}
	}
	peek = n.peekable(ms)
	send = n.admit(append(send, n.agenda.take(ms)...), ms)
	at := n.table.Next()
	return send, peek, at != 0 && at <= ahead && !n.draining.Load()
}

// handOut takes the earliest entry's tick and arms its next one.
func (n *Node) handOut(ms int64) (d dueTick, ok bool) {
	e := n.entries.At(n.table.First())
	t, ok := e.Advance(ms)
	n.table.Reset(e.Due())
	if !ok || !e.open { // what became due of a job that is not open yet is asked for when it is
		return d, false
	}
	switch old := e.latest; {
	case old == nil:
	case old.queued:
		n.relieve(old, t.Number, t.After)
		return d, false
	default:
		old.stale, e.latest = true, nil
	}
	return dueTick{e, t.Number, t.After}, true
}

// relieve lets a newer tick take the place of one that waits for a slot, so that
// a job keeps its turn. The older tick is asked for when its deadline is over.
func (n *Node) relieve(waiting *ask, tick, after int64) {
	old, e := *waiting, waiting.e
	*waiting = ask{e: e, tick: tick, after: after, queued: true}
	old.queued, old.settle = false, true
	deadline, _ := e.Rules.StartWithin(e.Spec.Interval(old.tick))
	n.agenda.add(onGrid(old.tick+deadline.Milliseconds()+1, lookGrid), &old)
}

// admit lets through the asks that have a free slot, or need none, and keeps the
// others until a slot is free. Those that waited for one come first; where none is free
// they are not looked at.
func (n *Node) admit(asks []*ask, ms int64) []*ask {
	var waited []*ask
	for n.free > 0 {
		a := n.queue.pop()
		if a == nil {
			break
		}
		if n.admits(a, ms) {
			waited = append(waited, a)
		}
	}
	return append(waited, slices.DeleteFunc(asks, func(a *ask) bool { return !n.admits(a, ms) })...)
}

// outdate makes an ask one whose tick is covered by another. The node's mutex is held.
func (n *Node) outdate(a *ask, now int64) {
	a.stale = true
	if !a.queued {
		return
	}
	n.queue.leave(a)
	if a.unsure() {
		n.agenda.add(now, a)
	}
}

// admits reports whether an ask may be sent now. Without a slot it is queued. One
// whose tick is covered by a newer one, or in a drain by other nodes, is only
// sent to learn whether it was granted.
func (n *Node) admits(a *ask, ms int64) bool {
	given := a.stale || n.draining.Load()
	switch {
	case n.vain(a):
		return false
	case given && (!a.unsure() || a.hopeless(ms)):
		n.certain(a, false, ms)
		n.unslot(a)
		return false
	case !given && a.afterEnd():
		n.park(a, ms)
		return false
	case !given && n.muted(a):
		n.park(a, ms)
		n.standInFor(a.e, ms)
		return false
	case given || a.doubt || a.slot || a.settle: // the first two may hold a lease already
		return true
	case n.free > 0:
		n.free--
		a.slot = true
		return true
	}
	n.queue.push(a)
	return false
}

// send claims a batch, and takes the answers when they are there or the
// request's time is over.
func (n *Node) send(asks []*ask) {
	n.mu.Lock()
	now := n.clock.Ms()
	claims := make([]driver.Claim, len(asks))
	for i, a := range asks {
		if a.owner == "" {
			a.owner = n.claimer.Owner()
		}
		a.doubt, a.freed, a.held = true, false, false
		a.tries++
		claims[i] = n.claim(a, now)
	}
	n.mu.Unlock()
	ctx, stop := context.WithTimeout(n.base, n.cfg.StoreTimeout)
	defer stop()
	sent := time.Now()
	n.claimer.ClaimThen(ctx, claims, func(answers []lock.Claimed) { n.answered(asks, answers, time.Since(sent)) })
}
