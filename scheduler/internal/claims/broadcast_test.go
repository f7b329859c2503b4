package claims

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A tick of a broadcast is blocked by a waiting one, for which the list of nodes is read first. The blocked tick is claimed again after
// that, not at once: the answer would be the same, again and again until the list was read.
func TestBlockedBroadcastWaitsForTheList(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	rules := &job.Rules{Overlap: series.OverlapQueue, Lease: 3 * time.Second, Attempts: 1, Policy: policy.Record{Broadcast: true, Deadline: time.Minute}}
	w := newWorld(schedule, rules, 1)
	for len(w.sent) == 0 {
		w.pass(5, false)
	}
	p := w.sent[0].p
	w.sent = nil
	w.c.Answer(p, &series.Answer{Kind: series.KindOrphan, Number: p.tick - 1000, Fence: 7, State: series.RunWaiting, Now: w.now}, w.now)
	w.take()
	if len(w.sent) > 0 {
		t.Fatalf("%+v was sent before the list of nodes was read", w.sent[0].claim)
	}
	for len(w.sent) < 2 {
		w.pass(5, false)
	}
	if first, then := w.sent[0].claim, w.sent[1].claim; first.From != 7 || then.From != 0 {
		t.Errorf("%+v was sent before %+v", first, then)
	}
}
