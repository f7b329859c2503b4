package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// A wake costs what is started: of ten thousand asks that wait for a slot it looks at
// none where no slot is free, and else at those alone whose turn it is.
func TestWakeLooksAtWhatIsStarted(t *testing.T) {
	n := &Node{}
	e := entryOf()
	for i := range 10_000 {
		n.queue.push(&ask{e: e, tick: int64(i)})
	}
	turns := slices.Clone(n.queue.asks[:3])
	for i := 3; i < len(n.queue.asks); i++ {
		n.queue.asks[i] = nil // to look at it would panic
	}
	if got := n.admit(nil, 0); len(got) != 0 {
		t.Errorf("%d asks are sent without a slot", len(got))
	}
	n.free = 3
	fresh := &ask{e: e, tick: 10_000}
	if got := n.admit([]*ask{fresh}, 0); !slices.Equal(got, turns) || n.free != 0 || !fresh.queued || n.queue.count() != 10_000-3+1 {
		t.Errorf("%d asks are sent, %d slots are free, %d asks wait", len(got), n.free, n.queue.count())
	}
}

// Asks come out in the order in which they went in, without those that left, whatever
// comes in between, and those that left take no room for long.
func TestLine(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(1, seed))
		var l line
		var want []*ask
		for range 2000 {
			switch n := r.IntN(5); {
			case n < 2:
				a := &ask{}
				l.push(a)
				want = append(want, a)
			case n < 4 && len(want) > 0:
				i := r.IntN(len(want))
				l.leave(want[i])
				want = slices.Delete(want, i, i+1)
			case len(want) > 0:
				if got := l.pop(); got != want[0] || got.queued {
					t.Fatal("the ask is another than the oldest that waits")
				}
				want = want[1:]
			}
			if l.count() != len(want) || len(l.asks) > 2*len(want)+1 {
				t.Fatalf("%d asks wait in %d places, want %d", l.count(), len(l.asks), len(want))
			}
		}
		if got := l.all(); !slices.Equal(got, want) || l.count() != 0 || l.pop() != nil {
			t.Fatalf("%d asks are left, want %d", len(got), len(want))
		}
	}
}

// A look that was given up, and an ask that another took the place of, leave the line.
// One that may hold a lease is sent without a slot.
func TestLeaveTheLine(t *testing.T) {
	n := &Node{watches: map[watched]plan{}}
	e := entryOf()
	w := watched{e, 1}
	n.look(w, 7, 0)
	n.admit(n.agenda.take(0), 0)
	stale, unsure := &ask{e: e, tick: 2}, &ask{e: e, tick: 3, until: 5}
	n.admit([]*ask{stale, unsure}, 0)
	if n.queue.count() != 3 {
		t.Fatalf("%d asks wait, want 3", n.queue.count())
	}
	n.unwatch(w)
	n.outdate(stale, 0)
	n.outdate(unsure, 0)
	if sent := n.admit(n.agenda.take(0), 0); n.queue.count() != 0 || !slices.Equal(sent, []*ask{unsure}) || unsure.slot {
		t.Errorf("%d asks wait, %d are sent, one with a slot: %v", n.queue.count(), len(sent), unsure.slot)
	}
}

// All that is planned moves along with a step of the clock.
func TestShiftMovesAllPlans(t *testing.T) {
	t.Parallel()
	for _, step := range []int64{-20_000, 7_000} {
		w := watched{new(entry), 1000}
		look := &ask{e: w.e, tick: w.tick, look: true}
		n := &Node{watches: map[watched]plan{w: {look, 50_000}}}
		n.agenda.add(50_000, look)
		n.agenda.add(60_000, new(ask))
		n.shelf.share(55_000)
		n.shift(time.Duration(step) * time.Millisecond)
		if p := n.watches[w]; p.ask != look || p.at != 50_000+step {
			t.Errorf("step %d: the watch is at %d", step, p.at)
		}
		if n.agenda.next() != 50_000+step || n.shelf.next() != 55_000+step || n.agenda.count != 2 {
			t.Errorf("step %d: the agenda begins at %d, the shelf at %d", step, n.agenda.next(), n.shelf.next())
		}
	}
}

// entryOf returns a job of which nothing is set.
func entryOf() *entry {
	return &entry{Entry: timetable.Entry{Job: &job.Job{Rules: &job.Rules{}}}}
}
