package claims

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/timetable"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// The cost of a wake depends on the claims that it starts. Of ten thousand claims that wait for a
// slot it examines none if no slot is free, and otherwise only the first ones.
func TestWakeLooksAtWhatIsStarted(t *testing.T) {
	c := New(Config{})
	e := entryOf()
	for i := range 10_000 {
		c.waiting.push(&Pending{e: e, job: e.Job, tick: int64(i)})
	}
	turns := slices.Clone(c.waiting.claims[:3])
	for i := 3; i < len(c.waiting.claims); i++ {
		c.waiting.claims[i] = nil // examining it would panic
	}
	if got := c.admit(nil, 0); len(got) != 0 {
		t.Errorf("%d asks are sent without a slot", len(got))
	}
	c.free = 3
	fresh := &Pending{e: e, job: e.Job, tick: 10_000}
	if got := c.admit([]*Pending{fresh}, 0); !slices.Equal(got, turns) || c.free != 0 || fresh.state != stateQueued || c.waiting.count() != 10_000-3+1 {
		t.Errorf("%d asks are sent, %d slots are free, %d asks wait", len(got), c.free, c.waiting.count())
	}
}

// Claims leave the queue in the order of their arrival, without those that left earlier, and those
// that left do not occupy memory for long.
func TestLine(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(1, seed))
		var q localQueue
		var want []*Pending
		for range 2000 {
			switch n := r.IntN(5); {
			case n < 2:
				a := &Pending{}
				q.push(a)
				want = append(want, a)
			case n < 4 && len(want) > 0:
				i := r.IntN(len(want))
				q.leave(want[i])
				want = slices.Delete(want, i, i+1)
			case len(want) > 0:
				if got := q.pop(); got != want[0] || got.state == stateQueued {
					t.Fatal("the ask is another than the oldest that waits")
				}
				want = want[1:]
			}
			if q.count() != len(want) || len(q.claims) > 2*len(want)+1 {
				t.Fatalf("%d asks wait in %d places, want %d", q.count(), len(q.claims), len(want))
			}
		}
		if got := q.all(); !slices.Equal(got, want) || q.count() != 0 || q.pop() != nil {
			t.Fatalf("%d asks are left, want %d", len(got), len(want))
		}
	}
}

// A peek that was given up, and a claim that another one replaced, leave the queue. A claim that
// may hold a lease is sent without a slot.
func TestLeaveTheLine(t *testing.T) {
	c := New(Config{})
	e := entryOf()
	w := run{e, 1}
	c.schedule(w, 7, 0, false)
	c.admit(c.retries.take(0), 0)
	stale, unsure := &Pending{e: e, job: e.Job, tick: 2}, &Pending{e: e, job: e.Job, tick: 3, until: 5}
	c.admit([]*Pending{stale, unsure}, 0)
	if c.waiting.count() != 3 {
		t.Fatalf("%d asks wait, want 3", c.waiting.count())
	}
	c.cancel(w)
	c.supersede(stale, 0)
	c.supersede(unsure, 0)
	if sent := c.admit(c.retries.take(0), 0); c.waiting.count() != 0 || !slices.Equal(sent, []*Pending{unsure}) || unsure.slots != 0 {
		t.Errorf("%d asks wait, %d are sent, one with %d slots", c.waiting.count(), len(sent), unsure.slots)
	}
}

// All planned instants move with a step of the clock.
func TestShiftMovesAllPlans(t *testing.T) {
	t.Parallel()
	for _, step := range []int64{-20_000, 7_000} {
		w := run{entryOf(), 1000}
		peek := &Pending{e: w.e, job: w.e.Job, tick: w.tick, purpose: forProbe}
		c := New(Config{})
		c.probes[w] = probe{peek, 50_000, false}
		c.retries.add(50_000, peek)
		c.retries.add(60_000, new(Pending))
		c.deferred.add(55_000, dueTick{e: w.e, job: w.e.Job})
		c.Shift(step)
		if p := c.probes[w]; p.claim != peek || p.at != 50_000+step {
			t.Errorf("step %d: the watch is at %d", step, p.at)
		}
		if c.retries.next() != 50_000+step || c.deferred.next(c.sent) != 55_000+step || c.retries.count != 2 {
			t.Errorf("step %d: the agenda begins at %d, the shelf at %d", step, c.retries.next(), c.deferred.next(c.sent))
		}
	}
}

// entryOf returns a job without any settings.
func entryOf() *entry {
	return &entry{Entry: timetable.Entry{Job: &job.Job{Rules: &job.Rules{Lease: 1}}}}
}

// A claim is refused while an earlier request of it that seemed lost may still be granted, up to an
// instant. It is sent once more after that instant, and not in its last millisecond.
func TestRefusedClaimOutlivesALateRequest(t *testing.T) {
	c := New(Config{})
	until := 100 * int64(retryGrid)
	c.drop(&Pending{e: entryOf(), tick: 3, until: until}, 0)
	if early := c.retries.take(until); len(early) != 0 {
		t.Errorf("it is sent again while the first request may be granted")
	}
	if late := c.retries.take(until + int64(retryGrid)); len(late) != 1 || !late[0].stale || late[0].reply != replyOpen {
		t.Errorf("%d claims are sent afterwards, want it once, in doubt", len(late))
	}
}

// In a drain no missed tick is claimed, whether only this spec or a former one has it too.
func TestDrainEndsChains(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	const now = 100_000
	for name, former := range map[string][]job.Former{"of this spec": nil, "of both specs": {{Spec: schedule, Until: now - 5000}}} {
		for _, draining := range []bool{false, true} {
			c, e := New(Config{}), entryOf()
			e.Spec, e.Rules = schedule, &job.Rules{Policy: policy.Record{Misfire: policy.All, Deadline: time.Hour}}
			e.since, e.mark = now-5000, now-8000
			if former != nil {
				c.changes[e] = &change{former: former}
				e.since = now
			}
			c.draining = draining
			c.chain(e, e.mark, now)
			if sent := c.retries.take(now); len(sent) > 0 == draining || (e.chain != nil) == draining {
				t.Errorf("%s, in a drain %v: %d missed ticks are claimed", name, draining, len(sent))
			}
		}
	}
}

// changedSpec is the time of the tests of a changed spec, in ms.
const changedSpec = 100_000

// chained begins a chain of a job whose spec has changed. Both specs have the tick of 40 s, which may
// have started until 70 s. It returns the claim that is sent first.
func chained(t *testing.T) (c *Claims, e *entry, first *Pending) {
	t.Helper()
	const now = changedSpec
	before, err := spec.Parse("*/4 * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	c, e = New(Config{}), entryOf()
	if e.Spec, err = spec.Parse("*/10 * * * * *", time.UTC); err != nil {
		t.Fatal(err)
	}
	e.Rules = &job.Rules{Policy: policy.Record{Misfire: policy.All, Deadline: 30 * time.Second}}
	e.mark, e.since = now-64_000, now-45_000
	c.changes[e] = &change{former: []job.Former{{Spec: before, Since: now - 90_000, Until: now - 45_000}}}
	c.chain(e, e.mark, now)
	sent := c.retries.take(now)
	if len(sent) != 1 || sent[0].tick != now-48_000 || sent[0].former == nil || sent[0].between == 0 {
		t.Fatalf("sent first: %+v", sent)
	}
	return c, e, sent[0]
}

// wantChain wants the chain to go on with the first tick of the new spec.
func wantChain(t *testing.T, c *Claims) {
	t.Helper()
	if sent := c.retries.take(changedSpec); len(sent) != 1 || sent[0].tick != changedSpec-40_000 || sent[0].former != nil {
		t.Errorf("sent then: %+v", sent)
	}
}

// A chain begins behind the ticks of a former spec that may no longer start: they are settled first.
func TestChainAfterAChange(t *testing.T) {
	c, _, first := chained(t)
	c.Answer(first, &series.Answer{Kind: series.KindMissed, Mark: changedSpec - 48_000, Now: changedSpec}, changedSpec)
	wantChain(t, c)
}

// A store that has failed over may have lost decisions that the node has seen. The ticks of the former spec that are undecided again
// get their verdict with the next one that is settled.
func TestChainAfterLostWrites(t *testing.T) {
	c, e, first := chained(t)
	lost := e.mark - 16_000
	c.Answer(first, &series.Answer{Kind: series.KindGap, Mark: lost, Now: changedSpec}, changedSpec)
	sent := c.retries.take(changedSpec)
	if len(sent) != 1 || sent[0] != first || first.after != lost || first.between != 7 {
		t.Errorf("sent then: %+v, after %d with %d between, want the same claim after %d with 7", sent, first.after, first.between, lost)
	}
}

// A chain whose claim learns of lost decisions goes on from the mark of the store, whether its tick is of both specs or of the new one
// alone. A chain that named the lost mark would send that claim again and again without a pause, until the tick may no longer start.
func TestChainFollowsALostMark(t *testing.T) {
	for name, common := range map[string]bool{"of both specs": true, "of the new spec": false} {
		c, e, first := chained(t)
		e.Start(changedSpec)
		if common {
			e.Rules.Policy.Deadline = time.Hour // the tick of 40 s may start
			c.changes[e].claim = nil
			c.chain(e, e.mark, changedSpec)
		} else {
			c.Answer(first, &series.Answer{Kind: series.KindMissed, Mark: changedSpec - 48_000, Now: changedSpec}, changedSpec)
		}
		const lost = changedSpec - 80_000
		p := c.retries.take(changedSpec)[0]
		c.Answer(p, &series.Answer{Kind: series.KindGap, Mark: lost, Now: changedSpec}, changedSpec)
		if sent := c.retries.take(changedSpec); len(sent) != 1 || sent[0].tick != p.tick || sent[0].after != lost {
			t.Errorf("%s: sent then: %+v, want a claim of %d after %d", name, sent, p.tick, lost)
		}
	}
}

// A store loses decisions after a change of the spec is over: the next claim covers the tick of 40 s, which both specs have, as missed,
// whether it is a single claim or the first of a chain.
func TestLostTickOfBothSpecs(t *testing.T) {
	for misfire, want := range map[string]struct {
		tick    int64
		between int
	}{policy.All: {60_000, 1}, policy.Skip: {110_000, 6}} {
		c, e, first := chained(t)
		e.Rules.Policy.Misfire = misfire
		c.Answer(first, &series.Answer{Kind: series.KindPassed, Mark: changedSpec, Now: changedSpec}, changedSpec)
		const now = changedSpec + 10_000
		e.Start(now)
		e.latest = &Pending{e: e, job: e.Job, tick: now, after: changedSpec}
		c.Answer(e.latest, &series.Answer{Kind: series.KindGap, Mark: 36_000, Now: now}, now)
		if sent := c.retries.take(now); len(sent) != 1 || sent[0].tick != want.tick || sent[0].after != 36_000 || sent[0].between != want.between {
			t.Errorf("misfire %s: sent then: %+v, want a claim of %d after 36000 with %d between", misfire, sent, want.tick, want.between)
		}
	}
}

// A chain that waits for a claim of a former spec's tick goes on after it, although an opening finds
// meanwhile that another node has settled all those ticks.
func TestChainAfterAnotherSettled(t *testing.T) {
	c, e, first := chained(t)
	e.mark = changedSpec - 45_000
	c.changed(e, nil, changedSpec)
	c.Answer(first, &series.Answer{Kind: series.KindPassed, Mark: e.mark, Now: changedSpec}, changedSpec)
	if wantChain(t, c); c.changes[e] != nil {
		t.Error("the change is still in progress")
	}
}
