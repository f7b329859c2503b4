package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// The rhythms of a node that has nothing else to do: at most one command in five
// seconds.
const (
	greeting  = time.Second // after the first beat: nodes that start together learn of each other soon
	beatEvery = 10 * time.Second
	beatTTL   = 25 * time.Second // two beats may be lost
	rotaEvery = 10 * time.Second
	rotaSize  = 200 // how many jobs a turn reads at least
	rotaTurns = 60  // in how many turns the nodes together read all jobs
	rotaScan  = 10  // how many jobs a turn goes through for each that it reads
	settling  = 2 * time.Second
)

// beat tells the store that this node lives, learns who else does, and reads the
// clock, also where the list of nodes cannot be read: no job waits for that. When a
// reading differs by a step it reads on until that is decided. It reports whether a node
// has come.
func (n *Node) beat(ctx context.Context) (came bool) {
	p, err := bounded.Call(ctx, n.cfg.StoreTimeout, func(ctx context.Context) (driver.BeatAnswer, error) {
		return n.cfg.Store.Beat(ctx, n.id, beatTTL)
	})
	n.monitor.Answered(health.Part{Kind: health.Nodes}, err)
	if err != nil {
		if n.shards > 1 || !errors.Is(err, context.DeadlineExceeded) { // others may answer, or the list alone is refused
			n.readClock(ctx)
		}
		return false
	}
	found := rendezvous.Of(n.id, p.Nodes) // not under the mutex: there may be many
	n.mu.Lock()
	old := n.members
	n.members = found
	if came = n.members.Joined(&old); came {
		n.round.whole(n.entries.Size())
	}
	n.mu.Unlock()
	n.observe(ctx, p.Readings)
	n.recognise(ctx, p.Readings)
	return came
}

// readClock reads the clock where the list of nodes does not answer.
func (n *Node) readClock(ctx context.Context) {
	rs, err := bounded.Call(ctx, n.cfg.StoreTimeout, func(ctx context.Context) ([]driver.ClockReading, error) {
		ctx, stop := context.WithTimeout(ctx, n.cfg.StoreTimeout/2) // servers that are silent are left out then
		defer stop()
		return n.cfg.Store.Now(ctx)
	})
	if err == nil {
		n.observe(ctx, rs)
	}
}

// observe feeds the clock. A reading that differs by a step is followed by others,
// until enough agree or too many do not. Then the next beat goes on: a clock that jumps
// about, or masters whose clocks disagree, keep no beat from its time.
func (n *Node) observe(ctx context.Context, rs []driver.ClockReading) {
	stepped, again := n.clock.Observe(rs)
	for reads := 1; again && reads < clock.MostReads && bounded.Pause(ctx, 100*time.Millisecond); reads++ {
		rs, err := bounded.Call(ctx, n.cfg.StoreTimeout, n.cfg.Store.Now)
		if err != nil {
			return
		}
		stepped, again = n.clock.Observe(rs)
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
	offset := time.Now().Add(n.cfg.ClockOffset).Sub(n.clock.Now())
	if offset.Abs() <= n.cfg.ClockWarn+n.clock.WrongBy() {
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
			n.comers.Raise()
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
	again := time.NewTimer(openPause)
	defer again.Stop()
	for {
		select {
		case <-t.C:
			if n.draining.Load() { // to open a job is to say that it is looked after
				continue
			}
			if es := n.turn(n.clock.Ms()); len(es) > 0 {
				n.read(ctx, es)
				if n.anyUnopened() { // the tries of openAll may have ended long ago
					again.Reset(openPause)
				}
				n.compare(ctx)
			}
			t.Reset(rotaEvery)
		case <-n.comers:
			t.Reset(0)
		case <-n.opener:
			if !n.openAll(ctx) {
				again.Reset(openPause)
			}
		case <-again.C:
			if !n.draining.Load() && !n.openAll(ctx) {
				again.Reset(openPause)
			}
		case <-ctx.Done():
			return
		}
	}
}

// read reads the state of jobs, each shard by itself.
func (n *Node) read(ctx context.Context, es []*entry) {
	var wg sync.WaitGroup
	for _, some := range apart(n.shards, es, shardOfEntry) {
		wg.Go(func() {
			for few := range slices.Chunk(some, sendMax) {
				n.open(ctx, few, settling)
			}
		})
	}
	wg.Wait()
}

// opened takes the state of a job: looks at runs that are over or will be, and
// asks for the latest tick if nobody has.
func (n *Node) opened(e *entry, s *driver.Series, now int64, slack time.Duration) {
	e.mark, e.open = max(e.mark, s.Mark), true
	n.runs.Opened(e.Job)
	if e.since == 0 {
		e.since = s.Since // of this process's spec; its revision may change with the year
	}
	if n.draining.Load() {
		return // another node looks; a look planned now would keep the drain waiting for it
	}
	for i := range s.Runs {
		n.found(e, &s.Runs[i], s, now)
	}
	if e.Last() > max(e.mark, e.since) && e.latest == nil && e.link == nil && now-e.Last() >= slack.Milliseconds() {
		a := &ask{e: e, tick: e.Last(), after: e.Spec.PrevMilli(e.Last() - 1)}
		e.latest = a
		n.agenda.add(now, a)
	}
}

// found plans a look at a run that the store has: when its lease is over, or now
// if it was given back.
func (n *Node) found(e *entry, r *driver.Run, s *driver.Series, now int64) {
	until := int64(0)
	for i := range s.Runs {
		if o := &s.Runs[i]; o.State == driver.RunOpen && (o == r || r.State == driver.RunWaiting) {
			until = max(until, o.Until)
		}
	}
	a := driver.Answer{Number: r.Number, Node: driver.NodeOf(r.Owner), Left: time.Duration(max(0, until-s.Now)) * time.Millisecond}
	n.look(watched{e, r.Number}, r.Fence, n.lookAt(e, &a, now))
}
