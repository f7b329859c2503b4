package claims

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A claim comes with the highest fence that this node was granted for its job. An answer in doubt, or
// about the run of another node, changes nothing.
func TestClaimsComeWithTheirFloor(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(schedule, searched()["allow"], 1)
	w.c.free += 10
	next := func(floor int64) {
		t.Helper()
		for len(w.sent) == 0 {
			w.pass(100, false)
		}
		if got := w.sent[0].claim.Fence; got != floor {
			t.Fatalf("the claim comes with the fence %d, want %d", got, floor)
		}
	}
	next(0)
	a := w.deliver(&w.sent[0].claim)
	w.answer(a)
	next(a.Fence)
	w.answer(series.Answer{Err: driver.NotDone(errTimeout), Fence: a.Fence + 5000})
	next(a.Fence)
	w.answer(series.Answer{Kind: series.KindPassed, Number: w.sent[0].claim.Number, Fence: a.Fence + 5000, Mark: w.sent[0].claim.Number, Now: w.now})
	next(a.Fence)
}
