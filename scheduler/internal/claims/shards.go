package claims

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/spread"
)

// The shards of a tick are claimed in waves, which need no communication between nodes. At the tick each
// node claims the shards for which it is first. While shards are left, each node with a free slot then claims a part of
// them, after pauses that double. A wrong list of nodes costs a pause, and never runs a shard twice.

// divided reports whether a tick of the job is a sheet of shards, as that of a broadcast is.
func (e *entry) divided() bool { return e.Rules.Shards > 0 || e.Rules.Policy.Broadcast }

// A layout names a division of a job's ticks.
type layout struct {
	e      *entry
	shards int
}

// takeSharded claims the shards for which this node is first. If there is none, it leaves the tick to the
// other nodes for a moment.
func (c *Claims) takeSharded(claims []*Pending, t *dueTick, later int64) []*Pending {
	if len(c.division(t.e, t.e.Rules.Shards).Own) > 0 {
		return append(claims, t.claim())
	}
	c.retries.add(later, t.claim())
	return claims
}

// division returns which node is first for each shard. It is kept until the list of nodes changes.
func (c *Claims) division(e *entry, shards int) *spread.Table {
	key := layout{e, shards}
	if t := c.divisions[key]; t != nil {
		return t
	}
	names := c.nodes.Names()
	t := spread.Of(e.Name, shards, names, names[len(names)-1])
	if c.divisions == nil {
		c.divisions = map[layout]*spread.Table{}
	}
	c.divisions[key] = &t
	return &t
}

// Before it claims the tick of a broadcast a node leaves some ms to its heartbeat, which reads the list of nodes, and so again while a
// slow store has not answered. Then it claims with the list that it has.
const (
	listing  = 25
	listings = 8
)

// needsList reports whether a claim may decide which nodes a broadcast expects, and the list of nodes was not read for it.
func (c *Claims) needsList(p *Pending) bool {
	return p.job.Rules.Policy.Broadcast && p.of == 0 && p.purpose != forVerdict &&
		(p.listings == 0 || p.listings < listings && p.lists == c.lists)
}

// list leaves a claim to the next reading of the list of nodes.
func (c *Claims) list(p *Pending, now int64) {
	c.needList(p)
	c.waitUntil(p, max(now, p.tick)+listing)
}

// needList requests the list of nodes for a claim, unless it was requested for it before.
func (c *Claims) needList(p *Pending) {
	if p.listings == 0 {
		p.lists, c.listing = c.lists, true
	}
	p.listings++
}

// awaitsList reports whether a claim has not been sent yet, because the list of nodes is read for it.
func (p *Pending) awaitsList() bool {
	return p != nil && p.listings > 0 && p.tries == 0 && (p.state == stateTimed || p.state == stateHandled)
}

// broadcast returns the part of a request for a tick that each live node runs, as far as this node knows them. If there are more than
// the store can keep, it leaves the last ones out: a claim with all of them would be refused, and no tick decided.
func (c *Claims) broadcast() *series.Sharding {
	names := c.nodes.Names()
	self := names[len(names)-1]
	nodes := slices.Compact(slices.Sorted(slices.Values(names)))
	if most := c.cfg.Shards; len(nodes) > most {
		nodes = nodes[:most]
		if !slices.Contains(nodes, self) {
			nodes[most-1] = self
		}
	}
	return &series.Sharding{Shards: len(nodes), Params: nodes, Broadcast: true}
}

// sharding returns the part of a request that is about shards, or nil. A claim of an open sheet takes any shards, its own
// ones first.
func (c *Claims) sharding(p *Pending) *series.Sharding {
	r := p.job.Rules
	n := cmp.Or(p.of, r.Shards)
	if n == 0 && !r.Policy.Broadcast {
		return nil
	}
	h := &series.Sharding{Shards: n}
	if r.Policy.Broadcast {
		h = c.broadcast()
	} else if r.Params != "" && n == r.Shards {
		h.Params = strings.Split(r.Params, "\n")
	}
	h.FailAll, h.Most = r.FailAll, max(1, p.slots)
	if n == 0 { // its own shard of a broadcast
		return h
	}
	t := c.division(p.e, n)
	if h.Want = t.Own; p.from != 0 || len(t.Own) == 0 {
		h.Want = slices.Concat(t.Own, t.Others)
	}
	return h
}

// readEarlier requests the state of the job if an earlier tick, which the claim has replaced, may have shards that only this node can start,
// as it had no free slot then: no later tick may start before they have, or their deadline has passed.
func (c *Claims) readEarlier(p *Pending, a *series.Answer, done step) {
	switch {
	case !p.replaces || done != stepEnd && done != stepDrop && done != stepHold:
		return
	case (a.Of == 0 || a.Number != p.tick) && !c.leaves(p.e): // this tick has no open sheet, so that one may have it
		c.effects.Open = append(c.effects.Open, p.e.Job)
	}
	p.replaces = false
}

// most returns how many slots a claim may use: one for each shard for which this node is first, or for each shard of
// its part of those that are left.
func (c *Claims) most(p *Pending) int {
	switch n := cmp.Or(p.of, p.job.Rules.Shards); {
	case n == 0:
		return 1
	case p.from != 0:
		nodes := c.nodes.Count()
		return max(1, (p.free+nodes-1)/nodes)
	default:
		return max(1, len(c.division(p.e, n).Own))
	}
}

// granted returns how many runs start with a grant.
func granted(a *series.Answer) int {
	if a.Of > 0 {
		return len(a.Shards)
	}
	return 1
}

// firstPause is how long a node leaves the shards of others to them at the tick: long enough for a node that is late by a busy
// processor to claim its own shards, so that the others find none left.
const firstPause = 100 * time.Millisecond

// waves are the pauses between the later claims of one node for the shards of a tick that are left.
var waves = wait.Backoff{First: 25 * time.Millisecond, Longest: time.Second}

// watchShards claims further shards of an open sheet: soon while some may start, and otherwise when the
// first lease of another node is over. If the tick waited for an earlier one, it claims them at once when an answer says that the sheet is open.
func (c *Claims) watchShards(p *Pending, a *series.Answer, now int64) {
	r := run{p.e, a.Number}
	if a.State != series.RunOpen || c.leaves(p.e) {
		c.cancel(r)
		return
	}
	next := &Pending{e: r.e, job: r.e.Job, tick: r.tick, after: r.tick - 1, from: a.Fence, purpose: forProbe, free: a.Free, of: a.Of}
	at := now + time.Second.Milliseconds()
	switch {
	case p.from != 0 && p.from != a.Fence: // another node has opened the sheet since, and the answer does not say which shards may start
		at = now
	case a.Free > 0 && p.from == 0:
		at = now + firstPause.Milliseconds()
	case a.Free > 0:
		next.wave = p.wave + 1
		at = now + waves.After(next.wave).Milliseconds()
	case a.Left > 0 && !c.nodes.Among(runPeekers, r.e.Hash, a.Number, ""): // two nodes find shards that were given back
		at = onGrid(now+a.Left.Milliseconds()+1, probeGrid)
	case a.Left > 0:
		at = min(at, onGrid(now+a.Left.Milliseconds()+1, probeGrid))
	}
	if old := c.probes[r]; old.of(a.Fence) && old.at <= at {
		return
	}
	c.plan(r, probe{claim: next, at: at})
	c.retries.add(at, next)
}
