package verify_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// The random tests draw the same cases each time: a case that fails once fails again. Each has this
// many.
const (
	seed   = 20260101
	rounds = 100
)

// A play is a set of nodes that act on one series at random, within the rules.
type play struct {
	*store
	policies []policy // one per spec in use
	live     []grant  // granted, and perhaps over
	skipped  int
}

func draw(r *rand.Rand, specs ...string) *play {
	p := &play{store: opened(specs...)}
	base := policy{
		overlap:  series.Overlap(r.IntN(4)),
		rerun:    r.IntN(2) == 0,
		backlog:  r.IntN(2) == 0,
		deadline: rig.OneOf(r, time.Second, 10*time.Second, time.Hour),
	}
	if base.overlap != series.OverlapAllow {
		base.shards = rig.OneOf(r, 0, 0, 3)
	}
	for _, text := range specs {
		base.spec = text
		p.policies = append(p.policies, base)
	}
	for range rig.Between(r, 1, 60) {
		p.step(r)
	}
	for _, text := range specs {
		p.open(text)
	}
	return p
}

func (p *play) exclusive() bool { return p.policies[0].overlap != series.OverlapAllow }

func (p *play) step(r *rand.Rand) {
	p.now += rig.OneOf[int64](r, 0, 5, 500, 1000, 3000, 9990, 20_000)
	who := rig.OneOf(r, p.policies...)
	switch r.IntN(18) {
	case 0, 1, 2, 3:
		p.claim(who, who.schedule().PrevMilli(p.now+20))
	case 4:
		p.claim(who, who.schedule().NextMilli(max(p.state.Mark, p.first(who.text()))))
	case 5, 6, 7:
		p.finish(r)
	case 8:
		p.adopt(r, who)
	case 9:
		p.renewAll()
	case 10:
		p.change(series.ActionPause, rig.OneOf(r, 0, p.now+1, p.now+9000, p.now+40_000))
		p.open(who.text())
	case 11:
		if runs := p.state.Series(p.us(), "job").Runs; len(runs) > 0 {
			p.cancel(rig.OneOf(r, runs...).Number)
		}
	case 12:
		p.skip(rig.OneOf(r, 0, who.schedule().NextMilli(max(p.state.Mark, p.now-1))))
	case 13, 14:
		p.requestRun(r, who)
	case 15, 16:
		p.backfill(rig.OneOf[int64](r, 0, 500, 3000), decided(r, who.schedule(), p.state.Mark)...)
	default:
		p.change(series.ActionResume, 0)
	}
}

// requestRun requests a manual run. At most times a node takes it over soon.
func (p *play) requestRun(r *rand.Rand, who policy) {
	asks := rig.OneOf(r, who.overlap, series.OverlapQueue, series.OverlapAllow)
	number := p.request(asks, r.IntN(2) == 0, p.now+rig.OneOf[int64](r, 1, 1000, 60_000))
	if number == 0 || r.IntN(3) == 0 {
		return
	}
	p.now += rig.OneOf[int64](r, 0, 5, 1000)
	runs := p.state.Series(p.us(), "job").Runs
	i := slices.IndexFunc(runs, func(r series.Run) bool { return r.Number == number })
	if g := p.takeOver(who, number, runs[i].Fence); g.Kind == series.KindGranted {
		p.live = append(p.live, g.parts()...)
	}
}

// decided draws a few ticks up to the mark, or none.
func decided(r *rand.Rand, s *spec.Schedule, mark int64) (ticks []int64) {
	for at := s.PrevMilli(mark); at > epoch && len(ticks) < 4 && r.IntN(5) > 0; at = s.PrevMilli(at - 1) {
		ticks = append(ticks, at)
	}
	slices.Reverse(ticks)
	return ticks
}

func (p *play) claim(who policy, tick int64) {
	if tick <= p.first(who.text()) {
		return // no node claims ticks that were due before its spec was seen
	}
	g := p.ask(who, tick)
	switch g.Kind {
	case series.KindGranted:
		p.live = append(p.live, g.parts()...)
	case series.KindSkipped:
		p.skipped++
	}
}

func (p *play) finish(r *rand.Rand) {
	if len(p.live) == 0 {
		return
	}
	g := rig.OneOf(r, p.live...)
	how := rig.OneOf(r, series.RunDone, series.RunUnstarted, series.RunGivenBack)
	outcome := ""
	if how == series.RunDone {
		outcome = rig.OneOf(r, series.OutcomeOK, series.OutcomeFailed, series.OutcomeInterrupted)
	}
	p.end(g, how, outcome)
}

func (p *play) adopt(r *rand.Rand, who policy) {
	runs := p.state.Series(p.us(), "job").Runs
	if len(runs) == 0 {
		return
	}
	orphan := rig.OneOf(r, runs...)
	if g := p.takeOver(who, orphan.Number, orphan.Fence); g.Kind == series.KindGranted {
		p.live = append(p.live, g.parts()...)
	}
}

func (p *play) renewAll() {
	for _, g := range p.live {
		ref := g.ref()
		p.state.Renew(p.us(), &ref)
	}
}

// never is a grace that is never exceeded: nodes of a play do not claim in time.
const never = math.MaxInt64 / 2

func (p *play) options() verify.Options {
	return verify.Options{Audit: p.audit, Now: instant(max(p.now, p.state.Mark)), Grace: never, Exclusive: p.exclusive()}
}

// Whatever the nodes do, the journal that the rules wrote is sound, and accounts for every tick up
// to the mark; so is each end of the journal.
func TestRandomPlaysHold(t *testing.T) {
	rig.Random(t, seed, rounds, func(r *rand.Rand) {
		p := draw(r, everyTen)
		j := p.journal()
		got := verify.Job(j, p.options())
		if !got.OK() {
			t.Fatalf("%v\n%+v", got.Violations, j.Lines)
		}
		due := p.policies[0].schedule().Count(epoch, p.state.Mark, math.MaxInt)
		if got.Due != due || got.Again != 0 || got.Undecided != 0 || got.PassedOver != 0 || got.Skipped[series.ReasonOverlap] != p.skipped {
			t.Fatalf("due %d, skipped %d, got %+v", due, p.skipped, got)
		}
		for n := range j.Lines {
			cut := j
			cut.Lines, cut.Truncated = j.Lines[n:], true
			if got := verify.Job(cut, p.options()); !got.OK() {
				t.Fatalf("without %d lines: %v\n%+v", n, got.Violations, j.Lines)
			}
		}
	})
}

// Nodes that disagree on the spec break nothing, whichever ticks they pass over.
func TestRandomPlaysWithTwoSpecsHold(t *testing.T) {
	rig.Random(t, seed, rounds, func(r *rand.Rand) {
		p := draw(r, everyTen, "5/15 * * * * *")
		if got := verify.Job(p.journal(), p.options()); !got.OK() {
			t.Fatalf("%v\n%+v", got.Violations, p.lines)
		}
	})
}

// A mutation changes one or two lines of a journal. It returns false if its change cannot matter.
type mutation func(r *rand.Rand, lines []series.Line, i int) ([]series.Line, bool)

var mutations = map[string]mutation{
	"drop": func(_ *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		return slices.Delete(ls, i, i+1), true
	},
	"duplicate": func(_ *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		return slices.Insert(ls, i, ls[i]), true
	},
	"from": func(r *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].From += shift(r)
		return ls, true
	},
	"to": func(r *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].To += shift(r)
		return ls, true
	},
	"fences": func(r *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		k := r.IntN(len(ls))
		ls[i].Fence, ls[k].Fence = ls[k].Fence, ls[i].Fence
		grants := ls[i].Verdict == series.VerdictRan || ls[k].Verdict == series.VerdictRan
		return ls, grants && ls[i].Fence != ls[k].Fence
	},
	"verdict": func(r *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		was := ls[i].Verdict
		ls[i].Verdict = rig.OneOf(r, series.VerdictOpened, series.VerdictRan, series.VerdictEnded, series.VerdictSkipped,
			series.VerdictWaiting, series.VerdictSuperseded, series.VerdictMissed, series.VerdictPaused, series.VerdictLost)
		return ls, ls[i].Verdict != was
	},
	"attempt": func(r *rand.Rand, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].Attempt++
		return ls, ls[i].Verdict == series.VerdictRan || ls[i].Verdict == series.VerdictEnded || ls[i].Verdict == series.VerdictLost
	},
}

func shift(r *rand.Rand) int64 {
	return rig.OneOf[int64](r, -10_000, -1000, -1, 1, 1000, 10_000)
}

// Each change of a line changes the report: a violation, or other counts.
func TestMutationsAreSeen(t *testing.T) {
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			rig.Random(t, seed, rounds, func(r *rand.Rand) {
				p := draw(r, everyTen)
				j := p.journal()
				clean := verify.Job(j, p.options())
				before := slices.Clone(j.Lines)
				var matters bool
				i := r.IntN(len(j.Lines))
				j.Lines, matters = mutate(r, j.Lines, i)
				if got := verify.Job(j, p.options()); matters && reflect.DeepEqual(got, clean) {
					t.Fatalf("line %d: nothing seen\nbefore %+v\nafter  %+v", i, before, j.Lines)
				}
			})
		})
	}
}
