package series_test

import (
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// The state of a series stays small, with any number of decisions and any outcomes: settled runs
// are deleted.
func TestStateStaysSmall(t *testing.T) {
	for _, p := range policies {
		t.Run(p.String(), func(t *testing.T) {
			staysSmall(t, newWorld(p), func(i int) series.RunState {
				return []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack, death}[i%4]
			})
			staysSmall(t, newWorld(p), func(int) series.RunState { return death })
		})
	}
}

func staysSmall(t *testing.T, w *world, ends func(i int) series.RunState) {
	decided := 0
	for i := range 500 {
		w.ms += interval
		c := w.claim(1)
		c.Number, c.After = w.ms, w.Mark
		a := w.decide(c, ends(i))
		if a.Kind == series.KindOrphan {
			c.Owner, c.Number, c.From = w.owner(), a.Number, a.Fence
			w.decide(c, ends(i+1))
		}
		if a.From != 0 {
			decided++
		}
		if n := len(w.Runs); n > 8 {
			t.Fatalf("after %d numbers %d runs are kept: %+v", i, n, w.Runs)
		}
	}
	if decided < 50 {
		t.Fatalf("no more than %d numbers were decided", decided)
	}
}

// death is no way to end a run: its node does not.
const death = series.RunLost

// decide claims a number and, if it is granted, ends it.
func (w *world) decide(c series.Claim, how series.RunState) series.Answer {
	a := w.Claim(w.ms*1000, &c, discard{})
	if a.Kind == series.KindGranted && how != death {
		ref := series.RunRef{Number: a.Number, Owner: c.Owner, Fence: a.Fence}
		w.Release(w.ms*1000, &series.EndRequest{RunRef: ref, State: how}, discard{})
	}
	return a
}

// A discard is a journal that nobody reads.
type discard struct{}

func (discard) Append(series.Line) {}

var _ series.Writer = discard{}
