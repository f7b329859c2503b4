package series_test

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// maxNodes bounds a cluster.
const maxNodes = 3

// A bounds says how large a cluster is, how its nodes behave, and how many faults
// of each kind may happen to it. Times are counted in intervals between ticks.
type bounds struct {
	policy
	all     bool // misfire all: a gap is claimed from its oldest tick, as a backlog
	nodes   int
	ticks   int
	ttl     int8
	margin  int8 // a node stops trusting its lease this long before the deadline
	lag     int8 // the context of a run may end this much later than the trust
	drain   bool // nodes may give back their runs
	brief   bool // a pause may have an end
	horizon int8 // after it only deadlines come nearer, so that the search ends

	lose, crash, freeze, repeat, pause int8 // fault budgets
	cancel                             int8 // how often the operator cancels a run
	run, skip                          int8 // how often the operator requests a run, or skips a tick
	fill                               int8 // how often the operator requests a backfill
	edit                               int8 // how often a node settles ticks as ticks of a former spec

	mistake mistake
}

// A mistake is a fault planted in the nodes, which the search must find.
type mistake uint8

const (
	noMistake        mistake = iota
	trustFromReply           // trust begins when the reply is read, not when the request was sent
	trustFullTTL             // trust regards the TTL that was asked for, not the time that is left
	claimIgnoresGap          // a claim names the mark as the tick before its own
	forgetsOthers            // a node never looks again at a run of another node
	startsAfterTrust         // a run starts without a last look at its lease
)

type requestKind uint8

const (
	noRequest requestKind = iota
	claimRequest
	renewRequest
	endRequest
)

// A request is a message from a node to the store.
type request struct {
	kind    requestKind
	tick    int8
	after   int8 // the tick before tick, as the node sees it
	between int8
	backlog bool
	former  bool // the tick is one of a former spec
	owner   int8
	fence   int64 // of the run to take over, or of the lease
	how     series.RunState
}

// A reply is the answer of the store.
type reply struct {
	here     bool
	kind     series.Kind // of a claim
	alive    bool        // of a renewal
	tick     int8
	fence    int64
	left     int8
	mark     int8
	watching bool // the answer names a run to look at again
}

type nodeMode uint8

const (
	nodeUp nodeMode = iota
	nodeFrozen
	nodeDown
)

type runPhase uint8

const (
	noRun     runPhase = iota
	leased             // granted, the function has not started
	inProcess          // the function runs
	ending             // the function has returned, the end is being sent
)

// A member is one node of a cluster. It does one request at a time; its run goes
// on while a renewal is on its way.
type member struct {
	mode  nodeMode
	phase runPhase
	tick  int8
	owner int8
	fence int64
	trust int8

	op     request
	flying bool // a copy of op is on its way to the store
	sent   int8
	reply  reply

	watchTick  int8 // a run of another node to look at again
	watchFence int64
}

// A cluster is one series, the nodes that share it, and the network between: it
// loses, repeats and delays requests, and nodes stop, freeze and start again. The
// store is the real [series.State]; the journal that it writes is judged by the
// same ledger as in the other tests.
type cluster struct {
	*bounds
	state  series.State
	ledger ledger
	now    int8
	nodes  [maxNodes]member
	late   request // a copy that arrives some time; its reply goes nowhere
	starts [maxIndex + 1]int8
	change int64
	again  bool // the last resume may arrive once more
	fault  string

	losses, crashes, freezes, repeats, pauses, cancels, edits, requests, skips, fills int8 // the rest of the budgets
}

func newCluster(b *bounds) *cluster {
	c := &cluster{bounds: b, losses: b.lose, crashes: b.crash, freezes: b.freeze, repeats: b.repeat, pauses: b.pause, cancels: b.cancel, edits: b.edit, requests: b.run, skips: b.skip, fills: b.fill}
	c.state.Open(c.us(), &series.OpenRequest{Key: "job", Node: "n"}, &c.ledger)
	for i := b.nodes; i < maxNodes; i++ {
		c.nodes[i].mode = nodeDown
	}
	return c
}

func (c *cluster) clone() *cluster {
	t := *c
	t.state.Runs = slices.Clone(c.state.Runs)
	return &t
}

func (c *cluster) ms() int64 { return due(int(c.now)) }
func (c *cluster) us() int64 { return c.ms() * 1000 }

// broken records the first fault.
func (c *cluster) broken(format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
	}
}

// ownerNames are the owners that nodes ask with, by number. Number 0 is none.
var ownerNames = func() (names [64]string) {
	for i := 1; i < len(names); i++ {
		names[i] = fmt.Sprintf("n/%02d", i)
	}
	return names
}()

func ownerNumber(name string) int8 {
	if name == "" {
		return 0
	}
	return int8(name[2]-'0')*10 + int8(name[3]-'0')
}

// fresh returns an owner that nothing in the cluster names.
func (c *cluster) fresh() int8 {
	var used [len(ownerNames)]bool
	used[ownerNumber(c.state.SpentBy)], used[c.late.owner] = true, true
	for i := range c.state.Runs {
		used[ownerNumber(c.state.Runs[i].Owner)] = true
	}
	for i := range c.nodes {
		used[c.nodes[i].owner], used[c.nodes[i].op.owner] = true, true
	}
	return int8(1 + slices.Index(used[1:], false))
}

// exec runs a request in the store.
func (c *cluster) exec(r request) reply {
	ref := series.RunRef{Key: "job", Number: due(int(r.tick)), Owner: ownerNames[r.owner], Fence: r.fence, TTL: c.leaseTime()}
	switch r.kind {
	case claimRequest:
		return c.execClaim(r)
	case renewRequest:
		a := c.state.Renew(c.us(), &ref)
		return reply{here: true, alive: a.Alive, left: int8(a.Left.Milliseconds() / interval)}
	}
	e := series.EndRequest{RunRef: ref, State: r.how}
	if r.how == series.RunDone {
		e.Outcome, e.OK = series.OutcomeOK, true
	}
	c.state.Release(c.us(), &e, &c.ledger)
	return reply{here: true}
}

func (c *cluster) leaseTime() time.Duration {
	return time.Duration(c.ttl) * interval * time.Millisecond
}

// execClaim asks for a tick, and holds the store to its word: the same owner that
// asks again at once is answered the same, and nothing more is written.
func (c *cluster) execClaim(r request) reply {
	q := series.Claim{Key: "job", Owner: ownerNames[r.owner], Number: due(int(r.tick)), After: due(int(r.after)), Between: int(r.between),
		From: r.fence, TTL: c.leaseTime(), Deadline: c.deadline, Attempts: c.attempts, Rerun: c.rerun, Overlap: c.overlap,
		Backlog: r.backlog, Latest: driver.MaxNumber}
	if int(c.now) < c.ticks {
		q.Next = due(int(c.now) + 1)
	}
	if r.former {
		q.After, q.Between, q.Late = 0, 1, series.ReasonRespecified
	}
	during := int(r.tick) > maxTicks && q.Number >= c.state.Pause.Since // a manual run that was requested in the pause
	paused, fence := c.state.Paused && c.state.Pause.Covers(c.ms()) && !during, c.state.Fence
	a := c.state.Claim(c.us(), &q, &c.ledger)
	switch {
	case r.former && a.Kind == series.KindGranted:
		c.broken("tick %d of a former spec is granted", r.tick)
	case c.ledger.pages[r.tick].cancelled && a.Kind == series.KindGranted:
		c.broken("I12 tick %d is granted after its cancel", r.tick)
	case a.Kind == series.KindGranted && a.For != 0 && q.Next != 0 && c.overlap != series.OverlapAllow:
		c.broken("I9 a run of a backfill is granted in the interval before tick %d", c.now+1)
	case paused && c.state.Fence != fence:
		c.broken("tick %d is granted, or waits, during a pause", r.tick)
	case a.Kind == series.KindSkipped && c.ledger.pages[r.tick].verdict == series.VerdictSkipped && q.Number != c.ledger.skip && !c.earlier(q.Number):
		c.broken("tick %d is skipped as overlap, but the run was granted after it", r.tick)
	}
	before := c.ledger
	if b := c.state.Claim(c.us(), &q, &c.ledger); b.Kind != a.Kind || b.Number != a.Number || b.Fence != a.Fence || c.ledger != before {
		c.broken("asked again, the claim of tick %d is answered %+v, at first %+v", r.tick, b, a)
	}
	t := reply{here: true, kind: a.Kind, fence: a.Fence, left: int8(a.Left.Milliseconds() / interval), mark: int8(indexOf(a.Mark))}
	t.tick = int8(indexOf(a.Number))
	t.watching = a.Fence != 0 && (a.Kind == series.KindWaiting || a.Kind == series.KindHeld || a.Kind == series.KindPassed && a.State < series.RunDone)
	return t
}

// over reports whether a run may be taken over or settled.
func (c *cluster) over(tick int8) bool {
	i := slices.IndexFunc(c.state.Runs, func(r series.Run) bool { return r.Number == due(int(tick)) })
	if i < 0 {
		return false
	}
	switch r := &c.state.Runs[i]; r.State {
	case series.RunOpen:
		return c.ms() >= r.Until
	case series.RunGivenBack, series.RunUnstarted:
		return true
	case series.RunWaiting:
		return !c.anyAlive() || r.Manual() && (c.overlap == series.OverlapAllow || c.ms() > r.StartBy)
	}
	return false
}

func (c *cluster) alive(r *series.Run) bool { return r.State == series.RunOpen && c.ms() < r.Until }

func (c *cluster) anyAlive() bool {
	return slices.ContainsFunc(c.state.Runs, func(r series.Run) bool { return c.alive(&r) })
}

// earlier reports whether a run was granted at or before a tick.
func (c *cluster) earlier(number int64) bool {
	return slices.ContainsFunc(c.state.Runs, func(r series.Run) bool { return r.Granted <= number })
}

// latest is the latest tick that is due.
func (c *cluster) latest() int8 { return min(c.now, int8(c.ticks)) }

// active reports whether the context of a node's run lives.
func (c *cluster) active(n *member) bool {
	return n.mode == nodeUp && n.phase == inProcess && c.now < n.trust+c.lag
}

// check returns the first invariant that is broken, or "".
func (c *cluster) check() string {
	c.ledger.complete(due(0))
	switch {
	case c.fault != "":
		return c.fault
	case c.ledger.fault != "":
		return c.ledger.fault
	case len(c.state.Backfill.Numbers) > 0 && c.filling() != 1, c.filling() > 1:
		return fmt.Sprintf("I9 %d runs of a backfill with %d further numbers are not settled", c.filling(), len(c.state.Backfill.Numbers))
	case c.state.Mark > c.ms():
		return "I7 the mark lies in the future"
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; c.active(n) && c.surpassed(n) {
			return "I3 a context lives while another node has been granted"
		}
	}
	for k, n := range c.starts {
		if int(n) > c.attempts {
			return fmt.Sprintf("I1 tick %d was started %d times, allowed are %d", k, n, c.attempts)
		}
	}
	return c.progress()
}

// surpassed reports whether a later grant is alive beside a node's run.
func (c *cluster) surpassed(n *member) bool {
	return slices.ContainsFunc(c.state.Runs, func(r series.Run) bool {
		return c.alive(&r) && r.Fence > n.fence && (r.Number == due(int(n.tick)) || c.overlap != series.OverlapAllow)
	})
}

// progress holds the cluster against I6: the first undecided tick that is due,
// inside its deadline and free, is granted at once.
func (c *cluster) progress() string {
	mark := int8(indexOf(c.state.Mark))
	k := mark + 1
	late := time.Duration(c.now-k) * interval * time.Millisecond
	if int(k) > c.ticks || due(int(k)) == c.ledger.skip || c.now < k || late > c.deadline || c.state.Paused && (c.state.Pause.Covers(c.ms()) || c.state.Pause.Covers(due(int(k)))) || c.anyAlive() {
		return ""
	}
	t := c.clone()
	r := request{kind: claimRequest, tick: k, after: mark, owner: t.fresh(), backlog: c.all}
	a := t.execClaim(r)
	if a.kind == series.KindOrphan {
		a = t.execClaim(request{kind: claimRequest, tick: a.tick, after: a.tick - 1, fence: a.fence, owner: t.fresh()})
	}
	if a.kind != series.KindGranted {
		return fmt.Sprintf("I6 tick %d is due and free, the answer is %+v", k, a)
	}
	return ""
}

// quiet reports whether every tick has its last verdict.
func (c *cluster) quiet() bool {
	for k := 1; k <= c.ticks; k++ {
		if c.ledger.pages[k].fate != final {
			return false
		}
	}
	for k := range c.manual() {
		if c.ledger.pages[k].fate != final {
			return false
		}
	}
	return true
}

// filling returns how many runs of a backfill are not settled.
func (c *cluster) filling() (n int) {
	for i := range c.state.Runs {
		if r := &c.state.Runs[i]; r.For != 0 && r.State < series.RunDone {
			n++
		}
	}
	return n
}

// manual returns the manual numbers that were requested.
func (c *cluster) manual() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := maxTicks + 1; c.run+c.fill > 0 && k <= maxTicks+2+2*int(c.horizon); k++ {
			if c.ledger.pages[k].fate != undecided && !yield(k) {
				return
			}
		}
	}
}
