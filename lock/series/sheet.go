package series

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A sharded number is divided into shards, and each of them is granted once, with a fence of its own. The
// claim that decides the number opens its sheet, and thereby fixes how many shards there are. The step that settles the last
// shard settles the number. A series has at most one open sheet, because an older number that is not settled
// is alive: see State.lives.

// The bounds of a sharded number.
const (
	MaxShards = 1000
	MaxParam  = 64   // bytes of the parameter of one shard
	MaxParams = 8192 // bytes of all parameters
)

// A Sharding is the part of a [Claim] that is about a sharded number.
type Sharding struct {
	Shards int      // how many shards the number has if this claim opens its sheet: 1 to MaxShards
	Params []string // the parameters of the first shards by their index, if this claim opens the sheet
	// FailAll lets the number fail only if none of its shards was ok, if this claim opens the sheet.
	FailAll bool
	// Broadcast lets each shard run on the node alone that its parameter names, until the deadline, if this claim opens the
	// sheet. Want and Most then do not matter.
	Broadcast bool
	Want      []int // the shards that the caller takes, in the order of its choice; those that the number does not have are ignored
	Most      int   // how many of them it takes at once, at least 1
}

// A Sheet is the shards of the latest sharded number. The zero Sheet is none.
type Sheet struct {
	Shards    []Shard
	Params    []string // by the index of the shard; shards behind the last one have no parameter
	FailAll   bool     // the number fails only if none of its shards was ok
	Broadcast bool     // each shard runs on the node alone that its parameter names
}

// A Shard is a part of a sharded number.
type Shard struct {
	State   RunState // RunNone: it is free, since no node was granted it; RunDone and RunLost: it is settled
	Owner   string
	Fence   int64
	Attempt int
	Granted int64  // when its first attempt was granted, Unix ms
	Until   int64  // its deadline, Unix ms
	Ended   int64  // when it was settled, Unix ms
	Outcome string // if it is settled: one of the outcomes, or a verdict if it ended without one
	OK      bool   // Outcome is a success
	Error   string // why it ended badly, if it is one of the first MaxShardErrors: at most MaxShardErrorText bytes, escape it before you show it
}

// A ShardGrant is one granted shard.
type ShardGrant struct {
	Shard   int // its index
	Fence   int64
	Attempt int
	Left    time.Duration // how long its lease stays alive
	Param   string
}

// A Sum is the end of a sharded number: how many of its shards ended in which way. Only OK and Outcome of a shard decide
// where it counts, whichever node settled it: a reader of the journal has no more than these two.
type Sum struct {
	Number    int64
	Fence     int64  // of its opening
	Outcome   string // OutcomeOK, OutcomeFailed, OutcomeLost or OutcomeCancelled
	Shards    int
	OK        int
	Failed    int // in any other way than these
	Lost      int // their node was gone, or had lost their lease
	Missed    int // they never started: not in time, in a pause, or behind a later number
	Cancelled int // an operator cancelled them, whether they had started or not
	Took      time.Duration
}

func (h *Shard) settled() bool { return h.State >= RunDone }

func (h *Shard) alive(ms int64) bool { return h.State == RunOpen && ms < h.Until }

// sheetOf reports whether the run, or nil, has the open sheet.
func (s *State) sheetOf(r *Run) bool { return r != nil && r.Shards > 0 && r.State == RunOpen }

// sharded returns the run that has the open sheet, or nil.
func (s *State) sharded() *Run {
	for i := range s.Runs {
		if r := &s.Runs[i]; s.sheetOf(r) {
			return r
		}
	}
	return nil
}

// lives reports whether a run is alive. The one with the open sheet is, until a step has settled all its shards: a claim first
// settles those that may not start any more. Once it is replaced or cancelled none may, so it is alive with its leases only.
func (s *State) lives(r *Run, ms int64) bool {
	if !s.sheetOf(r) {
		return alive(r, ms)
	}
	return !r.Replaced && !r.Cancelled || s.leased(ms)
}

// held reports whether a lease of the series is alive, of a run or of a shard.
func (s *State) held(ms int64) bool {
	for i := range s.Runs {
		if r := &s.Runs[i]; !s.sheetOf(r) && alive(r, ms) {
			return true
		}
	}
	return s.leased(ms)
}

// leased reports whether the lease of a shard is alive.
func (s *State) leased(ms int64) bool {
	for i := range s.Sheet.Shards {
		if s.Sheet.Shards[i].alive(ms) {
			return true
		}
	}
	return false
}

// openSheet divides a run that was just granted. A free shard may start until the window has passed; one of a broadcast, which
// waits for its node alone, until the deadline has, so that a dead node does not keep the others from the next number. If the
// number was opened late, half the deadline is left.
func (s *State) openSheet(c *Claim, r *Run) {
	h, deadline := c.Sharding, c.Deadline.Milliseconds()
	r.Shards = h.Shards
	switch {
	case h.Broadcast:
		r.Until = max(r.Number+deadline-1, r.Granted+deadline/2)
	case c.Window > 0:
		r.Until = max(r.Number, r.Granted) + c.Window.Milliseconds()
	default:
		r.Until = driver.MaxNumber
	}
	s.Sheet = Sheet{make([]Shard, r.Shards), slices.Clone(h.Params), h.FailAll, h.Broadcast}
}

// share grants shards of an open sheet, first ones and further attempts.
func (s *State) share(us int64, c *Claim, r *Run, w Writer) Answer {
	ms := us / 1000
	sum := s.sweepSheet(ms, c, r, w)
	if sum != nil {
		a := s.passed(ms, c.Number)
		a.Sum = sum
		return a
	}
	a := about(KindPassed, r, ms)
	if a.Shards = s.grantShards(us, c, r); len(a.Shards) > 0 {
		a.Kind, a.Wait = KindGranted, r.wait(ms)
	}
	return s.describe(a, ms, c, r)
}

// grantShards grants the caller at most as many shards as it takes at once.
func (s *State) grantShards(us int64, c *Claim, r *Run) (grants []ShardGrant) {
	ms, want := us/1000, c.Sharding.Want
	if s.Sheet.Broadcast {
		want = []int{slices.Index(s.Sheet.Params, driver.NodeOf(c.Owner))}
	}
	for _, i := range want {
		if len(grants) == c.Sharding.Most {
			break
		}
		if i < 0 || i >= r.Shards || !s.mayStart(i, r, c, ms) {
			continue
		}
		h := &s.Sheet.Shards[i]
		if h.Attempt == 0 {
			h.Granted = ms
		}
		h.State, h.Owner, h.Fence = RunOpen, c.Owner, s.nextFence(us, c.Fence)
		h.Attempt++
		h.Until = ms + c.TTL.Milliseconds()
		grants = append(grants, s.shardGrant(i, ms))
	}
	slices.SortFunc(grants, func(a, b ShardGrant) int { return cmp.Compare(a.Shard, b.Shard) }) // as to a repeated claim
	return grants
}

func (s *State) shardGrant(i int, ms int64) ShardGrant {
	h := &s.Sheet.Shards[i]
	g := ShardGrant{Shard: i, Fence: h.Fence, Attempt: h.Attempt, Left: time.Duration(h.Until-ms) * time.Millisecond}
	if i < len(s.Sheet.Params) {
		g.Param = s.Sheet.Params[i]
	}
	return g
}

// describe adds how many shards of the run the caller's node may start, and when the first lease of the others ends, or the
// time of other nodes for their shards of a broadcast. It adds nothing to an answer about another run.
func (s *State) describe(a Answer, ms int64, c *Claim, r *Run) Answer {
	if !s.sheetOf(r) {
		return a
	}
	a.Free = s.startableShards(ms, c, r)
	for i := range s.Sheet.Shards {
		h := &s.Sheet.Shards[i]
		end := h.Until
		switch {
		case h.alive(ms):
		case !s.belongs(i, c) && h.Attempt == 0 && !h.settled() && !s.barsAt(r, ms) && mayRunShard(h, r, c, ms):
			end = r.Until + 1
		default:
			continue
		}
		if left := time.Duration(end-ms) * time.Millisecond; a.Left == 0 || left < a.Left {
			a.Left = left
		}
	}
	return a
}

// startableShards returns how many shards the caller's node may be granted.
func (s *State) startableShards(ms int64, c *Claim, r *Run) (n int) {
	for i := range s.Sheet.Shards {
		if s.mayStart(i, r, c, ms) {
			n++
		}
	}
	return n
}

// mayStart reports whether a shard may be granted to the caller's node: it is free, or over and may have another attempt.
func (s *State) mayStart(i int, r *Run, c *Claim, ms int64) bool {
	h := &s.Sheet.Shards[i]
	return s.belongs(i, c) && !h.settled() && !h.alive(ms) && !s.barsAt(r, ms) && mayRunShard(h, r, c, ms)
}

// belongs reports whether a shard may run on the caller's node.
func (s *State) belongs(i int, c *Claim) bool {
	return !s.Sheet.Broadcast || s.Sheet.Params[i] == driver.NodeOf(c.Owner)
}

// mayRunShard is mayRun for a shard. Its first attempt is bound by the deadline of the open sheet.
func mayRunShard(h *Shard, r *Run, c *Claim, ms int64) bool {
	if h.Attempt == 0 {
		return !r.Replaced && !r.Cancelled && ms <= r.Until
	}
	return mayRun(&Run{Number: r.Number, State: h.State, Attempt: h.Attempt, Replaced: r.Replaced, Cancelled: r.Cancelled}, c, ms)
}

// sweepSheet settles the shards that are over and may not run again, and the free ones that may not start.
func (s *State) sweepSheet(ms int64, c *Claim, r *Run, w Writer) *Sum {
	for i := range s.Sheet.Shards {
		h := &s.Sheet.Shards[i]
		if !h.settled() && !h.alive(ms) && (s.bars(r) || !mayRunShard(h, r, c, ms)) {
			s.settleShard(h, r, ms)
		}
	}
	return s.sum(ms, r, w)
}

// clearSheet settles all shards that are not alive, and the number if it has no other.
func (s *State) clearSheet(ms int64, r *Run, w Writer) {
	for i := range s.Sheet.Shards {
		if h := &s.Sheet.Shards[i]; !h.settled() && !h.alive(ms) {
			s.settleShard(h, r, ms)
		}
	}
	s.sum(ms, r, w)
}

func (s *State) settleShard(h *Shard, r *Run, ms int64) {
	v, reason := s.lastVerdict(r, h.Attempt)
	h.State, h.Ended, h.Outcome = RunLost, ms, string(v)
	if reason == ReasonCancelled {
		h.Outcome = OutcomeCancelled
	}
}

// sum settles the number if all its shards are settled, and returns nil otherwise.
func (s *State) sum(ms int64, r *Run, w Writer) *Sum {
	sum := s.Sheet.Count()
	if sum.Outcome == "" {
		return nil
	}
	sum.Number, sum.Fence, sum.Took = r.Number, r.Fence, time.Duration(ms-r.Granted)*time.Millisecond
	r.State = RunDone
	if sum.Outcome == OutcomeOK && !r.Manual() {
		s.Last = max(s.Last, r.Number)
	}
	w.Append(Line{At: ms, Verdict: VerdictEnded, From: r.Number, To: r.Number, Node: driver.NodeOf(r.Owner), Fence: r.Fence, Attempt: r.Attempt,
		Outcome: sum.Outcome, Ended: ms, Shards: r.Shards, Sheet: s.Sheet.text(r.Fence, r.Granted)})
	return &sum
}

// Count counts the settled shards by how they ended. The Outcome of the Sum is empty unless all shards are settled; it
// has neither the number nor the fence of the run.
func (s *Sheet) Count() Sum {
	sum := Sum{Shards: len(s.Shards)}
	settled := 0
	for i := range s.Shards {
		h := &s.Shards[i]
		if h.settled() {
			*sum.counter(h)++
			settled++
		}
	}
	if settled == sum.Shards {
		sum.Outcome = s.outcome(&sum)
	}
	return sum
}

// counter returns the count to which a settled shard belongs.
func (sum *Sum) counter(h *Shard) *int {
	if h.OK {
		return &sum.OK
	}
	switch h.Outcome {
	case OutcomeLost:
		return &sum.Lost
	case OutcomeCancelled:
		return &sum.Cancelled
	case string(VerdictMissed), string(VerdictPaused), string(VerdictSuperseded):
		return &sum.Missed
	}
	return &sum.Failed
}

func (s *Sheet) outcome(sum *Sum) string {
	switch {
	case sum.OK == sum.Shards, s.FailAll && sum.OK > 0:
		return OutcomeOK
	case sum.Cancelled > 0:
		return OutcomeCancelled
	case sum.Failed == 0 && sum.Lost > 0:
		return OutcomeLost
	}
	return OutcomeFailed
}

// errorOf returns the part of a shard's error that the sheet keeps.
func (s *Sheet) errorOf(e *EndRequest) string {
	text := e.ShardError()
	if text == "" {
		return "" // most shards end well: the others are not counted for them
	}
	kept := 0
	for i := range s.Shards {
		if s.Shards[i].Error != "" {
			kept++
		}
	}
	if kept == MaxShardErrors {
		return ""
	}
	return text
}

// repeatedShards answers a repeated claim of shards: with the same shards and fences, less those that are over. An owner
// that was granted none asks as if for the first time.
func (s *State) repeatedShards(ms int64, c *Claim, r *Run) (Answer, bool) {
	a, mine := about(KindOver, r, ms), false
	for i := range s.Sheet.Shards {
		h := &s.Sheet.Shards[i]
		if h.Owner != c.Owner {
			continue
		}
		mine = true
		if h.alive(ms) && !r.Cancelled { // invariant I12: a cancelled run does not start
			a.Kind, a.Wait = KindGranted, r.wait(ms)
			a.Shards = append(a.Shards, s.shardGrant(i, ms))
		}
	}
	return s.describe(a, ms, c, r), mine
}

// shard returns the shard of a request and its run, or nil if its owner does not have it under this fence. A later
// run may have the sheet by now, with fewer shards.
func (s *State) shard(ref *RunRef) (*Shard, *Run) {
	r := s.run(ref.Number)
	if r == nil || r.Shards != ref.Shards || ref.Shard >= min(r.Shards, len(s.Sheet.Shards)) {
		return nil, nil
	}
	if h := &s.Sheet.Shards[ref.Shard]; h.Owner == ref.Owner && h.Fence == ref.Fence {
		return h, r
	}
	return nil, nil
}

// renewShard moves the deadline of a shard that is alive.
func (s *State) renewShard(ms int64, ref *RunRef) RenewAnswer {
	h, r := s.shard(ref)
	if h == nil || !h.alive(ms) {
		return RenewAnswer{}
	}
	h.Until = ms + ref.TTL.Milliseconds()
	return RenewAnswer{Alive: true, Left: time.Duration(h.Until-ms) * time.Millisecond, Replaced: r.Replaced, Cancelled: r.Cancelled}
}

// releaseShard ends a shard, and settles the number if it was the last one.
func (s *State) releaseShard(us int64, e *EndRequest, w Writer) EndAnswer {
	ms := us / 1000
	h, r := s.shard(&e.RunRef)
	if h == nil {
		return EndAnswer{}
	}
	after, result := e.stateAfter(), outcome(e)
	switch {
	case r.Cancelled && after != RunDone:
		after, result = RunDone, OutcomeCancelled
	case result == "" && e.OK:
		result = OutcomeOK
	case result == "":
		result = OutcomeFailed
	}
	switch h.State {
	case after:
		return s.releaseAnswer(ms)
	case RunOpen:
	default:
		return EndAnswer{}
	}
	h.State = after
	switch after {
	case RunUnstarted:
		h.Attempt-- // an unstarted attempt does not count
	case RunDone:
		h.Ended, h.Outcome, h.OK, h.Error = ms, result, e.OK, s.Sheet.errorOf(e)
	}
	sum := s.sum(ms, r, w)
	if sum != nil {
		s.prune(r.Number)
		s.refill(us, w)
	}
	a := s.releaseAnswer(ms)
	a.Sum = sum
	return a
}
