package claims

import (
	"errors"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// decide returns the reaction to each answer. The cases are in the order in which a store checks
// its rules.
func TestDecide(t *testing.T) {
	t.Parallel()
	var (
		plain    = situation{}
		draining = situation{draining: true}
		stale    = situation{stale: true}
		backlog  = situation{backlog: true}
		answer   = func(k series.Kind) series.Answer { return series.Answer{Kind: k} }
		drop     = actions{step: stepDrop}
		passed   = actions{step: stepDrop, settles: true, watch: watchRun, follow: true}
		spent    = actions{step: stepEnd, follow: true}
		granted  = actions{step: stepEnd, start: true, settles: true}
	)
	for _, test := range []struct {
		row  string
		s    situation
		a    series.Answer
		want actions
	}{
		{"0: no mark", plain, answer(series.KindUnknown), actions{step: stepDoubt, open: true}},
		{"0: no mark, in a drain", draining, answer(series.KindUnknown), actions{step: stepDoubt, open: true}},
		{"doubt", plain, series.Answer{Err: errors.New("timeout")}, actions{step: stepDoubt}},
		{"doubt, in a drain", draining, series.Answer{Err: errors.New("timeout")}, actions{step: stepDoubt}},
		{"1: granted before, alive", stale, answer(series.KindGranted), granted},
		{"1: granted before, over", plain, answer(series.KindOver), passed},
		{"2: past the latest instant", plain, answer(series.KindExpired), actions{step: stepRetry, readClock: true}},
		{"2: only asked whether it was granted", stale, answer(series.KindExpired), drop},
		{"2: in a drain", draining, answer(series.KindExpired), drop},
		{"3: early", plain, answer(series.KindEarly), actions{step: stepWait}},
		{"3: early, in a drain", draining, answer(series.KindEarly), drop},
		{"3: mark ahead", plain, answer(series.KindAhead), actions{step: stepDoubt}},
		{"4, 5: passed", plain, answer(series.KindPassed), passed},
		{"4, 5: passed, in a drain", draining, answer(series.KindPassed), passed},
		{"6: gap", plain, answer(series.KindGap), actions{step: stepCover}},
		{"6: gap, a newer tick is claimed", situation{covered: true}, answer(series.KindGap), drop},
		{"6: gap, misfire all", backlog, answer(series.KindGap), actions{step: stepDrop, begin: true}},
		{"6: gap, misfire all, begun", situation{backlog: true, chained: true}, answer(series.KindGap), drop},
		{"6: gap, misfire all, in a drain", situation{backlog: true, draining: true}, answer(series.KindGap), drop},
		{"7: orphan", plain, answer(series.KindOrphan), actions{step: stepTakeOver}},
		{"7: orphan, asked without a slot", situation{settle: true}, answer(series.KindOrphan), actions{step: stepRetry}},
		{"7: orphan, in a drain", draining, answer(series.KindOrphan), drop},
		{"8: paused", plain, answer(series.KindPaused), spent},
		{"8a: skipped for an operator", plain, answer(series.KindOperator), spent},
		{"9: missed", plain, answer(series.KindMissed), spent},
		{"10: a run is alive, skip", plain, answer(series.KindSkipped), spent},
		{"10: a run is alive, queue", situation{overlap: series.OverlapQueue}, answer(series.KindWaiting), actions{step: stepEnd, watch: watchWaiting}},
		{"10: a run is alive, replace", situation{overlap: series.OverlapReplace}, answer(series.KindWaiting), actions{step: stepEnd, watch: watchWaiting, replace: true}},
		{"10: a run is alive, not spent", plain, answer(series.KindHeld), actions{step: stepHold}},
		{"10: a run is alive, in a drain", draining, answer(series.KindHeld), drop},
		{"11: granted", plain, answer(series.KindGranted), granted},
		{"11: granted, runs may overlap", situation{overlap: series.OverlapAllow}, answer(series.KindGranted), actions{step: stepEnd, start: true, settles: true, follow: true}},
		{"11: granted, in a drain", draining, answer(series.KindGranted), granted},
		{"an answer of a newer version", plain, answer(series.KindOperator + 1), actions{step: stepDoubt}},
	} {
		if got := decide(test.s, &test.a); got != test.want {
			t.Errorf("row %s: %+v, want %+v", test.row, got, test.want)
		}
	}
}
