// Package plays lets nodes and operators act at random, within the rules, on one series of a store. The journal of that series is
// sound after each play.
package plays

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// The series of a play, and the times of its runs.
const (
	Key = "job"
	ttl = 3 * time.Second
)

// A Stage has the series of a play, and a clock that only the play moves.
type Stage interface {
	Now() int64 // ms
	Pass(ms int64)

	Open(o series.OpenRequest)
	Claim(c series.Claim) series.Answer
	Renew(r series.RunRef)
	Release(e series.EndRequest) series.EndAnswer
	Control(c series.Control) series.ControlAnswer

	Series() series.Series
	Journal() series.Journal
	Audit() []series.AuditRecord
}

// A Policy has the settings of a job for a claim, with the spec of the node.
type Policy struct {
	Spec     string
	Overlap  series.Overlap
	Backlog  bool
	Rerun    bool
	Deadline time.Duration
	Shards   int
}

// Schedule returns the ticks of the spec.
func (p Policy) Schedule() *spec.Schedule {
	schedule, err := spec.Parse(p.Spec, nil)
	if err != nil {
		panic(err)
	}
	return schedule
}

// A Grant is the answer to a claim.
type Grant struct {
	series.Answer
	Owner string
	shard int
}

// Ref names the run that was granted.
func (g Grant) Ref() series.RunRef {
	return series.RunRef{Key: Key, Number: g.Number, Owner: g.Owner, Fence: g.Fence, TTL: ttl, Shard: g.shard, Shards: g.Of}
}

// Parts returns a grant for each granted shard, or the grant itself.
func (g Grant) Parts() (all []Grant) {
	if g.Of == 0 {
		return []Grant{g}
	}
	for _, h := range g.Shards {
		part := g
		part.Fence, part.shard = h.Fence, h.Shard
		all = append(all, part)
	}
	return all
}

// A Cast is the nodes and the operator that act on a stage.
type Cast struct {
	Stage
	owners int
}

func (c *Cast) owner() string {
	c.owners++
	return fmt.Sprintf("%c/%d", 'a'+rune(c.owners%3), c.owners)
}

// Enter opens the series as a node does when it starts and in turn: its spec is its revision.
func (c *Cast) Enter(text string) {
	c.Open(series.OpenRequest{Key: Key, Node: "a", Revision: text, Spec: text, Zone: "UTC"})
}

// First returns when a revision was seen first, or 0.
func (c *Cast) First(revision string) int64 {
	for _, v := range c.Journal().Revisions {
		if v.Revision == revision {
			return v.First
		}
	}
	return 0
}

// ClaimOf returns a claim of a tick by an owner that has made none.
func (c *Cast) ClaimOf(p Policy, tick int64) series.Claim {
	claim := series.Claim{Key: Key, Owner: c.owner(), Number: tick, After: tick - 1, TTL: ttl, Deadline: p.Deadline,
		Attempts: 3, Rerun: p.Rerun, Window: time.Hour, Overlap: p.Overlap, Backlog: p.Backlog,
		Latest: c.Now() + 1000, Revision: p.Spec}
	if claim.Deadline == 0 {
		claim.Deadline = 10 * time.Second
	}
	if p.Shards > 0 {
		claim.Sharding = &series.Sharding{Shards: p.Shards, Want: []int{2, 0, 1}, Most: 2}
	}
	return claim
}

// Ask claims a tick as a node does: a gap is covered, an orphan taken over first.
func (c *Cast) Ask(p Policy, tick int64) Grant {
	schedule := p.Schedule()
	claim := c.ClaimOf(p, tick)
	claim.After = max(schedule.PrevMilli(tick-1), 1)
	var a series.Answer
	for range 20 { // an orphan may have to wait for a run
		a = c.Claim(claim)
		switch a.Kind {
		case series.KindGap:
			claim.Owner, claim.After = c.owner(), a.Mark
			claim.Between = schedule.Count(max(a.Mark, c.First(claim.Revision)), tick-1, 1000)
		case series.KindOrphan:
			c.TakeOver(p, a.Number, a.Fence)
			claim.Owner = c.owner()
		default:
			return Grant{Answer: a, Owner: claim.Owner}
		}
	}
	return Grant{Answer: a, Owner: claim.Owner}
}

// TakeOver claims a run of another owner, or a waiting tick.
func (c *Cast) TakeOver(p Policy, tick, fence int64) Grant {
	claim := c.ClaimOf(p, tick)
	claim.From, claim.Next = fence, p.Schedule().NextMilli(c.Now())
	return Grant{Answer: c.Claim(claim), Owner: claim.Owner}
}

// End ends a run.
func (c *Cast) End(g Grant, how series.RunState, outcome string) series.EndAnswer {
	return c.Release(series.EndRequest{RunRef: g.Ref(), State: how, Outcome: outcome, OK: outcome == series.OutcomeOK})
}

// operate requests a change of an operator.
func (c *Cast) operate(x series.Control) series.ControlAnswer {
	x.Key, x.Op, x.Who, x.Seen = Key, fmt.Sprint(c.Series().Change), "ann", series.AnySeen
	return c.Control(x)
}

// Change pauses or resumes the series.
func (c *Cast) Change(action series.Action, until int64) {
	x := series.Control{Action: action, Reason: "for the test", Until: until}
	before := c.Series()
	if action == series.ActionPause { // as an operator's program does
		if tick, revision := verify.NewJudge(c.Journal(), verify.Options{State: &before}).Outage(); !tick.IsZero() {
			x.Due, x.Revision = tick.UnixMilli(), revision
		}
	}
	c.operate(x)
}

// Cancel cancels the run of a tick.
func (c *Cast) Cancel(tick int64) {
	c.operate(series.Control{Action: series.ActionCancel, Reason: "it hangs", Number: tick})
}

// Request requests a manual run. It returns the number of the run, or 0 if the request is refused.
func (c *Cast) Request(overlap series.Overlap, anyway bool, startBy int64) int64 {
	return c.operate(series.Control{Action: series.ActionRun, Reason: "by hand", Overlap: overlap, Anyway: anyway, Until: startBy}).Number
}

// Backfill requests the work of ticks again; without ticks it ends the backfill. It returns the number of
// the first run, or 0.
func (c *Cast) Backfill(room int64, ticks ...int64) int64 {
	return c.operate(series.Control{Action: series.ActionBackfill, Reason: "wrong data", Room: room, Numbers: ticks}).Number
}

// Skip skips a tick when it is due; 0 takes that back.
func (c *Cast) Skip(tick int64) {
	c.operate(series.Control{Action: series.ActionSkip, Reason: "a holiday", Number: tick})
}
