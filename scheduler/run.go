package scheduler

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// A running is one attempt of a tick on this node, from the grant to its end.
type running struct {
	node    *Node
	e       *entry
	lease   *lock.Lease
	tick    int64
	attempt int
	wait    time.Duration // until the tick
	last    int64
	backlog bool // the next missed tick runs when this run has ended
	info    Run  // what the function is told

	how     driver.EndRequest // how it ended
	refused time.Duration     // when the store refused its end first, since the node was born; written by the endings alone

	// Guarded by the node's mutex.
	opened   bool      // the store has taken an opening of the job since it refused the end
	again    uint8     // how often it has refused the end since
	lifted   bool      // the job no longer waits for the end
	place    int       // among the node's runs
	ending   time.Time // when its context was first seen to have ended
	named    bool      // the log has named it as ignoring its context
	lossTold bool      // the log has its lost lease
	tooLate  bool      // granted when the node had no more use for it
	replaced bool      // a newer tick waits for its end
}

// runs are in no order.
type runs []*running

func (all *runs) add(r *running) {
	r.place = len(*all)
	*all = append(*all, r)
}

func (all *runs) remove(r *running) {
	rs := *all
	last := rs[len(rs)-1]
	rs[r.place], last.place = last, r.place
	rs[len(rs)-1] = nil
	*all = rs[:len(rs)-1]
}

// newRunning registers a granted run. The node's mutex is held.
func (n *Node) newRunning(a *ask, c *lock.Claimed) *running {
	r := n.room.next()
	r.node, r.e, r.lease, r.tick, r.attempt, r.wait, r.last = n, a.e, c.Lease, a.tick, c.Attempt, c.Wait, c.Last
	r.backlog = a.backlog && a.e.Rules.Overlap != driver.OverlapAllow
	r.tooLate = n.cut || n.draining.Load() && a.latest == past
	n.free-- // may go below zero: the bound gives way to a lease that is there
	n.runs.add(r)
	n.unended.Add(1)
	return r
}

// startMax is how many runs are started before they are let begin. Short ones end
// then, and those that come next use what they used while the processor still has
// it at hand.
const startMax = 128

// start begins runs when their ticks are there. They are not waited for without
// end: a drain leaves what ignores its context.
func start(all []*running) {
	var early []*running
	for i, r := range all {
		if r.wait > 0 {
			early = append(early, r)
		} else {
			go r.run()
		}
		if (i+1)%startMax == 0 {
			runtime.Gosched()
		}
	}
	if len(early) == 0 {
		return
	}
	wait := early[0].wait
	for _, r := range early {
		wait = min(wait, r.wait)
	}
	time.AfterFunc(wait, func() {
		for _, r := range early {
			r.wait -= wait
		}
		start(early)
	})
}

// run runs the job's function and ends the lease.
func (r *running) run() {
	n := r.node
	began := r.begin()
	n.starts.Add(-1)
	if !began {
		r.leave(driver.EndRequest{Kind: driver.EndUnstarted, Outcome: driver.OutcomeUnstarted})
		return
	}
	n.events.runStarted(r)
	at := time.Now()
	f := goexit()
	defer func() { r.end(at, f) }() // deferred, because Goexit in the function comes through here and nowhere else
	f = r.call()
}

// begin checks the lease a last time: no run starts with one that cannot be
// trusted. What was granted to a claim from before a drain is run within its
// grace: the other nodes were told that this one has the tick, and would find out
// too late that it has not.
func (r *running) begin() bool {
	return !r.tooLate && r.lease.Context().Err() == nil && r.lease.Check() == nil
}

// call runs the function, again after an error as the job's retry asks.
func (r *running) call() (f *runError) {
	rules := r.e.Rules
	ctx := r.lease.Context()
	if rules.Timeout > 0 {
		defer time.AfterFunc(rules.Timeout, func() { r.lease.Cancel(ErrTimeout) }).Stop()
	}
	pause, run := rules.Retry.Wait, r.tell()
	for try := 1; ; try++ {
		f = r.try(ctx, run)
		if f == nil || f.panicked || try >= rules.Retry.Tries || ctx.Err() != nil {
			break
		}
		r.node.events.tryFailed(r, try, f)
		if !pauseFor(ctx, pause) {
			break
		}
		pause = min(2*pause, rules.Retry.Max)
	}
	if f != nil {
		f.after(ctx)
	}
	return f
}

// try calls the function once. A panic becomes a failure.
func (r *running) try(ctx context.Context, run *Run) (f *runError) {
	defer func() {
		if v := recover(); v != nil {
			f = panicked(v)
		}
	}()
	if err := r.e.fn(ctx, run); err != nil {
		return failed(err)
	}
	return nil
}

// tell fills in what the function is told.
func (r *running) tell() *Run {
	n := r.node
	r.info = Run{
		ID:  n.cfg.Namespace + "/" + r.e.Name + "@" + n.tickText(r.tick),
		Job: r.e.Name, Node: n.id, Tick: time.UnixMilli(r.tick).UTC(), Fence: r.lease.Fence(), Attempt: r.attempt,
		logger: n.cfg.Logger, lease: r.lease,
	}
	if r.last != 0 {
		r.info.Last = time.UnixMilli(r.last).UTC()
	}
	return &r.info
}

// outcomeOf names how the run ended, for log and journal.
func (r *running) outcomeOf(f *runError) string {
	switch {
	case r.lost():
		return driver.OutcomeLost
	case f == nil:
		return driver.OutcomeOK
	case f.panicked:
		return driver.OutcomePanic
	case errors.Is(f.cause, ErrTimeout):
		return driver.OutcomeTimeout
	case errors.Is(f.cause, ErrReplaced):
		return driver.OutcomeReplaced
	case errors.Is(f.cause, ErrDrained):
		return driver.OutcomeInterrupted
	}
	return driver.OutcomeFailed
}

// lost reports whether the lease is gone, whatever ended its context first.
func (r *running) lost() bool { return errors.Is(r.lease.Check(), lock.ErrLost) }

func (r *running) cause() error { return context.Cause(r.lease.Context()) }

// end logs how the run ended and tells the store. A run whose lease was lost
// before its function had succeeded is left to whoever takes it over or settles
// it; one that succeeded too late says so, unless somebody has it already.
func (r *running) end(began time.Time, f *runError) {
	outcome := r.outcomeOf(f)
	if outcome == driver.OutcomeLost {
		r.node.mu.Lock()
		r.tellLoss()
		r.node.unlock()
	}
	r.node.events.runFinished(r, outcome, began, f)
	switch {
	case outcome == driver.OutcomeLost && f != nil:
		r.abandon()
	case outcome == driver.OutcomeInterrupted && r.e.Rules.GiveBack:
		r.leave(driver.EndRequest{Kind: driver.EndGivenBack, Outcome: outcome, Error: f.err()})
	default:
		r.leave(driver.EndRequest{Kind: driver.EndDone, Outcome: outcome, OK: outcome == driver.OutcomeOK, Error: f.err()})
	}
}

// abandon frees the slot and leaves the lease to its deadline.
func (r *running) abandon() {
	r.node.vacate(r)
	r.lease.Abandon(lock.ErrLost)
	r.goOn(driver.EndAnswer{})
	r.node.ended()
}

// Ended takes the store's answer to the end of this run: what waited for it can
// go on.
func (r *running) Ended(e driver.EndAnswer) {
	n := r.node
	if e.Err == nil { // an ending in doubt says nothing new of the store
		n.monitor.Heard(time.Now())
	}
	r.settled()
	if !e.Ended || e.Waiting != 0 || r.e.Rules.Backlog() || n.asks(r.e) {
		r.goOn(e)
	}
	n.ended()
}

// goOn starts what waited for the end of a run, and the next of missed ticks. If
// this node was not the one that ended it, it watches over whoever has the tick
// now: that node may die as well.
func (r *running) goOn(a driver.EndAnswer) {
	n, e := r.node, r.e
	n.mu.Lock()
	now := n.clock.Ms()
	if !a.Ended && !n.draining.Load() {
		n.look(watched{e, r.tick}, r.lease.Fence(), now)
	}
	if a.Waiting != 0 && !n.draining.Load() {
		n.lookFreed(watched{e, a.Waiting}, a.Fence, now)
	}
	if r.backlog || e.link != nil {
		n.link(e, e.mark, now)
	}
	n.askHeld(e, now)
	n.unpark(e, now)
	n.arm()
	n.mu.Unlock()
}

// asks reports whether this node waits for the verdict of a tick, which may be held by
// a run of the job.
func (n *Node) asks(e *entry) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return e.latest != nil || len(n.parked[e]) > 0
}

// vacate takes runs that returned off the books and gives their slots to the next.
func (n *Node) vacate(rs ...*running) {
	n.mu.Lock()
	for _, r := range rs {
		n.runs.remove(r)
	}
	n.free += len(rs)
	if n.queue.count() > 0 {
		n.arm()
	}
	n.stir()
	n.mu.Unlock()
}

// ended counts a run whose end the store knows, or never will.
func (n *Node) ended() {
	n.unended.Add(-1)
	n.stir()
}

// pauseFor reports whether d passed before ctx ended.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tickText formats a tick. Many jobs share an instant, so the last one is kept.
func (n *Node) tickText(ms int64) string {
	if last := n.lastTick.Load(); last != nil && last.ms == ms {
		return last.text
	}
	t := &tickText{ms, formatTick(ms)}
	n.lastTick.Store(t)
	return t.text
}

type tickText struct {
	ms   int64
	text string
}

const tickLayout = "2006-01-02T15:04:05.000Z07:00"
