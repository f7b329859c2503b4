package series_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

var (
	ran      = series.Line{At: 5, Verdict: series.VerdictRan, From: 10, To: 20, Node: "a", Revision: "r", Fence: 7, Attempt: 1}
	end      = series.Line{At: 9, Verdict: series.VerdictEnded, From: 20, To: 20, Node: "a", Fence: 7, Attempt: 1, Outcome: "failed", Ended: 9, Error: "no route"}
	skipped  = series.Line{At: 5, Verdict: series.VerdictSkipped, From: 10, To: 20, Reason: series.ReasonOverlap, Node: "a", Revision: "r"}
	skipped2 = series.Line{At: 6, Verdict: series.VerdictSkipped, From: 20, To: 30, Reason: series.ReasonOverlap, Node: "b", Revision: "r"}
	paused   = series.Line{At: 5, Verdict: series.VerdictPaused, From: 10, To: 20, Between: series.VerdictPaused, Node: "a", Revision: "r"}
	paused2  = series.Line{At: 6, Verdict: series.VerdictPaused, From: 20, To: 30, Between: series.VerdictPaused, Node: "b", Revision: "r"}
)

// with is a line that differs from l in one thing.
func with(l series.Line, change func(*series.Line)) series.Line {
	change(&l)
	return l
}

func TestFold(t *testing.T) {
	ended := with(ran, func(l *series.Line) { l.Outcome, l.Ended, l.Error = "failed", 9, "no route" })
	both := with(skipped2, func(l *series.Line) { l.From, l.Between = 10, series.VerdictSkipped })
	third := with(skipped2, func(l *series.Line) { l.From, l.To, l.At = 30, 40, 7 })
	for _, c := range []struct {
		name       string
		last, next series.Line
		want       *series.Line // nil: they stay apart
	}{
		{"the end of the run in the line before", ran, end, &ended},
		{"the end of another run", ran, with(end, func(l *series.Line) { l.From, l.To = 10, 10 }), nil},
		{"the end of another attempt", ran, with(end, func(l *series.Line) { l.Fence = 8 }), nil},
		{"a second end", ended, end, nil},
		{"an end after a skip", skipped, end, nil},
		{"a grant after a grant", ran, with(ran, func(l *series.Line) { l.From, l.To = 20, 30 }), nil},
		{"two skips", skipped, skipped2, &both},
		{"a third skip", both, third, new(with(third, func(l *series.Line) { l.From, l.Between = 10, series.VerdictSkipped }))},
		{"a skip after a gap", skipped, with(skipped2, func(l *series.Line) { l.From = 21 }), nil},
		{"a skip under another revision", skipped, with(skipped2, func(l *series.Line) { l.Revision = "s" }), nil},
		{"a skip because of another run", skipped, with(skipped2, func(l *series.Line) { l.BlockerFence = 7 }), nil},
		{"a skip for another reason", skipped, with(skipped2, func(l *series.Line) { l.Reason = "x" }), nil},
		{"a skip that passes numbers over", skipped, with(skipped2, func(l *series.Line) { l.Between = series.VerdictMissed }), nil},
		{"a skip after one that passed numbers over", with(skipped, func(l *series.Line) { l.Between = series.VerdictMissed }), skipped2, nil},
		{"a miss after a skip", skipped, with(skipped2, func(l *series.Line) { l.Verdict = series.VerdictMissed }), nil},
		{"two pauses", paused, paused2, new(with(paused2, func(l *series.Line) { l.From = 10 }))},
		{"two misses that passed numbers over",
			with(skipped, func(l *series.Line) { l.Verdict, l.Between = series.VerdictMissed, series.VerdictMissed }),
			with(skipped2, func(l *series.Line) { l.Verdict, l.Between = series.VerdictMissed, series.VerdictMissed }), nil},
		{"a miss of one number alone", with(skipped, func(l *series.Line) { l.Verdict = series.VerdictMissed }),
			with(skipped2, func(l *series.Line) { l.Verdict, l.To = series.VerdictMissed, 20 }), nil},
		{"a miss after a miss of one number alone", with(skipped, func(l *series.Line) { l.Verdict, l.From = series.VerdictMissed, 20 }),
			with(skipped2, func(l *series.Line) { l.Verdict = series.VerdictMissed }), nil},
		{"a pause after a change", series.Line{Verdict: series.VerdictControl, From: 20, To: 20, Change: 1, Audit: 1}, paused2, nil},
		{"a change after a pause", paused, series.Line{Verdict: series.VerdictControl, From: 20, To: 20, Change: 1, Audit: 1}, nil},
		{"a wait", skipped, with(skipped2, func(l *series.Line) { l.Verdict = series.VerdictWaiting }), nil},
		{"an opening", skipped, series.Line{Verdict: series.VerdictOpened, From: 20, To: 20}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { fold(t, c.last, c.next, c.want) })
	}
}

func fold(t *testing.T, last, next series.Line, want *series.Line) {
	got := last
	folded := got.Fold(next)
	switch {
	case folded != (want != nil):
		t.Fatalf("folded is %v", folded)
	case want == nil && got != last:
		t.Fatalf("not folded, but changed to %+v", got)
	case want != nil && got != *want:
		t.Fatalf("got  %+v\nwant %+v", got, *want)
	}
}

// verdicts returns the verdict in a journal of each number of the spec.
func verdicts(lines []series.Line) (all [maxTicks + 1]string) {
	for _, l := range lines {
		for k := 1; k <= maxTicks; k++ {
			switch n := due(k); {
			case n == l.To && l.Verdict == series.VerdictEnded:
				all[k] += " " + l.Outcome
			case n == l.To:
				all[k] += " " + string(l.Verdict) + l.Reason + l.Revision
				if l.Outcome != "" {
					all[k] += " " + l.Outcome
				}
			case n > l.From && n < l.To && l.Between == l.Verdict:
				all[k] += " " + string(l.Between) + l.Reason + l.Revision
			case n > l.From && n < l.To:
				all[k] += " " + string(l.Between) + series.ReasonMisfire + l.Revision
			}
		}
	}
	return all
}

// A tape keeps lines as they were written, and folded.
type tape struct{ raw, folded []series.Line }

func (w *tape) Append(l series.Line) {
	w.raw = append(w.raw, l)
	if n := len(w.folded); n == 0 || !w.folded[n-1].Fold(l) {
		w.folded = append(w.folded, l)
	}
}

// A folded journal has the same verdict for each number as the lines before.
func TestFoldKeepsVerdicts(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, round))
		var w tape
		var s series.State
		ms := base + interval/2
		s.Open(ms*1000, &series.OpenRequest{}, &w)
		for i := range 60 {
			ms += r.Int64N(interval + 1)
			foldStep(r, &s, &w, ms, fmt.Sprintf("n/%d", i))
		}
		raw, folded := verdicts(w.raw), verdicts(w.folded)
		if !slices.Equal(raw[:], folded[:]) {
			t.Fatalf("seed %d, round %d: written %q\nfolded  %q", seed, round, raw, folded)
		}
	}
}

func foldStep(r *rand.Rand, s *series.State, w *tape, ms int64, owner string) {
	p := policies[r.IntN(len(policies))]
	world := &world{policy: p, State: *s}
	c := world.covers(1 + r.IntN(maxTicks))
	c.Owner, c.Revision = owner, []string{"r", "r", "r", "s"}[r.IntN(4)]
	switch r.IntN(10) {
	case 0:
		s.Control(ms*1000, &series.Control{Key: "job", Action: series.ActionPause, Op: fmt.Sprint("op", s.Change), Who: "op", Reason: "for the test", Until: []int64{0, ms + interval}[r.IntN(2)], Seen: series.AnySeen}, s.Change+1, w)
	case 1:
		s.Control(ms*1000, &series.Control{Key: "job", Action: series.ActionResume, Op: fmt.Sprint("op", s.Change), Who: "op", Seen: series.AnySeen}, s.Change+1, w)
	case 2, 3:
		for _, run := range slices.Clone(s.Runs) {
			s.Release(ms*1000, &series.EndRequest{RunRef: series.RunRef{Number: run.Number, Owner: run.Owner, Fence: run.Fence}, Outcome: series.OutcomeOK}, w)
		}
	default:
		s.Claim(ms*1000, &c, w)
	}
}
