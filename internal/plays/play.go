package plays

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// Every is the spec of a play whose nodes agree.
const Every = "0/10 * * * * *"

// A Play has the acts of nodes and an operator.
type Play struct {
	*Cast
	Policies []Policy // one per spec in use
	began    int64
	live     []Grant // granted, and perhaps over
	skipped  int
}

// Draw plays at random on a stage, with nodes of these specs.
func Draw(r *rand.Rand, c *Cast, specs ...string) *Play {
	p := &Play{Cast: c, began: c.Now()}
	for _, text := range specs {
		c.Enter(text)
	}
	base := Policy{
		Overlap:  series.Overlap(r.IntN(4)),
		Rerun:    r.IntN(2) == 0,
		Backlog:  r.IntN(2) == 0,
		Deadline: rig.OneOf(r, time.Second, 10*time.Second, time.Hour),
	}
	if base.Overlap != series.OverlapAllow {
		base.Shards = rig.OneOf(r, 0, 0, 3)
	}
	for _, text := range specs {
		base.Spec = text
		p.Policies = append(p.Policies, base)
	}
	for range rig.Between(r, 1, 60) {
		p.step(r)
	}
	for _, text := range specs {
		c.Enter(text)
	}
	return p
}

func (p *Play) step(r *rand.Rand) {
	p.Pass(rig.OneOf[int64](r, 0, 5, 500, 1000, 3000, 9990, 20_000))
	who := rig.OneOf(r, p.Policies...)
	mark := p.Series().Mark
	switch r.IntN(18) {
	case 0, 1, 2, 3:
		p.claim(who, who.Schedule().PrevMilli(p.Now()+20))
	case 4:
		p.claim(who, who.Schedule().NextMilli(max(mark, p.First(who.Spec))))
	case 5, 6, 7:
		p.finish(r)
	case 8:
		p.adopt(r, who)
	case 9:
		for _, g := range p.live {
			p.Renew(g.Ref())
		}
	case 10:
		p.Change(series.ActionPause, rig.OneOf(r, 0, p.Now()+1, p.Now()+9000, p.Now()+40_000))
		p.Enter(who.Spec)
	case 11:
		if runs := p.Series().Runs; len(runs) > 0 {
			p.Cancel(rig.OneOf(r, runs...).Number)
		}
	case 12:
		p.Skip(rig.OneOf(r, 0, who.Schedule().NextMilli(max(mark, p.Now()-1))))
	case 13, 14:
		p.requestRun(r, who)
	case 15, 16:
		p.Backfill(rig.OneOf[int64](r, 0, 500, 3000), p.decided(r, who.Schedule(), mark)...)
	default:
		p.Change(series.ActionResume, 0)
	}
}

// requestRun requests a manual run. At most times a node takes it over soon.
func (p *Play) requestRun(r *rand.Rand, who Policy) {
	asks := rig.OneOf(r, who.Overlap, series.OverlapQueue, series.OverlapAllow)
	number := p.Request(asks, r.IntN(2) == 0, p.Now()+rig.OneOf[int64](r, 1, 1000, 60_000))
	if number == 0 || r.IntN(3) == 0 {
		return
	}
	p.Pass(rig.OneOf[int64](r, 0, 5, 1000))
	runs := p.Series().Runs
	i := slices.IndexFunc(runs, func(r series.Run) bool { return r.Number == number })
	p.starts(p.TakeOver(who, number, runs[i].Fence))
}

// decided draws a few ticks up to the mark, or none.
func (p *Play) decided(r *rand.Rand, s *spec.Schedule, mark int64) (ticks []int64) {
	for at := s.PrevMilli(mark); at > p.began && len(ticks) < 4 && r.IntN(5) > 0; at = s.PrevMilli(at - 1) {
		ticks = append(ticks, at)
	}
	slices.Reverse(ticks)
	return ticks
}

func (p *Play) claim(who Policy, tick int64) {
	if tick <= p.First(who.Spec) {
		return // no node claims ticks that were due before its spec was seen
	}
	g := p.Ask(who, tick)
	p.starts(g)
	if g.Kind == series.KindSkipped {
		p.skipped++
	}
}

func (p *Play) starts(g Grant) {
	if g.Kind == series.KindGranted {
		p.live = append(p.live, g.Parts()...)
	}
}

func (p *Play) finish(r *rand.Rand) {
	if len(p.live) == 0 {
		return
	}
	g := rig.OneOf(r, p.live...)
	how := rig.OneOf(r, series.RunDone, series.RunUnstarted, series.RunGivenBack)
	outcome := ""
	if how == series.RunDone {
		outcome = rig.OneOf(r, series.OutcomeOK, series.OutcomeFailed, series.OutcomeInterrupted)
	}
	p.End(g, how, outcome)
}

func (p *Play) adopt(r *rand.Rand, who Policy) {
	if runs := p.Series().Runs; len(runs) > 0 {
		orphan := rig.OneOf(r, runs...)
		p.starts(p.TakeOver(who, orphan.Number, orphan.Fence))
	}
}

// never is a grace that is never exceeded: nodes of a play do not claim in time.
const never = math.MaxInt64 / 2

// Options returns the options with which the journal of the play is judged.
func (p *Play) Options() verify.Options {
	now := time.UnixMilli(max(p.Now(), p.Series().Mark)).UTC()
	return verify.Options{Audit: p.Audit(), Now: now, Grace: never, Exclusive: p.Policies[0].Overlap != series.OverlapAllow}
}

// Hold fails the test unless the journal is sound, and accounts for each tick up to the mark; so is each end of the journal.
func (p *Play) Hold(t *testing.T) {
	t.Helper()
	j, o := p.Journal(), p.Options()
	got := verify.Job(j, o)
	if !got.OK() {
		t.Fatalf("%v\n%+v", got.Violations, j.Lines)
	}
	due := p.Policies[0].Schedule().Count(p.began, p.Series().Mark, math.MaxInt)
	if len(p.Policies) == 1 && (got.Due != due || got.Again != 0 || got.Undecided != 0 || got.PassedOver != 0 || got.Skipped[series.ReasonOverlap] != p.skipped) {
		t.Fatalf("due %d, skipped %d, got %+v", due, p.skipped, got)
	}
	for n := range j.Lines {
		cut := j
		cut.Lines, cut.Truncated = j.Lines[n:], true
		if got := verify.Job(cut, o); !got.OK() {
			t.Fatalf("without %d lines: %v\n%+v", n, got.Violations, j.Lines)
		}
	}
}
