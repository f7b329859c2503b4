package claims

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A world is one node with one job, the rules of a store, and another node.
type world struct {
	slots   int // of the node
	c       *Claims
	job     *job.Job
	store   series.State
	now     int64
	owners  int
	sent    []flight       // requests on their way, oldest first
	late    []series.Claim // requests that the node gave up, and that may still arrive
	runs    []flight       // runs of the node, oldest first
	ends    []flight       // runs that have returned, and whose ends are not answered
	gone    []flight       // runs whose ends the store refused: their leases expire
	applied []func()       // answers to ends that the dispatcher has not got yet
	other   series.Claim   // the last claim of the other node
	fault   error          // a run that starts and should not
	removed bool           // the node has removed the job
	fence   int64          // its fence; 0: it was not granted
}

// A flight is a claim with its last request and, if it was granted, its run.
type flight struct {
	p     *Pending
	claim series.Claim
	fence int64
	run   job.Run
}

// drop is a journal that keeps nothing.
type drop struct{}

func (drop) Append(series.Line) {}

func newWorld(schedule *spec.Schedule, rules *job.Rules, slots int) *world {
	w := &world{now: 1_000_000_000_000, slots: slots}
	w.job = &job.Job{Name: "job", Spec: schedule, Rules: rules}
	w.c = New(Config{Slots: slots, Timeout: 2 * time.Second, Partitions: 1, Nodes: rendezvous.Of("a", nil), Shards: series.MaxShards, Revisions: new(job.Revisions)})
	w.c.Add(w.job, w.now)
	w.open()
	return w
}

func (w *world) us() int64 { return w.now * 1000 }

// open opens the job in the store.
func (w *world) open() {
	w.store.Open(w.us(), &series.OpenRequest{Node: "a"}, drop{})
	s := w.store.Series(w.us(), "job")
	w.c.Opened(w.job, &s, nil, 0, w.now, 0)
	w.take()
}

// take sends the requests that are due.
func (w *world) take() {
	for {
		b := w.c.Take(w.now, 0)
		for _, p := range b.Claims {
			claim := w.c.Send(p, func() string { w.owners++; return fmt.Sprintf("a/%d", w.owners) }, w.now)
			w.sent = append(w.sent, flight{p: p, claim: claim})
		}
		if !b.More {
			return
		}
	}
}

// pass lets time pass. The node renews its leases, unless it stands still for longer than they are.
func (w *world) pass(ms int64, stopped bool) {
	w.now += ms
	for _, r := range slices.Concat(w.runs, w.ends) {
		if !stopped {
			w.store.Renew(w.us(), &series.RunRef{Number: r.claim.Number, Owner: r.claim.Owner, Fence: r.fence, TTL: r.claim.TTL})
		}
	}
	w.take()
}

var errTimeout = errors.New("timeout")

// answer applies an answer to the oldest request. The node gives a grant that is void back at once.
func (w *world) answer(a series.Answer) {
	f := w.sent[0]
	w.sent = w.sent[1:]
	if w.c.Answer(f.p, &a, w.now) > 0 {
		f.run, f.fence = w.c.Run(f.p), a.Fence
		w.runs = append(w.runs, f)
		if gone := w.removed || w.c.draining && f.claim.Latest == past; gone != f.run.Void {
			w.fault = fmt.Errorf("%v was granted, of a job that was removed or in a drain: %v; its run is void: %v", f.p, gone, f.run.Void)
		}
		if f.run.Void {
			w.finish(len(w.runs) - 1)
			w.end(len(w.ends)-1, series.RunUnstarted)
		}
	}
	if len(w.c.Effects().Open) > 0 {
		w.open()
	}
	w.take()
}

// finish lets a run return.
func (w *world) finish(i int) {
	w.ends = append(w.ends, w.runs[i])
	w.runs[i].run.Ending.Add(1)
	w.runs = slices.Delete(w.runs, i, i+1)
	w.c.Vacate()
	w.take()
}

// end applies the end of a run in the store and its answer.
func (w *world) end(i int, kind series.RunState) {
	f := w.ends[i]
	w.ends = slices.Delete(w.ends, i, i+1)
	ref := series.RunRef{Number: f.claim.Number, Owner: f.claim.Owner, Fence: f.fence}
	a := w.store.Release(w.us(), &series.EndRequest{RunRef: ref, State: kind, OK: true}, drop{})
	f.run.Ending.Add(-1)
	w.applied = append(w.applied, func() { w.c.Ended(w.job, f.claim.Number, f.fence, f.run.Backlog, a, w.now) })
}

// apply applies the answer to an end, some time after the count of ends was lowered.
func (w *world) apply() {
	w.applied[0]()
	w.applied = w.applied[1:]
	w.take()
}

func (w *world) deliver(claim *series.Claim) series.Answer {
	return w.store.Claim(w.us(), claim, drop{})
}

// An event is something that may happen. It reports whether it could.
type event struct {
	name string
	do   func(w *world) bool
}

var events = []event{
	{"300ms", func(w *world) bool { w.pass(300, false); return true }},
	{"second", func(w *world) bool { w.pass(1000, false); return true }},
	{"standstill", func(w *world) bool { w.pass(5000, true); return true }},
	{"answer", func(w *world) bool {
		return len(w.sent) > 0 && w.then(func() { w.answer(w.deliver(&w.sent[0].claim)) })
	}},
	{"lost reply", func(w *world) bool {
		return len(w.sent) > 0 && w.then(func() {
			w.deliver(&w.sent[0].claim)
			w.answer(series.Answer{Err: errTimeout})
		})
	}},
	{"lost request", func(w *world) bool {
		return len(w.sent) > 0 && w.then(func() { w.answer(series.Answer{Err: errTimeout}) })
	}},
	{"refused request", func(w *world) bool {
		return len(w.sent) > 0 && w.then(func() { w.answer(series.Answer{Err: driver.NotDone(errTimeout)}) })
	}},
	{"late request", func(w *world) bool {
		return len(w.sent) > 0 && w.then(func() {
			w.late = append(w.late, w.sent[0].claim)
			w.answer(series.Answer{Err: errTimeout})
		})
	}},
	{"it arrives", func(w *world) bool {
		return len(w.late) > 0 && w.then(func() {
			w.deliver(&w.late[0])
			w.late = w.late[1:]
		})
	}},
	{"return", func(w *world) bool { return len(w.runs) > 0 && w.then(func() { w.finish(0) }) }},
	{"end", func(w *world) bool { return len(w.ends) > 0 && w.then(func() { w.end(0, series.RunDone) }) }},
	{"given back", func(w *world) bool { return len(w.ends) > 0 && w.then(func() { w.end(0, series.RunGivenBack) }) }},
	{"applied end", func(w *world) bool { return len(w.applied) > 0 && w.then(w.apply) }},
	{"refused end", func(w *world) bool {
		return len(w.ends) > 0 && w.then(func() {
			f := w.ends[0]
			w.ends, w.gone = w.ends[1:], append(w.gone, f)
			f.run.Ending.Add(-1)
			w.applied = append(w.applied, func() { w.c.EndRefused(w.job, f.claim.Number, f.fence, w.now) })
		})
	}},
	{"other claims", func(w *world) bool {
		tick := w.job.Spec.PrevMilli(w.now)
		if tick == w.other.Number {
			return false
		}
		r := w.job.Rules
		w.other = series.Claim{Owner: fmt.Sprintf("b/%d", tick), Number: tick, After: w.store.Mark, TTL: r.LeaseOf(time.Second), Deadline: time.Minute,
			Attempts: r.Attempts, Rerun: r.Rerun, Overlap: r.Overlap, Latest: w.now + 2000}
		a := w.deliver(&w.other)
		w.fence = 0
		if a.Kind == series.KindGranted {
			w.fence = a.Fence
		}
		return true
	}},
	{"other ends", func(w *world) bool {
		return w.fence != 0 && w.then(func() {
			ref := series.RunRef{Number: w.other.Number, Owner: w.other.Owner, Fence: w.fence}
			w.store.Release(w.us(), &series.EndRequest{RunRef: ref, State: series.RunDone, OK: true}, drop{})
			w.fence = 0
		})
	}},
	{"backfill", func(w *world) bool {
		last := w.store.Mark
		request := series.Control{Key: "job", Action: series.ActionBackfill, Op: fmt.Sprint(w.store.Change), Who: "ann", Reason: "again", Numbers: []int64{last - 1000, last}, Room: 300, Seen: series.AnySeen}
		a, _ := w.store.Control(w.us(), &request, w.store.Change+1, drop{})
		if a.Made && !w.removed && !w.c.draining {
			w.open() // the node is notified
		}
		return a.Made
	}},
	{"remove", func(w *world) bool {
		w.removed = true
		w.c.Change([]*job.Job{w.job}, nil, w.now)
		w.take()
		return true
	}},
	{"replace", func(w *world) bool {
		j := *w.job
		w.job, w.removed = &j, false
		w.c.Change(nil, []*job.Job{w.job}, w.now)
		w.open()
		return true
	}},
	{"drain", func(w *world) bool {
		return !w.c.draining && w.then(func() { w.c.Drain(w.now); w.take() })
	}},
}

// then runs f.
func (w *world) then(f func()) bool { f(); return true }

// check returns a violation of an invariant.
func (w *world) check() error {
	c, e := w.c, w.c.entry(w.job)
	if w.fault != nil {
		return w.fault
	}
	places := map[*Pending]state{}
	var faults []string
	place := func(in state, ps ...*Pending) {
		for _, p := range ps {
			if places[p] != stateHandled {
				faults = append(faults, fmt.Sprintf("%v is in two places, %d and %d", p, places[p], in))
			}
			if places[p] = in; p.state != in {
				faults = append(faults, fmt.Sprintf("%v is in place %d, in state %d", p, in, p.state))
			}
		}
	}
	for _, ps := range c.retries.all {
		place(stateTimed, ps...)
	}
	for _, p := range c.waiting.claims {
		if p.state == stateQueued { // others have left
			place(stateQueued, p)
		}
	}
	for _, ps := range c.parked {
		place(stateParked, ps...)
	}
	for _, s := range c.stalled {
		place(stateIdle, s.idle...)
	}
	for _, f := range w.sent {
		place(stateSent, f.p)
	}
	slots, failed := c.free+len(w.runs), 0
	for p := range places {
		slots += p.slots
		if p.failed {
			failed++
		}
	}
	if slots != w.slots {
		faults = append(faults, fmt.Sprintf("%d slots in all, want %d", slots, w.slots))
	}
	if failed != int(e.unanswered) {
		faults = append(faults, fmt.Sprintf("%d claims are unanswered, %d are counted", failed, e.unanswered))
	}
	for name, p := range map[string]*Pending{"latest": e.latest, "chain": e.chain} {
		if p != nil && !c.leaves(e) && places[p] == stateHandled {
			faults = append(faults, fmt.Sprintf("the %s claim, %v, is in no place", name, p))
		}
	}
	for _, r := range w.store.Runs {
		if r.State == series.RunOpen && w.now < r.Until && strings.HasPrefix(r.Owner, "a/") && !w.knows(places, &r) {
			faults = append(faults, fmt.Sprintf("the store granted %d to %s, which has forgotten the claim", r.Number, r.Owner))
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// knows reports whether the node has a run that the store has granted to it, or may find out.
func (w *world) knows(places map[*Pending]state, r *series.Run) bool {
	for _, f := range slices.Concat(w.runs, w.ends, w.gone) {
		if f.claim.Owner == r.Owner {
			return true
		}
	}
	for p := range places {
		if p.owner == r.Owner && p.mayHoldLease() {
			return true
		}
	}
	return false
}

// settle lets the network and both nodes work until nothing is left to do, and returns a violation.
func (w *world) settle() error {
	rounds := 120
	if w.c.draining {
		rounds = 40
	}
	for range rounds {
		for len(w.late) > 0 {
			w.deliver(&w.late[0])
			w.late = w.late[1:]
		}
		for len(w.sent) > 0 {
			w.answer(w.deliver(&w.sent[0].claim))
		}
		for len(w.runs) > 0 {
			w.finish(0)
		}
		for len(w.ends) > 0 {
			w.end(0, series.RunDone)
		}
		for len(w.applied) > 0 {
			w.apply()
		}
		if err := w.check(); err != nil {
			return err
		}
		w.pass(250, false)
	}
	e := w.c.entry(w.job)
	switch last := w.job.Spec.PrevMilli(w.now - 500); {
	case !w.c.leaves(e) && w.store.Mark < last:
		return fmt.Errorf("the mark is %d, and the tick %d has no verdict", w.store.Mark, last)
	case !w.c.leaves(e) && len(w.store.Backfill.Numbers) > 0:
		return fmt.Errorf("of a backfill %v has no run", w.store.Backfill.Numbers)
	case w.c.draining && w.c.Unsettled()+len(w.sent) > 0:
		return fmt.Errorf("after a drain %d claims are left", w.c.Unsettled()+len(w.sent))
	case len(w.c.stalled) > 0:
		return fmt.Errorf("the job is stalled, with %d unanswered claims, though the store answers", e.unanswered)
	}
	return nil
}

// searched are the rules of the searched jobs.
func searched() map[string]*job.Rules {
	rules := map[string]*job.Rules{}
	for name, overlap := range map[string]series.Overlap{"skip": series.OverlapSkip, "queue": series.OverlapQueue, "replace": series.OverlapReplace, "allow": series.OverlapAllow} {
		rules[name] = &job.Rules{Overlap: overlap, Lease: 3 * time.Second, Attempts: 3, Rerun: true, GiveBack: true, Policy: policy.Record{Deadline: time.Minute}}
	}
	rules["misfire all"] = &job.Rules{Overlap: series.OverlapQueue, Lease: 3 * time.Second, Attempts: 3, Rerun: true, GiveBack: true, Policy: policy.Record{Misfire: policy.All, Deadline: time.Minute}}
	return rules
}

// play plays the events of a sequence. It returns the number of those that could happen, and a violation.
func play(schedule *spec.Schedule, rules *job.Rules, slots int, sequence []int, settle bool) (played int, err error) {
	w := newWorld(schedule, rules, slots)
	for _, i := range sequence {
		if !events[i].do(w) {
			return played, nil
		}
		played++
		if err := w.check(); err != nil {
			return played, err
		}
	}
	if settle {
		return played, w.settle()
	}
	return played, nil
}

func describe(sequence []int) string {
	names := make([]string, len(sequence))
	for i, at := range sequence {
		names[i] = events[at].name
	}
	return strings.Join(names, ", ")
}

// Each claim is in the place of its state, and a claim that may hold a lease is not forgotten,
// after every sequence of events at a node, a store with the real rules, and another node.
func TestEveryClaim(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range searched() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count := 0
			var extend func(sequence []int, left int)
			extend = func(sequence []int, left int) {
				for i := range events {
					longer := append(sequence, i)
					played, err := play(schedule, rules, 1, longer, left == 1)
					if count++; err != nil {
						t.Fatalf("%s: %v", describe(longer), err)
					}
					if played == len(longer) && left > 1 {
						extend(longer, left-1)
					}
				}
			}
			extend(make([]int, 0, 10), 4)
			t.Logf("%d sequences", count)
		})
	}
}

// The same holds for long random sequences.
func TestLongClaims(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range searched() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2000) {
				r, w := rand.New(rand.NewPCG(1, seed)), newWorld(schedule, rules, 1+int(seed%3))
				var sequence []int
				for len(sequence) < 60 {
					i := r.IntN(len(events) - 1) // a drain comes last
					if !events[i].do(w) {
						continue
					}
					sequence = append(sequence, i)
					if err := w.check(); err != nil {
						t.Fatalf("seed %d: %s: %v", seed, describe(sequence), err)
					}
				}
				if seed%2 == 1 {
					events[len(events)-1].do(w)
				}
				if err := w.settle(); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, describe(sequence), err)
				}
			}
		})
	}
}
