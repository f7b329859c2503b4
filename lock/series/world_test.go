package series_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

const keptLeases = 6

// A policy is the parameters of all claims in a world.
type policy struct {
	overlap  series.Overlap
	rerun    bool
	attempts int
	deadline time.Duration
	backlog  bool
}

func (p policy) String() string {
	return fmt.Sprintf("overlap %d, rerun %v, attempts %d, deadline %v, backlog %v", p.overlap, p.rerun, p.attempts, p.deadline, p.backlog)
}

// A world is one series and all answers about it that nodes ever got. A caller claims with the
// knowledge of some node, at any time. The zero time is before the first number.
type world struct {
	policy
	series.State
	ledger ledger
	ms     int64
	opened int64
	held   []series.RunRef // the runs that were granted last, newest last
	asked  series.Claim    // to be asked again
	change int64

	requests, skips int // how often the operator may request a run, or skip a number
}

func newWorld(p policy) *world {
	w := &world{policy: p, ms: base + interval/2}
	w.opened = w.ms
	w.Open(w.ms*1000, &series.OpenRequest{Key: "job", Node: "n"}, &w.ledger)
	return w
}

// clone returns a world that shares nothing with w.
func (w *world) clone() *world {
	c := *w
	c.Runs = slices.Clone(w.Runs)
	c.held = slices.Clone(w.held)
	return &c
}

// A worldKey is all that two worlds must share to have the same future. It has a type of its own, because its hash is
// compiled then.
type worldKey struct {
	mark, fence, last, change, ms int64
	by                            string
	paused                        bool
	until                         int64
	spentBy                       string
	spentAs                       series.Kind
	spentFence                    int64
	runs                          [10]series.Run
	manual, skip                  int64
	requests, skips               int
	held                          [keptLeases]series.RunRef
	asked                         series.Claim
	ledger                        ledger
}

func (w *world) key() worldKey {
	k := worldKey{w.Mark, w.State.Fence, w.Last, w.change, w.ms, w.By, w.Paused, w.State.Pause.Until, w.SpentBy, w.SpentAs, w.SpentFence, [10]series.Run{}, w.Manual, w.State.Skip, w.requests, w.skips, [keptLeases]series.RunRef{}, w.asked, w.ledger}
	copy(k.runs[:], w.Runs)
	copy(k.held[:], w.held)
	return k
}

// owner returns one that the store does not know and nobody asks with again.
func (w *world) owner() string {
	for n := 1; ; n++ {
		owner := fmt.Sprintf("n/%d", n)
		known := w.SpentBy == owner || w.asked.Owner == owner || w.grantedBefore(owner) ||
			slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Owner == owner })
		if !known {
			return owner
		}
	}
}

// claim returns the claim of the k-th number by a new owner, by the spec.
func (w *world) claim(k int) series.Claim {
	return series.Claim{Key: "job", Owner: w.owner(), Number: due(k), After: due(k - 1), TTL: ttl * time.Millisecond,
		Deadline: w.deadline, Attempts: w.attempts, Rerun: w.rerun, Overlap: w.overlap, Backlog: w.backlog, Latest: driver.MaxNumber}
}

// covers returns the claim of the k-th number by an owner that was answered with a gap.
func (w *world) covers(k int) series.Claim {
	c := w.claim(k)
	c.After = w.Mark
	for j := 1; j < k; j++ {
		if due(j) > w.Mark {
			c.Between++
		}
	}
	return c
}

func (w *world) takeover(r *series.Run) series.Claim {
	k, _ := index(r.Number)
	c := w.claim(k)
	c.Number, c.After, c.From = r.Number, r.Number-1, r.Fence
	return c
}

// ask sends a claim and holds the answer against the invariants. Whoever sends
// it again must be answered the same, and nothing more may be written.
func (w *world) ask(c series.Claim) series.Answer {
	before, free := w.Mark, !w.ledger.alive(indexOf(c.Number), w.ms)
	held := w.grantedBefore(c.Owner)
	a := w.Claim(w.ms*1000, &c, &w.ledger)
	switch {
	case w.Mark < before:
		w.ledger.broken("the mark went from %d to %d", before, w.Mark)
	case w.Mark > w.ms+series.Tolerance:
		w.ledger.broken("I7 the mark is %d at %d", w.Mark, w.ms)
	case a.Kind == series.KindPassed && c.From == 0 && c.Number > w.Mark:
		w.ledger.broken("number %d is passed, the mark is %d", c.Number, w.Mark)
	case a.Kind == series.KindGranted && w.ledger.pages[indexOf(c.Number)].cancelled:
		w.ledger.broken("I12 number %d is granted after its cancel", c.Number)
	case a.Kind == series.KindGranted && !held:
		w.granted(c, a, free)
	}
	w.asked = c
	now := w.ledger
	t := w.clone()
	if b := t.Claim(w.ms*1000, &c, &t.ledger); b.Kind != a.Kind || b.Number != a.Number || b.Fence != a.Fence || t.ledger != now {
		w.ledger.broken("asked again, the claim of %d is answered %+v, at first %+v", c.Number, b, a)
	}
	if a.Kind == series.KindOrphan {
		w.offered(c, a)
	}
	return a
}

// offered holds an offer against its word: the run that is to be taken over
// first can be.
func (w *world) offered(c series.Claim, a series.Answer) {
	t := w.clone()
	c.Owner, c.Number, c.From = t.owner(), a.Number, a.Fence
	if b := t.Claim(w.ms*1000, &c, &t.ledger); b.Kind != series.KindGranted {
		w.ledger.broken("I6 number %d is offered, and its takeover is answered %+v", a.Number, b)
	}
}

func indexOf(n int64) int {
	k, _ := index(n)
	return k
}

func (w *world) grantedBefore(owner string) bool {
	return slices.ContainsFunc(w.held, func(r series.RunRef) bool { return r.Owner == owner })
}

func (w *world) granted(c series.Claim, a series.Answer, free bool) {
	k, _ := index(c.Number)
	if !free && c.Overlap != series.OverlapAllow {
		w.ledger.broken("I3 number %d is granted while another run is alive", k)
	}
	if p := w.ledger.pages[k]; p.until > w.ms && p.fate == running && p.fence != a.Fence {
		w.ledger.broken("I3 number %d is granted while its run is alive", k)
	}
	if k <= maxTicks && a.Wait < time.Duration(c.Number-w.ms)*time.Millisecond {
		w.ledger.broken("I7 number %d may start after %v, at %d", k, a.Wait, w.ms)
	}
	w.ledger.pages[k].until = w.ms + a.Left.Milliseconds()
	if len(w.held) == keptLeases {
		w.held = w.held[1:]
	}
	w.held = append(w.held, series.RunRef{Key: "job", Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: ttl * time.Millisecond})
}

// again repeats the last claim: it may write nothing, and gets the answer of the first grant or
// spending while that is still the latest.
func (w *world) again() {
	if w.asked.Owner == "" {
		return
	}
	mark, fence := w.Mark, w.State.Fence
	held := w.grantedBefore(w.asked.Owner)
	a := w.ask(w.asked)
	if a.Kind == series.KindGranted && held && (w.Mark != mark || w.State.Fence != fence) {
		w.ledger.broken("I1 asked again, the grant of %d moved the mark or the fence", w.asked.Number)
	}
}

func (w *world) renew(r series.RunRef) {
	k, _ := index(r.Number)
	p := &w.ledger.pages[k]
	a := w.Renew(w.ms*1000, &r)
	if alive := p.fate == running && p.fence == r.Fence && w.ms < p.until; alive != a.Alive {
		w.ledger.broken("I3 the renewal of number %d says alive: %v, want %v", k, a.Alive, alive)
	}
	if a.Alive {
		p.until = w.ms + a.Left.Milliseconds()
	}
}

func (w *world) end(r series.RunRef, how series.RunState) {
	e := series.EndRequest{RunRef: r, State: how}
	if how == series.RunDone {
		e.Outcome, e.OK = series.OutcomeOK, true
	}
	last := w.Last
	first := w.Release(w.ms*1000, &e, &w.ledger)
	if indexOf(r.Number) > maxTicks && w.Last != last {
		w.ledger.broken("I9 the end of the manual number %d moves the last success", r.Number)
	}
	before := w.ledger
	if second := w.Release(w.ms*1000, &e, &w.ledger); second != first || w.ledger != before {
		w.ledger.broken("asked again, the ending of %d is answered %+v, at first %+v", r.Number, second, first)
	}
}

// operate makes a control change, and repeats it: the second request changes nothing.
func (w *world) operate(action series.Action, until, last int64) {
	c := series.Control{Key: "job", Action: action, Op: fmt.Sprint("op", w.change), Who: "op", Reason: "for the test", Until: until, Due: last, Seen: w.State.Change}
	w.change++
	paused, lapsed := w.Paused, w.Paused && !w.State.Pause.Covers(w.ms)
	a, _ := w.Control(w.ms*1000, &c, w.change, &w.ledger)
	retires := action == series.ActionRetire && !slices.ContainsFunc(w.Runs, func(r series.Run) bool {
		return r.State == series.RunOpen && w.ms < r.Until || w.startable(&r)
	})
	if want := action == series.ActionPause || retires || action == series.ActionResume && paused && !lapsed; want != (a.Made) {
		w.ledger.broken("the %s is answered %+v, the series was paused: %v, and its pause over: %v", action, a, paused, lapsed)
	}
	before, mark := w.ledger, w.Mark
	again, _ := w.Control(w.ms*1000, &c, w.change+1, &w.ledger)
	if a.Made && (again.Made || again.Change != a.Change || again.Audit != a.Audit) || w.ledger != before || w.Mark != mark {
		w.ledger.broken("asked again, the %s is answered %+v, at first %+v", action, again, a)
	}
}

// cancel cancels a run with its fence, and repeats that: the second request changes nothing.
func (w *world) cancel(r *series.Run) {
	c := series.Control{Key: "job", Action: series.ActionCancel, Op: fmt.Sprint("op", w.change), Who: "op", Reason: "for the test", Number: r.Number, Fence: r.Fence, Seen: w.State.Change}
	w.change++
	want := r.State < series.RunDone && !r.Cancelled
	a, _ := w.Control(w.ms*1000, &c, w.change, &w.ledger)
	if a.Made != want {
		w.ledger.broken("the cancel of %+v is answered %+v", r, a)
	}
	before := w.ledger
	again, _ := w.Control(w.ms*1000, &c, w.change+1, &w.ledger)
	if a.Made && (again.Made || again.Change != a.Change) || w.ledger != before {
		w.ledger.broken("asked again, the cancel is answered %+v, at first %+v", again, a)
	}
}

// request requests a manual run, and repeats that: the second request changes nothing.
func (w *world) request(overlap series.Overlap, anyway bool) {
	w.requests--
	c := series.Control{Key: "job", Action: series.ActionRun, Op: fmt.Sprint("op", w.change), Who: "op", Reason: "for the test",
		Until: w.ms + 2*interval, Overlap: overlap, Anyway: anyway, Seen: w.State.Change}
	w.change++
	paused := w.Paused && w.State.Pause.Covers(w.ms)
	busy := w.ledger.alive(-1, w.ms) || slices.ContainsFunc(w.Runs, func(r series.Run) bool { return w.startable(&r) })
	mark := w.Mark
	a, _ := w.Control(w.ms*1000, &c, w.change, &w.ledger)
	if want := (!paused || anyway) && (overlap != series.OverlapSkip || !busy); a.Made != want {
		w.ledger.broken("the request for a run is answered %+v, paused: %v, busy: %v", a, paused, busy)
	}
	if a.Made && indexOf(a.Number) <= maxTicks || w.Mark != mark && !w.lapsed(mark) {
		w.ledger.broken("I9 the manual number %d moves the mark to %d", a.Number, w.Mark)
	}
	before := w.ledger
	again, _ := w.Control(w.ms*1000, &c, w.change+1, &w.ledger)
	if a.Made && (again.Made || again.Change != a.Change) || w.ledger != before {
		w.ledger.broken("asked again, the request for a run is answered %+v, at first %+v", again, a)
	}
}

// lapsed reports whether the mark went on because the end of a pause was recorded.
func (w *world) lapsed(before int64) bool { return !w.Paused && w.Mark > before && w.Mark < w.ms }

// startable reports whether a manual run waits that may start.
func (w *world) startable(r *series.Run) bool {
	waits := r.Attempt == 0 && (r.State == series.RunWaiting || r.State == series.RunUnstarted)
	return r.Manual() && waits && !r.Cancelled && w.ms <= r.StartBy && !(w.Paused && w.State.Pause.Covers(w.ms) && r.Number < w.State.Pause.Since)
}

// skipNext skips the next number.
func (w *world) skipNext() {
	w.skips--
	k := 1
	for due(k) <= max(w.Mark, w.ms) {
		k++
	}
	c := series.Control{Key: "job", Action: series.ActionSkip, Op: fmt.Sprint("op", w.change), Who: "op", Reason: "for the test", Number: due(k), Seen: w.State.Change}
	w.change++
	if a, _ := w.Control(w.ms*1000, &c, w.change, &w.ledger); a.Made {
		w.ledger.skip = due(k)
	} else {
		w.ledger.broken("the skip of %d is answered %+v", k, a)
	}
}

func (w *world) pause()        { w.operate(series.ActionPause, 0, 0) }
func (w *world) pauseBriefly() { w.operate(series.ActionPause, w.ms+interval+interval/2, 0) }
func (w *world) resume()       { w.operate(series.ActionResume, 0, 0) }

// pauseAfter pauses after an outage: numbers that are due and undecided are missed.
func (w *world) pauseAfter() {
	k := (w.ms - base) / interval
	w.operate(series.ActionPause, 0, max(0, due(int(k))))
	if k > 0 && w.Mark < due(int(k)) {
		w.ledger.broken("paused at %d the mark is %d", w.ms, w.Mark)
	}
}

// retire retires the series; a node that has it opens it again, at now.
func (w *world) retire() {
	w.operate(series.ActionRetire, 0, 0)
	if w.State.Paused && w.State.Pause.Retired() {
		w.Open(w.ms*1000, &series.OpenRequest{Key: "job", Node: "n"}, &w.ledger)
		if w.Paused || w.Mark < w.ms-1 {
			w.ledger.broken("opened again at %d the series is %+v", w.ms, w.State)
		}
	}
}

// progress checks I6: a due number inside its deadline is granted to a caller while no run is
// alive, after the runs that must be taken over. So is each manual run that may start.
func (w *world) progress() {
	for i := range w.Runs {
		if r := &w.Runs[i]; w.startable(r) && !w.ledger.alive(0, w.ms) {
			t := w.clone()
			if a := t.ask(t.takeover(r)); a.Kind != series.KindGranted {
				w.ledger.broken("I6 the manual number %d may start, and its takeover is answered %+v", r.Number, a)
			}
		}
	}
	k := 1
	for k <= maxTicks && due(k) <= w.Mark {
		k++
	}
	late := time.Duration(w.ms-due(k)) * time.Millisecond
	if k > maxTicks || due(k) == w.ledger.skip || late < 0 || late > w.deadline || w.Paused && (w.State.Pause.Covers(w.ms) || w.State.Pause.Covers(due(k))) || w.ledger.alive(0, w.ms) {
		return
	}
	t := w.clone()
	c := t.covers(k)
	a := t.ask(c)
	if a.Kind == series.KindOrphan {
		a = t.ask(t.takeover(&series.Run{Number: a.Number, Fence: a.Fence}))
	}
	if a.Kind != series.KindGranted {
		w.ledger.broken("I6 number %d is due and free, the answer is %+v", k, a)
	}
}

// check returns the first invariant that is broken, or "".
func (w *world) check() string {
	w.ledger.complete(w.opened)
	w.progress()
	return w.ledger.fault
}
