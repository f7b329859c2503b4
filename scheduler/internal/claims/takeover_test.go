package claims

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A store at maxmemory refuses the takeover of a run, and still answers that the run blocks the next tick. Both are asked again at the
// pace of doubt, and the takeover stays one claim.
func TestRefusedTakeover(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(schedule, &job.Rules{Lease: 3 * time.Second, Attempts: 2, Rerun: true, Policy: policy.Record{Deadline: time.Minute}}, 2)
	for len(w.sent) == 0 {
		w.pass(5, false)
	}
	tick, full, asked, owners := w.sent[0].claim.Number, driver.NotDone(errors.New("OOM")), 0, map[string]bool{}
	for end := w.now + 1000; w.now < end; {
		sent := w.sent
		w.sent = nil
		for _, s := range sent {
			switch {
			case s.claim.From != 0:
				owners[s.claim.Owner] = true
				w.c.Answer(s.p, &series.Answer{Err: full}, w.now)
			case s.claim.Number == tick:
				asked++
				w.c.Answer(s.p, &series.Answer{Kind: series.KindOrphan, Number: tick - 1000, Fence: 7, State: series.RunWaiting, Now: w.now}, w.now)
			}
		}
		if asked > 20 {
			break
		}
		w.take()
		if len(w.sent) == 0 {
			w.pass(5, false)
		}
	}
	if asked > 20 || len(owners) != 1 {
		t.Errorf("the tick was claimed %d times in a second, with %d takeovers", asked, len(owners))
	}
}
