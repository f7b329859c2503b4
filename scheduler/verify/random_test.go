package verify_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/plays"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// The random tests draw the same cases each time: a case that fails once fails again. Each has this
// many.
const (
	seed   = 20260101
	rounds = 100
)

// A play is a random play on the rules.
type play struct {
	*store
	*plays.Play
}

func draw(r *rand.Rand, specs ...string) *play {
	s := empty()
	return &play{s, plays.Draw(r, s.cast, specs...)}
}

// Whatever the nodes do, the journal that the rules wrote is sound, and accounts for every tick up
// to the mark; so is each end of the journal.
func TestRandomPlaysHold(t *testing.T) {
	rig.Random(t, seed, rounds, func(r *rand.Rand) { draw(r, everyTen).Hold(t) })
}

// Nodes that disagree on the spec break nothing, whichever ticks they pass over.
func TestRandomPlaysWithTwoSpecsHold(t *testing.T) {
	rig.Random(t, seed, rounds, func(r *rand.Rand) { draw(r, everyTen, "5/15 * * * * *").Hold(t) })
}

// A line that cannot be read breaks no invariant, whichever it is: all others are sound without it, and each
// due tick counts once.
func TestRandomPlaysHoldWithoutALine(t *testing.T) {
	for name, specs := range map[string][]string{"one spec": {everyTen}, "two specs": {everyTen, "5/15 * * * * *"}} {
		t.Run(name, func(t *testing.T) {
			rig.Random(t, seed, rounds, func(r *rand.Rand) {
				p := draw(r, specs...)
				o, s := p.Options(), p.Series()
				o.State, o.Grace = &s, rig.OneOf(r, o.Grace, 1)
				j := p.journal()
				whole := verify.Job(j, o)
				for i, was := range j.Lines {
					j.Lines[i] = series.UnreadableLine("x")
					got := verify.Job(j, o)
					if len(got.Violations) > 0 || len(got.Faults) != 1 || got.Due != whole.Due && i > 0 {
						t.Fatalf("line %d, %+v: due %d, want %d, violations %v, faults %q", i, was, got.Due, whole.Due, got.Violations, got.Faults)
					}
					j.Lines[i] = was
				}
			})
		})
	}
}

// The store in memory holds in more plays, and is sent requests twice.
func TestRandomPlaysInMemoryHold(t *testing.T) {
	var now time.Time
	plays.HoldOn(t, 1000, func() plays.Store { return memlock.New(memlock.Options{Now: func() time.Time { return now }}) }, func(ms int64) { now = time.UnixMilli(ms) })
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
				clean := verify.Job(j, p.Options())
				before := slices.Clone(j.Lines)
				var matters bool
				i := r.IntN(len(j.Lines))
				j.Lines, matters = mutate(r, j.Lines, i)
				if got := verify.Job(j, p.Options()); matters && reflect.DeepEqual(got, clean) {
					t.Fatalf("line %d: nothing seen\nbefore %+v\nafter  %+v", i, before, j.Lines)
				}
			})
		})
	}
}
