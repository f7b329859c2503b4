package claims

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// The store has answered the end of a run, and Ended has not been called yet: package runs lowers
// the count of ends before it calls the dispatcher. A tick that is due in between parks, and covers
// a parked claim, the last that kept its job stalled. No claim is sent in place of the tick then.
func TestParkedWhileAnEndIsAnswered(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(schedule, searched()["allow"], 1)
	for len(w.sent) == 0 {
		w.pass(100, false)
	}
	w.answer(w.deliver(&w.sent[0].claim)) // a run starts
	if len(w.runs) != 1 {
		t.Fatalf("%d runs", len(w.runs))
	}
	w.c.free += 10 // other slots
	lost := 0
	for lost < maxUnanswered-1 { // the store hangs
		w.pass(100, false)
		for len(w.sent) > 0 {
			if p := w.sent[0].p; !p.failed && lost == maxUnanswered-1 {
				break
			} else if !p.failed {
				lost++
			}
			w.answer(series.Answer{Err: errTimeout})
		}
	}
	e := w.c.entry(w.job)
	for len(w.c.stalled) == 0 { // the store refuses connections
		w.pass(50, false)
		for len(w.sent) > 0 {
			w.answer(series.Answer{Err: driver.NotDone(errTimeout)})
		}
	}
	w.finish(0) // the run returns
	for len(w.c.parked[e]) == 0 {
		w.pass(50, false)
		for len(w.sent) > 0 {
			w.answer(series.Answer{Err: driver.NotDone(errTimeout)})
		}
	}
	f := w.ends[0]
	w.ends = nil
	f.run.Ending.Add(-1) // see runs.Attempt.Ended
	for range 30 {       // the next tick is due before the dispatcher gets the answer
		w.pass(50, false)
	}
	w.c.Ended(w.job, f.claim.Number, f.fence, f.run.Backlog, series.EndAnswer{Ended: true}, w.now)
	w.take()
}
