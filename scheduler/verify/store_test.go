package verify_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// epoch is when the tests' series are opened: ten ticks of everyTen make 100 s.
const (
	epoch    = int64(1_767_571_200_000) // 2026-01-05T00:00:00Z
	everyTen = "0/10 * * * * *"
)

// at returns an instant in seconds after the epoch.
func at(seconds float64) int64 { return epoch + int64(seconds*1000) }

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// A store keeps one series by the rules of all stores, and its journal.
type store struct {
	state     series.State
	lines     []series.Line
	sightings []series.RevisionUse
	now       int64 // ms
	owners    int
	audit     []series.AuditRecord
}

func opened(specs ...string) *store {
	s := &store{now: epoch}
	if len(specs) == 0 {
		specs = []string{everyTen}
	}
	for _, text := range specs {
		s.open(text)
	}
	return s
}

// Append folds lines as the stores do.
func (s *store) Append(l series.Line) {
	if n := len(s.lines); n > 0 && s.lines[n-1].Fold(l) {
		return
	}
	s.lines = append(s.lines, l)
}

// open opens the series as a node does when it starts and in turn: its spec is its revision.
func (s *store) open(text string) {
	s.state.Open(s.us(), &series.OpenRequest{Key: "job", Node: "a", Revision: text, Spec: text, Zone: "UTC"}, s)
	for i := range s.sightings {
		if s.sightings[i].Revision == text {
			s.sightings[i].Last = s.now
			return
		}
	}
	s.sightings = append(s.sightings, series.RevisionUse{Revision: text, Spec: text, Zone: "UTC", Node: "a", First: s.now, Last: s.now})
}

func (s *store) us() int64 { return s.now * 1000 }

func (s *store) owner() string {
	s.owners++
	return fmt.Sprintf("%c/%d", 'a'+rune(s.owners%3), s.owners)
}

// A policy has the settings of a job for a claim, with the spec of the node.
type policy struct {
	spec     string
	overlap  series.Overlap
	backlog  bool
	rerun    bool
	deadline time.Duration
	shards   int
}

func (p policy) claim(s *store, tick int64) series.Claim {
	deadline := p.deadline
	if deadline == 0 {
		deadline = 10 * time.Second
	}
	c := series.Claim{Key: "job", Owner: s.owner(), Number: tick, After: tick - 1, TTL: 3 * time.Second, Deadline: deadline,
		Attempts: 3, Rerun: p.rerun, Window: time.Hour, Overlap: p.overlap, Backlog: p.backlog,
		Latest: s.now + 1000, Revision: p.text()}
	if p.shards > 0 {
		c.Sharding = &series.Sharding{Shards: p.shards, Want: []int{2, 0, 1}, Most: 2}
	}
	return c
}

func (p policy) text() string {
	if p.spec == "" {
		return everyTen
	}
	return p.spec
}

func (p policy) schedule() *spec.Schedule {
	schedule, err := spec.Parse(p.text(), nil)
	if err != nil {
		panic(err)
	}
	return schedule
}

// A grant is the result of a claim.
type grant struct {
	series.Answer
	owner string
	shard int
}

func (g grant) ref() series.RunRef {
	return series.RunRef{Key: "job", Number: g.Number, Owner: g.owner, Fence: g.Fence, TTL: 3 * time.Second, Shard: g.shard, Shards: g.Of}
}

// parts returns a grant for each granted shard, or the grant itself.
func (g grant) parts() (all []grant) {
	if g.Of == 0 {
		return []grant{g}
	}
	for _, h := range g.Shards {
		part := g
		part.Fence, part.shard = h.Fence, h.Shard
		all = append(all, part)
	}
	return all
}

// ask claims a tick as a node does: a gap is covered, an orphan taken over first.
func (s *store) ask(p policy, tick int64) grant {
	schedule := p.schedule()
	c := p.claim(s, tick)
	c.After = max(schedule.PrevMilli(tick-1), 1)
	var a series.Answer
	for range 20 { // an orphan may have to wait for a run
		a = s.state.Claim(s.us(), &c, s)
		switch a.Kind {
		case series.KindGap:
			c.Owner, c.After = s.owner(), a.Mark
			c.Between = schedule.Count(max(a.Mark, s.first(c.Revision)), tick-1, 1000)
		case series.KindOrphan:
			s.takeOver(p, a.Number, a.Fence)
			c.Owner = s.owner()
		default:
			return grant{Answer: a, owner: c.Owner}
		}
	}
	return grant{Answer: a, owner: c.Owner}
}

func (s *store) first(revision string) int64 {
	for _, v := range s.sightings {
		if v.Revision == revision {
			return v.First
		}
	}
	return 0
}

// takeOver claims a run of another owner, or a waiting tick.
func (s *store) takeOver(p policy, tick, fence int64) grant {
	c := p.claim(s, tick)
	c.From, c.Next = fence, p.schedule().NextMilli(s.now)
	return grant{Answer: s.state.Claim(s.us(), &c, s), owner: c.Owner}
}

func (s *store) end(g grant, how series.RunState, outcome string) series.EndAnswer {
	return s.state.Release(s.us(), &series.EndRequest{RunRef: g.ref(), State: how, Outcome: outcome, OK: outcome == series.OutcomeOK}, s)
}

func (s *store) ok(g grant) series.EndAnswer { return s.end(g, series.RunDone, series.OutcomeOK) }

// run claims the tick at a second and ends it at once.
func (s *store) run(p policy, seconds float64) {
	s.now = at(seconds)
	s.ok(s.ask(p, s.now))
}

func (s *store) journal() series.Journal {
	return series.Journal{Key: "job", Lines: slices.Clone(s.lines), Revisions: slices.Clone(s.sightings)}
}

func (s *store) report(o verify.Options) verify.Report {
	o.Now, o.Audit = instant(s.now), s.audit
	return verify.Job(s.journal(), o)
}

// change pauses or resumes the series.
func (s *store) change(action series.Action, until int64) {
	c := series.Control{Key: "job", Action: action, Op: fmt.Sprint(s.state.Change), Who: "ann", Reason: "for the test", Until: until, Seen: series.AnySeen}
	before := s.state.Series(s.us(), "job")
	if action == series.ActionPause { // as an operator's program does
		if tick, revision := verify.NewJudge(s.journal(), verify.Options{State: &before}).Outage(); !tick.IsZero() {
			c.Due, c.Revision = tick.UnixMilli(), revision
		}
	}
	s.control(&c)
}

// cancel cancels the run of a tick.
func (s *store) cancel(tick int64) {
	s.control(&series.Control{Key: "job", Action: series.ActionCancel, Op: fmt.Sprint(s.state.Change), Who: "ann", Reason: "it hangs", Number: tick, Seen: series.AnySeen})
}

// request requests a manual run. It returns the number of the run, or 0 if the request is refused.
func (s *store) request(overlap series.Overlap, anyway bool, startBy int64) int64 {
	return s.control(&series.Control{Key: "job", Action: series.ActionRun, Op: fmt.Sprint(s.state.Change), Who: "ann", Reason: "by hand",
		Overlap: overlap, Anyway: anyway, Until: startBy, Seen: series.AnySeen}).Number
}

// backfill requests the work of ticks again; without ticks it ends the backfill. It returns the number of
// the first run, or 0.
func (s *store) backfill(room int64, ticks ...int64) int64 {
	return s.control(&series.Control{Key: "job", Action: series.ActionBackfill, Op: fmt.Sprint(s.state.Change), Who: "ann", Reason: "wrong data",
		Room: room, Numbers: ticks, Seen: series.AnySeen}).Number
}

// skip skips a tick when it is due; 0 takes that back.
func (s *store) skip(tick int64) {
	s.control(&series.Control{Key: "job", Action: series.ActionSkip, Op: fmt.Sprint(s.state.Change), Who: "ann", Reason: "a holiday", Number: tick, Seen: series.AnySeen})
}

func (s *store) control(c *series.Control) series.ControlAnswer {
	a, made := s.state.Control(s.us(), c, s.state.Change+1, s)
	if made != nil {
		s.audit = append(s.audit, *made)
	}
	return a
}
