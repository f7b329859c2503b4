package series_test

import (
	"fmt"

	"github.com/cronce/cronce/lock/series"
)

const (
	byTime     = -1 // time passes
	byOperator = -2
	byNetwork  = -3
)

// A turn is one step that a cluster may make next.
type turn struct {
	label string
	by    int8 // the node that makes it, or one of the constants above
	fault bool // it uses a fault budget
	do    func(c *cluster)
}

// turns lists all steps that may come next.
func (c *cluster) turns() []turn {
	ts := make([]turn, 0, 16)
	ts = append(ts, turn{"time passes", byTime, false, (*cluster).pass})
	ts = c.operator(ts)
	if r := c.late; r.kind != noRequest {
		ts = append(ts,
			turn{"a late copy arrives: " + r.String(), byNetwork, true, func(c *cluster) { c.late = request{}; c.exec(r) }},
			turn{"the late copy is lost", byNetwork, true, func(c *cluster) { c.late = request{} }})
	}
	for i := range c.bounds.nodes {
		ts = c.network(ts, i)
		ts = c.mode(ts, i)
		if c.nodes[i].mode == nodeUp {
			ts = c.answers(ts, i)
			ts = c.steps(ts, i)
		}
	}
	return ts
}

// pass lets an interval pass. Beyond the horizon all deadlines come nearer instead.
func (c *cluster) pass() {
	if c.now < c.horizon {
		c.now++
		return
	}
	for i := range c.state.Runs {
		c.state.Runs[i].Until -= interval
		if r := &c.state.Runs[i]; r.Manual() && r.For == 0 {
			c.state.Runs[i].StartBy -= interval
		}
	}
	for i := range c.nodes {
		c.nodes[i].trust = max(c.nodes[i].trust-1, 0)
		c.nodes[i].sent = max(c.nodes[i].sent-1, 0)
	}
}

func (c *cluster) operator(ts []turn) []turn {
	if c.pauses > 0 && !c.state.Paused {
		ts = append(ts, turn{"the operator pauses", byOperator, true, func(c *cluster) {
			c.pauses--
			c.operate(series.ActionPause, 0, 0)
		}})
		if due := due(int(c.latest())); c.state.Mark < due {
			ts = append(ts, turn{"the operator pauses after an outage", byOperator, true, func(c *cluster) {
				c.pauses--
				c.operate(series.ActionPause, 0, due)
			}})
		}
		if c.brief && c.now < c.horizon {
			ts = append(ts, turn{"the operator pauses until the next interval has begun", byOperator, true, func(c *cluster) {
				c.pauses--
				c.operate(series.ActionPause, c.ms()+interval, 0)
			}})
		}
	}
	ts = c.backfills(c.requested(c.cancellations(ts)))
	if c.state.Paused {
		ts = append(ts, turn{"the operator resumes", byOperator, false, func(c *cluster) {
			c.again = true
			c.operate(series.ActionResume, 0, 0)
		}})
	}
	if c.again {
		ts = append(ts, turn{"the last resume arrives again", byOperator, true, func(c *cluster) {
			c.again = false
			before, change := c.ledger, c.state.Change
			if c.control(series.ActionResume, 0, 0, change); c.ledger != before || c.state.Change != change {
				c.broken("a resume asked again changed something")
			}
		}})
	}
	return ts
}

// cancellations cancel any run that is not settled.
func (c *cluster) cancellations(ts []turn) []turn {
	if c.cancels == 0 {
		return ts
	}
	for i := range c.state.Runs {
		if r := &c.state.Runs[i]; r.State < series.RunDone && !r.Cancelled {
			number := r.Number
			ts = append(ts, turn{fmt.Sprintf("the operator cancels tick %d", indexOf(number)), byOperator, true, func(c *cluster) {
				c.cancels--
				c.change++
				q := series.Control{Key: "job", Action: series.ActionCancel, Op: opNames[c.change], Who: "op", Reason: "for the test", Number: number, Seen: series.AnySeen}
				if a, _ := c.state.Control(c.us(), &q, c.change, &c.ledger); !a.Made {
					c.broken("the cancel of tick %d is answered %+v", indexOf(number), a)
				}
			}})
		}
	}
	return ts
}

// requested requests a manual run, or skips the next tick.
func (c *cluster) requested(ts []turn) []turn {
	if c.requests > 0 && c.state.Manual < c.ms() { // a manual number is named by its second
		ts = append(ts, turn{"the operator requests a run", byOperator, true, func(c *cluster) {
			c.requests--
			c.change++
			mark, last := c.state.Mark, c.state.Last
			q := series.Control{Key: "job", Action: series.ActionRun, Op: opNames[c.change], Who: "op", Reason: "for the test", Until: c.ms() + 2*interval,
				Overlap: max(c.overlap, series.OverlapQueue), Anyway: true, Seen: series.AnySeen}
			a, _ := c.state.Control(c.us(), &q, c.change, &c.ledger)
			if lapse := !c.brief && c.state.Mark != mark; !a.Made || lapse || c.state.Last != last {
				c.broken("I9 the request for a run is answered %+v, the mark was %d", a, mark)
			}
		}})
	}
	if k := c.now + 1; c.skips > 0 && int(k) <= c.ticks && c.state.Mark < due(int(k)) {
		ts = append(ts, turn{"the operator skips the next tick", byOperator, true, func(c *cluster) {
			c.skips--
			c.change++
			q := series.Control{Key: "job", Action: series.ActionSkip, Op: opNames[c.change], Who: "op", Reason: "for the test", Number: due(int(k)), Seen: series.AnySeen}
			if a, _ := c.state.Control(c.us(), &q, c.change, &c.ledger); !a.Made {
				c.broken("the skip of tick %d is answered %+v", k, a)
			}
			c.ledger.skip = due(int(k))
		}})
	}
	return ts
}

func (c *cluster) operate(action series.Action, until, before int64) {
	c.change++
	c.control(action, until, before, c.change)
}

// control sends the request of a change, which is named by its number.
func (c *cluster) control(action series.Action, until, before, change int64) {
	c.state.Control(c.us(), &series.Control{Key: "job", Action: action, Op: opNames[change], Who: "op", Reason: "for the test", Until: until, Due: before, Seen: series.AnySeen}, change, &c.ledger)
}

// backfills requests a backfill, or ends it.
func (c *cluster) backfills(ts []turn) []turn {
	send := func(label string, budget func(c *cluster) *int8, numbers []int64) {
		ts = append(ts, turn{label, byOperator, true, func(c *cluster) {
			*budget(c)--
			c.change++
			mark := c.state.Mark
			q := series.Control{Key: "job", Action: series.ActionBackfill, Op: opNames[c.change], Who: "op", Reason: "for the test", Numbers: numbers,
				Room: interval, Anyway: true, Seen: series.AnySeen}
			a, _ := c.state.Control(c.us(), &q, c.change, &c.ledger)
			if lapse := !c.brief && c.state.Mark != mark; !a.Made || lapse {
				c.broken("I9 the request for a backfill of %d is answered %+v, the mark was %d", len(numbers), a, mark)
			}
		}})
	}
	if c.fills > 0 {
		send("the operator requests a backfill", func(c *cluster) *int8 { return &c.fills }, toFill[:])
	}
	if c.cancels > 0 && len(c.state.Backfill.Numbers) > 0 {
		send("the operator ends the backfill", func(c *cluster) *int8 { return &c.cancels }, nil)
	}
	return ts
}

// opNames are the operations of the operator, by the number of their change.
var opNames = [...]string{"", "op1", "op2", "op3", "op4", "op5", "op6", "op7", "op8"}

// network carries requests to the store, also the requests of a frozen node.
func (c *cluster) network(ts []turn, i int) []turn {
	n := &c.nodes[i]
	if !n.flying {
		return ts
	}
	r, name := n.op, nodeName(i)
	ts = append(ts, turn{name + ": the store executes " + r.String(), int8(i), false, func(c *cluster) {
		n := &c.nodes[i]
		n.flying, n.reply = false, c.exec(r)
		if n.reply.kind != series.KindGranted && r.kind == claimRequest && n.mode == nodeUp {
			c.read(n) // a delay of this answer is a delay of the request that follows
		}
	}})
	if c.losses > 0 {
		ts = append(ts,
			turn{name + ": the store executes " + r.String() + ", the reply is lost", int8(i), true, func(c *cluster) {
				c.losses--
				c.nodes[i].flying = false
				c.exec(r)
			}},
			turn{name + ": the request is lost", int8(i), true, func(c *cluster) {
				c.losses--
				c.nodes[i].flying = false
			}})
	}
	if c.repeats > 0 && n.mode == nodeUp && c.late.kind == noRequest {
		ts = append(ts, turn{name + ": the request is delayed, and sent again by the same owner", int8(i), true, func(c *cluster) {
			c.repeats--
			c.late = r
			c.nodes[i].sent = c.now
		}})
	}
	return ts
}

// mode stops, freezes and starts a node.
func (c *cluster) mode(ts []turn, i int) []turn {
	name := nodeName(i)
	switch c.nodes[i].mode {
	case nodeDown:
		return append(ts, turn{name + ": starts again", int8(i), false, func(c *cluster) { c.nodes[i] = member{} }})
	case nodeFrozen:
		return append(ts, turn{name + ": goes on after a freeze", int8(i), false, func(c *cluster) { c.nodes[i].mode = nodeUp }})
	}
	if c.crashes > 0 {
		ts = append(ts, turn{name + ": crashes", int8(i), true, func(c *cluster) {
			c.crashes--
			c.abandon(&c.nodes[i])
			c.nodes[i] = member{mode: nodeDown}
		}})
	}
	if c.freezes > 0 {
		ts = append(ts, turn{name + ": freezes", int8(i), true, func(c *cluster) {
			c.freezes--
			c.nodes[i].mode = nodeFrozen
		}})
	}
	return ts
}

// answers are read, and a request without one is sent again by the same owner.
func (c *cluster) answers(ts []turn, i int) []turn {
	n := &c.nodes[i]
	switch {
	case n.op.kind == noRequest:
	case n.reply.here:
		ts = append(ts, turn{fmt.Sprintf("%s: reads the answer to %s: %+v", nodeName(i), n.op, n.reply), int8(i), false,
			func(c *cluster) { c.read(&c.nodes[i]) }})
	case !n.flying:
		ts = append(ts, turn{nodeName(i) + ": asks again as the same owner", int8(i), false, func(c *cluster) {
			c.nodes[i].flying, c.nodes[i].sent = true, c.now
		}})
	}
	return ts
}

// steps are the moves that a node makes by itself.
func (c *cluster) steps(ts []turn, i int) []turn {
	n, name := &c.nodes[i], nodeName(i)
	add := func(label string, do func(c *cluster, n *member)) {
		ts = append(ts, turn{name + ": " + label, int8(i), false, func(c *cluster) { do(c, &c.nodes[i]) }})
	}
	trusted := c.now < n.trust
	switch n.phase {
	case leased:
		if trusted || c.mistake == startsAfterTrust {
			add("starts the function", func(c *cluster, n *member) {
				n.phase = inProcess
				c.starts[n.tick]++
				if c.mistake == startsAfterTrust {
					n.trust = max(n.trust, c.now+1)
				}
			})
		}
		if !trusted || c.drain {
			add("gives back a lease that it never used", func(c *cluster, n *member) { c.end(n, series.RunUnstarted) })
		}
	case inProcess:
		add("the function returns", func(c *cluster, n *member) { c.end(n, series.RunDone) })
		if c.drain && trusted {
			add("the function is interrupted by a drain", func(c *cluster, n *member) { c.end(n, series.RunGivenBack) })
		}
		if !trusted {
			add("leaves a lost lease to its deadline", func(c *cluster, n *member) {
				c.abandon(n)
				n.phase, n.owner, n.fence, n.trust = noRun, 0, 0, 0
			})
		}
		if n.op.kind == noRequest && trusted {
			add("renews", func(c *cluster, n *member) {
				c.send(n, request{kind: renewRequest, tick: n.tick, owner: n.owner, fence: n.fence})
			})
		}
	case noRun:
		if n.op.kind == noRequest {
			ts = c.claims(ts, i)
		}
	}
	return ts
}

// claims are sent for any tick that is due, at any time, independent of a node's clock. The first
// node also claims the last tick from the beginning, as a node does whose clock is far ahead.
func (c *cluster) claims(ts []turn, i int) []turn {
	n, name := &c.nodes[i], nodeName(i)
	for k := int8(1); int(k) <= c.ticks; k++ {
		ahead := i == 0 && int(k) == c.ticks
		if c.now < k && !ahead || c.ledger.pages[k].fate == final {
			continue
		}
		ts = append(ts, turn{fmt.Sprintf("%s: claims tick %d", name, k), int8(i), false, func(c *cluster) {
			after := k - 1
			if c.mistake == claimIgnoresGap {
				after = min(after, int8(indexOf(c.state.Mark)))
			}
			c.send(&c.nodes[i], request{kind: claimRequest, tick: k, after: after, owner: c.fresh()})
		}})
	}
	if k := c.latest(); c.edits > 0 && k > 0 && c.ledger.pages[k].fate != final {
		ts = append(ts, turn{fmt.Sprintf("%s: settles the ticks of a former spec up to %d", name, k), int8(i), true, func(c *cluster) {
			c.edits--
			c.send(&c.nodes[i], request{kind: claimRequest, tick: k, former: true, owner: c.fresh()})
		}})
	}
	for _, r := range c.state.Runs {
		if k := int8(indexOf(r.Number)); r.Manual() && c.over(k) {
			ts = append(ts, turn{fmt.Sprintf("%s: reads the series, and takes over the manual run %d", name, k), int8(i), false, func(c *cluster) {
				c.send(&c.nodes[i], request{kind: claimRequest, tick: k, fence: r.Fence, owner: c.fresh()})
			}})
		}
	}
	if n.watchTick != 0 && c.over(n.watchTick) { // sent sooner it would be in vain
		ts = append(ts, turn{fmt.Sprintf("%s: takes over tick %d", name, n.watchTick), int8(i), false, func(c *cluster) {
			n := &c.nodes[i]
			c.send(n, request{kind: claimRequest, tick: n.watchTick, after: n.watchTick - 1, fence: n.watchFence, owner: c.fresh()})
		}})
	}
	return ts
}

func (c *cluster) send(n *member, r request) {
	n.op, n.flying, n.reply, n.sent = r, true, reply{}, c.now
}

// abandon forgets a request that is on its way. It may still arrive.
func (c *cluster) abandon(n *member) {
	if n.flying && c.late.kind == noRequest {
		c.late = n.op
	}
	n.op, n.flying, n.reply = request{}, false, reply{}
}

func (c *cluster) end(n *member, how series.RunState) {
	c.abandon(n)
	n.phase = ending
	c.send(n, request{kind: endRequest, tick: n.tick, owner: n.owner, fence: n.fence, how: how})
}

// read takes the answer to a node's request.
func (c *cluster) read(n *member) {
	a, r := n.reply, n.op
	n.op, n.reply = request{}, reply{}
	sent, left := n.sent, min(a.left, c.ttl)
	if c.mistake == trustFromReply {
		sent = c.now
	}
	if c.mistake == trustFullTTL {
		left = c.ttl
	}
	trust := sent + left - c.margin
	switch r.kind {
	case claimRequest:
		n.watchTick, n.watchFence = 0, 0
		c.answered(n, r, a, trust)
	case renewRequest:
		if a.alive {
			n.trust = max(n.trust, trust)
		} else {
			n.trust = 0
		}
	case endRequest:
		n.phase, n.tick, n.owner, n.fence, n.trust = noRun, 0, 0, 0, 0
	}
}

func (c *cluster) answered(n *member, r request, a reply, trust int8) {
	switch {
	case a.kind == series.KindGranted:
		n.phase, n.tick, n.owner, n.fence, n.trust = leased, r.tick, r.owner, a.fence, trust
	case a.kind == series.KindOrphan:
		c.send(n, request{kind: claimRequest, tick: a.tick, after: a.tick - 1, fence: a.fence, owner: c.fresh()})
	case a.kind == series.KindGap:
		c.gap(n, a.mark)
	case a.watching && c.mistake != forgetsOthers:
		n.watchTick, n.watchFence = a.tick, a.fence
	}
}

// gap claims a tick after the mark: the latest, which declares those between as missed, or the
// oldest, as a backlog.
func (c *cluster) gap(n *member, mark int8) {
	k := c.latest()
	if c.all {
		k = mark + 1
	}
	if k > mark {
		c.send(n, request{kind: claimRequest, tick: k, after: mark, between: k - mark - 1, backlog: c.all, owner: c.fresh()})
	}
}

func nodeName(i int) string { return string(rune('A' + i)) }

func (r request) String() string {
	switch r.kind {
	case claimRequest:
		if r.fence != 0 {
			return fmt.Sprintf("the takeover of tick %d", r.tick)
		}
		return fmt.Sprintf("the claim of tick %d after %d", r.tick, r.after)
	case renewRequest:
		return fmt.Sprintf("the renewal of tick %d", r.tick)
	case endRequest:
		return fmt.Sprintf("the end of tick %d (%d)", r.tick, r.how)
	}
	return "nothing"
}
