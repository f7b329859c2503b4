package scheduler

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock"
)

// The rhythms of a node that has nothing else to do: at most one command in five
// seconds.
const (
	greeting  = time.Second // after the first beat: nodes that start together learn of each other soon
	beatEvery = 10 * time.Second
	beatTTL   = 25 * time.Second // two beats may be lost
	rotaEvery = 10 * time.Second
	rotaSize  = 200  // how many jobs a turn reads
	rotaScan  = 2000 // of how many that may need it
	settling  = 2 * time.Second
)

// A bell wakes a waiting goroutine; rung twice, it still rings once.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// beat tells the store that this node lives, learns who else does, and reads the
// clock. When a reading differs by a step it reads on until that is decided. It
// reports whether a node has come.
func (n *Node) beat(ctx context.Context) (came bool) {
	p, err := within(ctx, n.cfg.StoreTimeout, func(ctx context.Context) (lock.Pulse, error) {
		return n.cfg.Store.Beat(ctx, n.id, beatTTL)
	})
	n.reached(err == nil, err)
	if err != nil {
		return false
	}
	n.mu.Lock()
	old := n.members
	n.members = membersOf(n.id, p.Nodes)
	if came = n.members.more(&old); came {
		n.round.whole(&n.roster)
	}
	n.mu.Unlock()
	n.observe(ctx, p.Readings)
	n.recognise(ctx, p.Readings)
	return came
}

// observe feeds the clock. A reading that differs by a step is followed by others,
// until enough agree or too many do not. Then the next beat goes on: a clock that jumps
// about, or masters whose clocks disagree, keep no beat from its time.
func (n *Node) observe(ctx context.Context, rs []lock.Reading) {
	stepped, again := n.clock.observe(rs)
	for reads := 1; again && reads < mostReads && pauseFor(ctx, 100*time.Millisecond); reads++ {
		rs, err := within(ctx, n.cfg.StoreTimeout, n.cfg.Store.Now)
		if err != nil {
			return
		}
		stepped, again = n.clock.observe(rs)
	}
	n.compareReadings(again)
	if stepped != 0 {
		n.events.clockStepped(stepped)
		n.shift(stepped.Milliseconds())
	}
	n.compareClocks()
}

// compareReadings warns of a store whose clock gives readings that never agree, again
// each minute.
func (n *Node) compareReadings(disagree bool) {
	if !disagree || !n.disagreed.IsZero() && time.Since(n.disagreed) < time.Minute {
		return
	}
	n.disagreed = time.Now()
	n.events.clockUnsteady()
}

// shift moves what is planned along with a step of the clock: the pauses that it
// stands for stay as long as they were.
func (n *Node) shift(step int64) {
	n.mu.Lock()
	n.agenda = n.agenda.shifted(step)
	n.shelf.shift(step)
	for w, p := range n.watches {
		p.at += step
		n.watches[w] = p
	}
	n.arm()
	n.mu.Unlock()
}

// compareClocks warns when this machine's clock is off the store's, by more than slow
// answers explain, once until it changes.
func (n *Node) compareClocks() {
	offset := time.Now().Add(n.cfg.ClockOffset).Sub(n.clock.now())
	if offset.Abs() <= n.cfg.ClockWarn+n.clock.wrongBy() {
		n.warned = 0
		return
	}
	if (offset - n.warned).Abs() > n.cfg.ClockWarn {
		n.warned = offset
		n.events.clockOffset(offset)
	}
}

// beats runs until ctx ends. It owns the fields that only it uses.
func (n *Node) beats(ctx context.Context) {
	t := time.NewTimer(greeting)
	defer t.Stop()
	greeted := false // those that come with this node know nothing yet
	for {
		select {
		case <-t.C:
		case <-n.beater:
		case <-ctx.Done():
			return
		}
		if n.beat(ctx) && greeted {
			n.comers.ring()
		}
		greeted = true
		t.Reset(beatEvery)
	}
}

// rota opens what has no mark in the store, and reads the state of all jobs in
// turn: a run nobody else saw, or yesterday's miss, is found. Its first turn is
// when the others have noticed this node and have read their jobs again.
func (n *Node) rota(ctx context.Context) {
	t := time.NewTimer(beatEvery + settling)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if n.draining.Load() { // to open a job is to say that it is looked after
				continue
			}
			if es := n.turn(); len(es) > 0 {
				n.open(ctx, es, settling)
				n.compare(ctx)
			}
			t.Reset(rotaEvery)
		case <-n.comers:
			t.Reset(0)
		case <-n.opener:
			if !n.openAll(ctx) && pauseFor(ctx, time.Second) {
				n.opener.ring()
			}
		case <-ctx.Done():
			return
		}
	}
}

// openAll opens what was asked for. It reports whether all of it is open.
func (n *Node) openAll(ctx context.Context) bool {
	n.mu.Lock()
	es := n.reopen
	n.reopen = nil
	n.mu.Unlock()
	for len(es) > 0 {
		part := es[:min(len(es), sendMax)]
		es = es[len(part):]
		if failed := n.open(ctx, part, 0); len(failed) > 0 {
			n.mu.Lock()
			n.reopen = append(append(n.reopen, failed...), es...)
			n.mu.Unlock()
			return false
		}
	}
	return true
}

// open registers jobs in the store and reads what it has of them. It returns
// those that could not be opened.
func (n *Node) open(ctx context.Context, es []*entry, slack time.Duration) (failed []*entry) {
	os := make([]lock.Opening, len(es))
	n.mu.Lock()
	now := n.clock.ms()
	for i, e := range es {
		os[i] = lock.Opening{Key: e.name, Node: n.id, Revision: n.revision(e.spec, now), Spec: e.spec.Text(), Zone: e.spec.Zone().String(), Policies: e.rules.policies, Mark: e.mark}
	}
	n.mu.Unlock()
	read, err := within(ctx, n.cfg.StoreTimeout, func(ctx context.Context) ([]lock.Series, error) {
		return n.cfg.Store.Open(ctx, os), nil
	})
	if err != nil {
		n.reached(false, err)
		return es
	}
	n.mu.Lock()
	now = n.clock.ms()
	for i, e := range es {
		if read[i].Err != nil {
			failed, err = append(failed, e), read[i].Err
			continue
		}
		if read[i].Mark < os[i].Mark {
			n.forgot(e, read[i].Mark)
		}
		n.opened(e, &read[i], now, slack)
		n.note(e, &read[i])
	}
	n.arm()
	n.mu.Unlock()
	n.reached(len(failed) < len(es), err)
	return failed
}

// opened takes the state of a job: looks at runs that are over or will be, and
// asks for the latest tick if nobody has.
func (n *Node) opened(e *entry, s *lock.Series, now int64, slack time.Duration) {
	e.mark = max(e.mark, s.Mark)
	if e.since == 0 {
		e.since = s.Since // of this process's spec; its revision may change with the year
	}
	if n.draining.Load() {
		return // another node looks; a look planned now would keep the drain waiting for it
	}
	for i := range s.Runs {
		n.found(e, &s.Runs[i], s, now)
	}
	if e.prev > max(e.mark, e.since) && e.latest == nil && e.link == nil && now-e.prev >= slack.Milliseconds() {
		a := &ask{e: e, tick: e.prev, after: e.spec.PrevMilli(e.prev - 1)}
		e.latest = a
		n.agenda.add(now, a)
	}
}

// found plans a look at a run that the store has: when its lease is over, or now
// if it was given back.
func (n *Node) found(e *entry, r *lock.Run, s *lock.Series, now int64) {
	until := int64(0)
	for i := range s.Runs {
		if o := &s.Runs[i]; o.State == lock.RunOpen && (o == r || r.State == lock.RunWaiting) {
			until = max(until, o.Until)
		}
	}
	a := lock.Answer{Number: r.Number, Node: lock.NodeOf(r.Owner), Left: time.Duration(max(0, until-s.Now)) * time.Millisecond}
	n.look(watched{e, r.Number}, r.Fence, n.lookAt(e, &a, now))
}
