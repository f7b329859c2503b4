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

// The next tick is due while the claim of one is not answered. The node may have a run of the older tick to start, which keeps later ones
// from all nodes: it reads the job with the answer about the newer tick, unless that tick has the open sheet, or the node drains.
func TestBroadcastAfterATickWithoutAnswer(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	const older, newer = 0, 1
	for _, c := range []struct {
		kind         series.Kind
		names, of    int // the tick that the answer names, and its shards
		drains       bool
		reads, again int // with the answer, and with the same one once more
	}{
		{kind: series.KindSkipped, names: older, of: 3, reads: 1},
		{kind: series.KindMissed, names: newer, reads: 1},
		{kind: series.KindHeld, names: older, of: 3, reads: 1},
		{kind: series.KindPassed, names: newer, of: 3},
		{kind: series.KindSkipped, names: older, of: 3, drains: true},
	} {
		rules := &job.Rules{Overlap: series.OverlapSkip, Lease: 3 * time.Second, Attempts: 1, Policy: policy.Record{Broadcast: true, Deadline: time.Minute}}
		w := newWorld(schedule, rules, 2)
		for len(w.sent) < 2 {
			w.pass(5, false)
		}
		if c.drains {
			w.c.Drain(w.now)
		}
		a := series.Answer{Kind: c.kind, Number: w.sent[c.names].p.tick, Of: c.of, Left: time.Second, Now: w.now}
		for i, want := range []int{c.reads, c.again} {
			w.c.Answer(w.sent[newer].p, &a, w.now)
			if got := len(w.c.Effects().Open); got != want {
				t.Errorf("%+v: answer %d leads to %d readings, want %d", c, i+1, got, want)
			}
			if c.kind != series.KindHeld {
				break
			}
		}
	}
}
