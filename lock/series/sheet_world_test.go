package series_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

const (
	sheetTicks  = 2
	sheetShards = 3 // of the usual layout; the other one has a shard less
	sheetHeld   = 4
	sheetTTL    = 2 * interval
	sheetSpan   = 7 * interval // time stands still after it
)

// A sheetPolicy is the parameters of all claims in a sheetWorld, and how often which fault may happen.
type sheetPolicy struct {
	overlap series.Overlap
	rerun   bool
	failAll bool
	layouts bool // callers have two layouts, as in a rolling deploy
	// broadcast: each shard belongs to one of the nodes.
	broadcast bool
	pauses    int
	cancels   int
}

var sheetNodes = []string{"a", "b", "c"}

// A sheetFact is the knowledge of the checker about one shard, which it learned from answers.
type sheetFact struct {
	fence   int64
	attempt int
	until   int64
	open    bool // its latest grant has no end
	ended   bool // its end was accepted, or its tick was settled
	ok      bool
}

// A sheetTick is the knowledge of the checker about one tick.
type sheetTick struct {
	shards int // its layout
	fence  int64
	opened int64
	summed bool
	ok     bool
	facts  [sheetShards]sheetFact
}

// A sheetWorld is one series with sharded ticks, and all answers about it that nodes got. A caller claims
// with the knowledge of any node at any time, so that a crash, a lost reply and a late copy of a request
// are among its histories.
type sheetWorld struct {
	sheetPolicy
	series.State
	ms     int64
	ticks  [sheetTicks + 1]sheetTick
	held   []series.RunRef // the shards that were granted last, newest last
	asked  series.Claim
	fence  int64 // the highest that was granted
	change int64
	now    endingNow
	// resumed: the step ends a pause, and settles each shard that is not alive.
	resumed bool
	fault   string
}

func newSheetWorld(p sheetPolicy) *sheetWorld {
	w := &sheetWorld{sheetPolicy: p, ms: base + interval/2}
	w.Open(w.ms*1000, &series.OpenRequest{Key: "job", Node: "n"}, w)
	return w
}

func (w *sheetWorld) broken(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

func (w *sheetWorld) clone() *sheetWorld {
	c := *w
	c.Runs, c.held = slices.Clone(w.Runs), slices.Clone(w.held)
	c.Sheet.Shards = slices.Clone(w.Sheet.Shards)
	c.Ops = nil
	return &c
}

// Append reads a line as the store writes it: the opening of a tick, and its sum.
func (w *sheetWorld) Append(l series.Line) {
	k, ok := index(l.To)
	if !ok || k > sheetTicks {
		return
	}
	t := &w.ticks[k]
	switch l.Verdict {
	case series.VerdictRan:
		w.opens(k, t, l)
	case series.VerdictEnded:
		w.sums(k, t, l)
	}
}

func (w *sheetWorld) opens(k int, t *sheetTick, l series.Line) {
	if t.shards != 0 || l.Shards == 0 {
		w.broken("S5 tick %d is opened with %d shards, it had %d", k, l.Shards, t.shards)
	}
	if l.Fence <= w.fence {
		w.broken("S2 tick %d is opened with the fence %d after %d", k, l.Fence, w.fence)
	}
	for j := 1; j < k; j++ {
		if w.ticks[j].shards != 0 && !w.ticks[j].summed {
			w.broken("S4 tick %d is opened while tick %d is not settled", k, j)
		}
	}
	t.shards, t.fence, t.opened, w.fence = l.Shards, l.Fence, w.ms, l.Fence
}

// sums holds the sum of a tick against the facts: exactly the shards that ended well are ok, and none has a lease.
func (w *sheetWorld) sums(k int, t *sheetTick, l series.Line) {
	shards, err := series.ReadSheet(l.Sheet, l.Fence, t.opened)
	if err != nil || len(shards) != t.shards || t.summed {
		w.broken("S3 tick %d is summed as %q (%v), settled before: %v", k, l.Sheet, err, t.summed)
		return
	}
	good := 0
	for i := range shards {
		f := &t.facts[i]
		end := w.now.tick == k && w.now.shard == i
		if f.open && w.ms < f.until && !end {
			w.broken("S3 tick %d is summed while its shard %d is alive", k, i)
		}
		if f.open && end {
			f.ok = w.now.ok
		}
		if shards[i].OK != f.ok || shards[i].Fence != f.fence || shards[i].Attempt != f.attempt {
			w.broken("S3 shard %d of tick %d is summed as %+v, it is %+v", i, k, shards[i], f)
		}
		if f.ok {
			good++
		}
		f.open, f.ended = false, true
	}
	t.summed, t.ok = true, good == t.shards || w.failAll && good > 0
	if t.ok != (l.Outcome == series.OutcomeOK) {
		w.broken("S3 tick %d is summed as %s with %d of %d shards ok", k, l.Outcome, good, t.shards)
	}
}

// endingNow is the shard whose end is on its way, since the sum is written in the step of that end.
type endingNow struct {
	tick, shard int
	ok          bool
}

var noEnd = endingNow{}

func (w *sheetWorld) owner(node string) string {
	for n := 1; ; n++ {
		owner := fmt.Sprintf("%s/%d", node, n)
		known := w.SpentBy == owner || w.asked.Owner == owner ||
			slices.ContainsFunc(w.held, func(r series.RunRef) bool { return r.Owner == owner }) ||
			slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Owner == owner }) ||
			slices.ContainsFunc(w.Sheet.Shards, func(h series.Shard) bool { return h.Owner == owner })
		if !known {
			return owner
		}
	}
}

// broadcasts returns a claim of the k-th tick by a node that lets each of the nodes run once.
func (w *sheetWorld) broadcasts(k int, node string, shards int) series.Claim {
	c := w.claim(k, sheetShards, false, shards)
	c.Owner = w.owner(node)
	return c
}

// claim returns a claim of the k-th tick by a new owner that takes the shards in the order of want.
func (w *sheetWorld) claim(k, most int, backwards bool, shards int) series.Claim {
	want := []int{0, 1, 2}
	if backwards {
		slices.Reverse(want)
	}
	c := series.Claim{Key: "job", Owner: w.owner("a"), Number: due(k), After: due(k - 1), TTL: sheetTTL * time.Millisecond, Deadline: 2 * interval * time.Millisecond,
		Attempts: 2, Rerun: w.rerun, Window: 3 * interval * time.Millisecond, Overlap: w.overlap, Latest: driver.MaxNumber,
		Sharding: &series.Sharding{Shards: shards, Params: []string{fmt.Sprint(shards)}, FailAll: w.failAll, Want: want, Most: most}}
	if w.broadcast {
		c.Sharding.Broadcast, c.Sharding.Params = true, sheetNodes[:shards]
	}
	if c.After > w.Mark {
		c.After = w.Mark
		c.Between = k - 1
	}
	return c
}

// ask sends a claim, holds the answer against the invariants, and asks again.
func (w *sheetWorld) ask(c series.Claim) series.Answer {
	before := w.grantsOf(c.Owner)
	a := w.Claim(w.ms*1000, &c, w)
	w.learn()
	if a.Kind == series.KindGranted {
		w.granted(&c, &a, before)
	}
	w.asked = c
	t := w.clone()
	fence := w.State.Fence
	b := t.Claim(w.ms*1000, &c, t)
	if same := b.Kind == a.Kind && slices.Equal(b.Shards, a.Shards); !same && len(a.Shards) > 0 || len(a.Shards) > 0 && t.State.Fence != fence {
		w.broken("S8 asked again, the claim of %d is answered %+v, at first %+v", c.Number, b, a)
	}
	return a
}

// takeover returns the claim of a waiting tick that takes it over.
func (w *sheetWorld) takeover(r *series.Run) series.Claim {
	k, _ := index(r.Number)
	c := w.claim(k, 1, false, sheetShards-k%2) // of another layout than the tick before it
	c.From = r.Fence
	return c
}

func (w *sheetWorld) grantsOf(owner string) (refs []series.RunRef) {
	for _, r := range w.held {
		if r.Owner == owner {
			refs = append(refs, r)
		}
	}
	return refs
}

func (w *sheetWorld) granted(c *series.Claim, a *series.Answer, before []series.RunRef) {
	k, _ := index(a.Number)
	t := &w.ticks[k]
	if a.Of != t.shards || a.Fence != t.fence {
		w.broken("S5 tick %d has %d shards and the fence %d, the answer %+v", k, t.shards, t.fence, a)
	}
	if len(a.Shards) > c.Sharding.Most {
		w.broken("S8 %d shards are granted, asked for %d", len(a.Shards), c.Sharding.Most)
	}
	fences := w.fence
	for _, g := range a.Shards {
		ref := series.RunRef{Key: "job", Number: a.Number, Owner: c.Owner, Fence: g.Fence, TTL: sheetTTL * time.Millisecond, Shard: g.Shard, Shards: a.Of}
		if len(before) > 0 {
			if !slices.Contains(before, ref) {
				w.broken("S8 asked again, the owner of %v is granted shard %d with the fence %d", before, g.Shard, g.Fence)
			}
			continue
		}
		w.grantedShard(k, g, fences, driver.NodeOf(c.Owner))
		w.fence = max(w.fence, g.Fence)
		if len(w.held) == sheetHeld {
			w.held = w.held[1:]
		}
		w.held = append(w.held, ref)
	}
}

func (w *sheetWorld) grantedShard(k int, g series.ShardGrant, fence int64, node string) {
	t := &w.ticks[k]
	f := &t.facts[g.Shard]
	param := map[bool]string{true: fmt.Sprint(t.shards)}[g.Shard == 0]
	if w.broadcast {
		param = sheetNodes[g.Shard]
	}
	last := w.lastStart(k, g.Attempt == 1)
	switch {
	case g.Shard >= t.shards || t.summed || f.ended:
		w.broken("S1 shard %d of tick %d is granted after its verdict", g.Shard, k)
	case f.open && w.ms < f.until:
		w.broken("S1 shard %d of tick %d is granted while it is alive", g.Shard, k)
	case g.Attempt != f.attempt+1 || g.Attempt > 2:
		w.broken("S1 attempt %d of shard %d is granted after attempt %d", g.Attempt, g.Shard, f.attempt)
	case f.open && !w.rerun:
		w.broken("S1 shard %d of tick %d runs again after the death of its node", g.Shard, k)
	case g.Fence <= fence:
		w.broken("S2 shard %d is granted with the fence %d after %d", g.Shard, g.Fence, fence)
	case w.ms > last || w.Paused && w.State.Pause.Covers(w.ms):
		w.broken("S6 shard %d of tick %d is granted at %d, paused: %v", g.Shard, k, w.ms, w.Paused)
	case w.broadcast && node != param:
		w.broken("S9 shard %d of tick %d belongs to %s, and is granted to %s", g.Shard, k, param, node)
	case g.Param != param:
		w.broken("S5 shard %d of %d has the parameter %q", g.Shard, t.shards, g.Param)
	}
	for j := k + 1; j <= sheetTicks; j++ {
		if w.ticks[j].shards != 0 {
			w.broken("S4 a shard of tick %d is granted after tick %d was opened", k, j)
		}
	}
	if slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Number == due(k) && (r.Cancelled || r.Replaced) }) {
		w.broken("I12 shard %d of tick %d is granted after it was cancelled or replaced", g.Shard, k)
	}
	*f = sheetFact{fence: g.Fence, attempt: g.Attempt, until: w.ms + g.Left.Milliseconds(), open: true}
}

// lastStart is the end of the window: for a first attempt since the opening of the tick, which may be late. In a broadcast it is
// the end of the deadline.
func (w *sheetWorld) lastStart(k int, first bool) int64 {
	if first && w.broadcast {
		return max(due(k)+2*interval-1, w.ticks[k].opened+interval)
	}
	if first {
		return w.ticks[k].opened + 3*interval
	}
	return due(k) + 3*interval
}

// learn holds the shards that a step settled for good against the facts: none of them was alive, or could run again.
func (w *sheetWorld) learn() {
	for j := range w.Runs {
		r := &w.Runs[j]
		k, _ := index(r.Number)
		if r.Shards == 0 || k > sheetTicks || w.ticks[k].summed {
			continue
		}
		for i := range w.Sheet.Shards {
			f := &w.ticks[k].facts[i]
			if w.Sheet.Shards[i].State != series.RunLost || f.ended {
				continue
			}
			if f.open && w.ms < f.until {
				w.broken("S1 shard %d of tick %d is settled while it is alive", i, k)
			}
			if w.mayStart(k, f) && !w.Paused && !r.Cancelled && !r.Replaced && !w.resumed {
				w.broken("S1 shard %d of tick %d is settled, and may start", i, k)
			}
			f.open, f.ended = false, true
		}
	}
}

// mayStart reports whether a shard may have another attempt.
func (w *sheetWorld) mayStart(k int, f *sheetFact) bool {
	switch {
	case f.ended || f.open && (w.ms < f.until || !w.rerun):
		return false
	case f.attempt == 0:
		return w.ms <= w.lastStart(k, true)
	}
	return f.attempt < 2 && w.ms <= w.lastStart(k, false)
}

func (w *sheetWorld) fact(r *series.RunRef) (*sheetFact, bool) {
	k, _ := index(r.Number)
	f := &w.ticks[k].facts[r.Shard]
	return f, f.fence == r.Fence && f.open && !f.ended
}

func (w *sheetWorld) renew(r series.RunRef) {
	f, mine := w.fact(&r)
	a := w.Renew(w.ms*1000, &r)
	if a.Alive != (mine && w.ms < f.until) {
		w.broken("S1 the renewal of %+v is answered %+v, it is %+v", r, a, f)
	}
	if a.Alive {
		f.until = w.ms + a.Left.Milliseconds()
	}
}

func (w *sheetWorld) end(r series.RunRef, how series.RunState, ok bool) {
	k, _ := index(r.Number)
	f, mine := w.fact(&r)
	e := series.EndRequest{RunRef: r, State: how, OK: ok}
	if e.Outcome = series.OutcomeOK; !ok {
		e.Outcome = series.OutcomeFailed
	}
	cancelled := slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Number == due(k) && r.Cancelled })
	if mine {
		w.now = endingNow{k, r.Shard, ok && how == series.RunDone}
	}
	a := w.Release(w.ms*1000, &e, w)
	w.now = noEnd
	if mine && !w.ticks[k].summed {
		switch {
		case !a.Ended:
			w.broken("S3 the end of %+v is refused", r)
		case how == series.RunDone || cancelled:
			f.ended, f.ok = true, ok && how == series.RunDone
		case how == series.RunUnstarted:
			f.attempt--
		}
		f.open = false
	}
	t, was := w.clone(), w.State.Fence
	if b := t.Release(w.ms*1000, &e, t); b.Ended != a.Ended || t.State.Fence != was || b.Waiting != a.Waiting {
		w.broken("S8 asked again, the end of %+v is answered %+v, at first %+v", r, b, a)
	}
}

func (w *sheetWorld) operate(action series.Action) {
	w.change++
	c := series.Control{Key: "job", Action: action, Op: fmt.Sprint("op", w.change), Who: "op", Reason: "for the test", Seen: series.AnySeen}
	if action == series.ActionCancel {
		c.Number = w.Runs[len(w.Runs)-1].Number
	}
	w.Control(w.ms*1000, &c, w.change, w)
	w.resumed = action == series.ActionResume
	w.learn()
	w.resumed = false
}

// check holds the state against the facts.
func (w *sheetWorld) check() string {
	last := int64(0)
	for k := 1; k <= sheetTicks; k++ {
		t := &w.ticks[k]
		if t.summed && t.ok {
			last = due(k)
		}
		open := slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Number == due(k) && r.State == series.RunOpen })
		if t.shards != 0 && t.summed == open {
			w.broken("S3 tick %d is settled: %v, and open in the store: %v", k, t.summed, open)
		}
		if open && !slices.ContainsFunc(w.Sheet.Shards, func(h series.Shard) bool { return h.State < series.RunDone }) {
			w.broken("S3 all shards of tick %d are settled, and the tick is not", k)
		}
	}
	sharded := slices.DeleteFunc(slices.Clone(w.Runs), func(r series.Run) bool { return r.Shards == 0 })
	if len(sharded) > 1 || len(sharded) == 1 && sharded[0].Shards != len(w.Sheet.Shards) {
		w.broken("S4 the runs %+v share a sheet of %d shards", sharded, len(w.Sheet.Shards))
	}
	if w.Last != last {
		w.broken("S7 the last success is %d, want %d", w.Last, last)
	}
	w.progress()
	return w.fault
}

// progress checks I6: while a shard of the open tick may start, a claim of the tick by anyone, or in a broadcast by its node, is granted it, and a waiting tick is
// opened by whoever takes it over, unless a shard of the older tick is alive or may start.
func (w *sheetWorld) progress() {
	for i := range w.Runs {
		r := &w.Runs[i]
		if k, _ := index(r.Number); r.State == series.RunWaiting && !w.Paused && w.ms <= due(k)+2*interval && !w.blocked(k) {
			c := w.clone()
			if a := c.Claim(w.ms*1000, new(c.takeover(r)), discard{}); a.Kind != series.KindGranted {
				w.broken("I6 no shard blocks the waiting tick %d, and its takeover is answered %+v", k, a)
			}
		}
	}
	for k := 1; k <= sheetTicks; k++ {
		t := &w.ticks[k]
		if t.shards == 0 || t.summed || w.Paused {
			continue
		}
		if slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Cancelled || r.Replaced }) {
			continue
		}
		if !w.broadcast {
			w.progressOf(k, new(w.claim(k, sheetShards, false, sheetShards)), 0, t.shards)
			continue
		}
		for i, node := range sheetNodes[:t.shards] {
			w.progressOf(k, new(w.broadcasts(k, node, sheetShards)), i, i+1)
		}
	}
}

// progressOf checks that a claim is granted those shards between first and end that may start.
func (w *sheetWorld) progressOf(k int, claim *series.Claim, first, end int) {
	free := 0
	for i := first; i < end; i++ {
		if w.mayStart(k, &w.ticks[k].facts[i]) {
			free++
		}
	}
	if a := w.clone().Claim(w.ms*1000, claim, discard{}); len(a.Shards) != free {
		w.broken("I6 %d shards of tick %d may start, and a claim is answered %+v", free, k, a)
	}
}

// blocked reports whether a shard of a tick before the k-th is alive, or may start.
func (w *sheetWorld) blocked(k int) bool {
	for j := 1; j < k; j++ {
		t := &w.ticks[j]
		if t.shards == 0 || t.summed {
			continue
		}
		barred := slices.ContainsFunc(w.Runs, func(r series.Run) bool { return r.Number == due(j) && (r.Cancelled || r.Replaced) })
		for i := range t.shards {
			if f := &t.facts[i]; f.open && w.ms < f.until || !barred && w.mayStart(j, f) {
				return true
			}
		}
	}
	return false
}
