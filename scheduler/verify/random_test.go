package verify_test

import (
	"flag"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A play is a set of nodes that act on one series at random, within the rules.
type play struct {
	*store
	policies []policy // one per spec in use
	live     []grant  // granted, and perhaps over
	skipped  int
}

func draw(t *rapid.T, specs ...string) *play {
	p := &play{store: opened(specs...)}
	base := policy{
		overlap:  series.Overlap(rapid.IntRange(0, 3).Draw(t, "overlap")),
		rerun:    rapid.Bool().Draw(t, "rerun"),
		backlog:  rapid.Bool().Draw(t, "backlog"),
		deadline: rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Hour}).Draw(t, "deadline"),
	}
	for _, text := range specs {
		base.spec = text
		p.policies = append(p.policies, base)
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		p.step(t)
	}
	for _, text := range specs {
		p.open(text)
	}
	return p
}

func (p *play) exclusive() bool { return p.policies[0].overlap != series.OverlapAllow }

func (p *play) step(t *rapid.T) {
	p.now += rapid.SampledFrom([]int64{0, 5, 500, 1000, 3000, 9990, 20_000}).Draw(t, "pass")
	who := rapid.SampledFrom(p.policies).Draw(t, "who")
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0, 1, 2, 3:
		p.claim(who, who.schedule().PrevMilli(p.now+20))
	case 4:
		p.claim(who, who.schedule().NextMilli(max(p.state.Mark, p.first(who.text()))))
	case 5, 6, 7:
		p.finish(t)
	case 8:
		p.adopt(t, who)
	case 9:
		p.renewAll()
	case 10:
		p.change(series.ActionPause, rapid.SampledFrom([]int64{0, p.now + 1, p.now + 9000, p.now + 40_000}).Draw(t, "until"))
		p.open(who.text())
	default:
		p.change(series.ActionResume, 0)
	}
}

func (p *play) claim(who policy, tick int64) {
	if tick <= p.first(who.text()) {
		return // no node claims ticks that were due before its spec was seen
	}
	g := p.ask(who, tick)
	switch g.Kind {
	case series.KindGranted:
		p.live = append(p.live, g)
	case series.KindSkipped:
		p.skipped++
	}
}

func (p *play) finish(t *rapid.T) {
	if len(p.live) == 0 {
		return
	}
	g := rapid.SampledFrom(p.live).Draw(t, "which")
	how := rapid.SampledFrom([]series.EndKind{series.EndDone, series.EndUnstarted, series.EndGivenBack}).Draw(t, "how")
	outcome := ""
	if how == series.EndDone {
		outcome = rapid.SampledFrom([]string{series.OutcomeOK, series.OutcomeFailed, series.OutcomeInterrupted}).Draw(t, "outcome")
	}
	p.end(g, how, outcome)
}

func (p *play) adopt(t *rapid.T, who policy) {
	runs := p.state.Series(p.us(), "job").Runs
	if len(runs) == 0 {
		return
	}
	r := rapid.SampledFrom(runs).Draw(t, "orphan")
	if g := p.takeOver(who, r.Number, r.Fence); g.Kind == series.KindGranted {
		p.live = append(p.live, g)
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
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, everyTen)
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
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, everyTen, "5/15 * * * * *")
		if got := verify.Job(p.journal(), p.options()); !got.OK() {
			t.Fatalf("%v\n%+v", got.Violations, p.lines)
		}
	})
}

// The random tests are the same each time, and leave no files, so that a failure can be repeated.
// The flags -rapid.seed and -rapid.nofailfile change this.
func init() {
	for name, value := range map[string]string{"rapid.seed": "20260101", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// A mutation changes one or two lines of a journal. It returns false if its change cannot matter.
type mutation func(t *rapid.T, lines []series.Line, i int) ([]series.Line, bool)

var mutations = map[string]mutation{
	"drop": func(_ *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		return slices.Delete(ls, i, i+1), true
	},
	"duplicate": func(_ *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		return slices.Insert(ls, i, ls[i]), true
	},
	"from": func(t *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].From += shift(t)
		return ls, true
	},
	"to": func(t *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].To += shift(t)
		return ls, true
	},
	"fences": func(t *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		k := rapid.IntRange(0, len(ls)-1).Draw(t, "other")
		ls[i].Fence, ls[k].Fence = ls[k].Fence, ls[i].Fence
		grants := ls[i].Verdict == series.VerdictRan || ls[k].Verdict == series.VerdictRan
		return ls, grants && ls[i].Fence != ls[k].Fence
	},
	"verdict": func(t *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		was := ls[i].Verdict
		ls[i].Verdict = rapid.SampledFrom([]series.Verdict{series.VerdictOpened, series.VerdictRan, series.VerdictEnded, series.VerdictSkipped,
			series.VerdictWaiting, series.VerdictSuperseded, series.VerdictMissed, series.VerdictPaused, series.VerdictLost}).Draw(t, "verdict")
		return ls, ls[i].Verdict != was
	},
	"attempt": func(t *rapid.T, ls []series.Line, i int) ([]series.Line, bool) {
		ls[i].Attempt++
		return ls, ls[i].Verdict == series.VerdictRan || ls[i].Verdict == series.VerdictEnded || ls[i].Verdict == series.VerdictLost
	},
}

func shift(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{-10_000, -1000, -1, 1, 1000, 10_000}).Draw(t, "shift")
}

// Each change of a line changes the report: a violation, or other counts.
func TestMutationsAreSeen(t *testing.T) {
	for name, mutate := range mutations {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			p := draw(t, everyTen)
			j := p.journal()
			clean := verify.Job(j, p.options())
			before := slices.Clone(j.Lines)
			var matters bool
			i := rapid.IntRange(0, len(j.Lines)-1).Draw(t, "line")
			j.Lines, matters = mutate(t, j.Lines, i)
			if got := verify.Job(j, p.options()); matters && reflect.DeepEqual(got, clean) {
				t.Fatalf("line %d: nothing seen\nbefore %+v\nafter  %+v", i, before, j.Lines)
			}
		}))
	}
}
