package series_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A waiting number that is taken over opens its sheet beside the settled run that it waited for. The sheet stays when
// that run is deleted, and a late end of a shard of that run changes nothing in it.
func TestSheetBesideASettledRun(t *testing.T) {
	var s series.State
	us, lines := int64(1_000_000_000), new(tape)
	s.Open(us, &series.OpenRequest{Key: "job", Node: "n"}, lines)
	mark := s.Mark
	claim := func(owner string, number int64, from int64, shards int) series.Answer {
		us += 1_000_000
		return s.Claim(us, &series.Claim{Key: "job", Owner: owner, Number: mark + number, After: mark + number - 1, From: from, TTL: 3 * time.Second,
			Deadline: time.Minute, Attempts: 1, Overlap: series.OverlapQueue, Latest: us/1000 + 1000,
			Sharding: &series.Sharding{Shards: shards, Want: []int{0, 1, 2}, Most: 3}}, lines)
	}
	first := claim("n/1", 1, 0, 3)
	waiting := claim("n/2", 2, 0, 2)
	if first.Kind != series.KindGranted || len(first.Shards) != 3 || waiting.Kind != series.KindWaiting {
		t.Fatalf("%+v, then %+v", first, waiting)
	}
	us += 3_000_000 // the leases of the first run end, and the next claim settles it
	if a := claim("n/3", 1, first.Fence, 3); a.Sum == nil || a.Sum.Lost != 3 {
		t.Fatalf("%+v", a)
	}
	second := claim("n/4", 2, waiting.Fence, 2)
	if second.Kind != series.KindGranted || len(second.Shards) != 2 {
		t.Fatalf("%+v", second)
	}
	end := func(owner string, number int64, shards int, h series.ShardGrant) series.EndAnswer {
		us += 1000
		return s.Release(us, &series.EndRequest{RunRef: series.RunRef{Key: "job", Number: mark + number, Owner: owner, Fence: h.Fence, Shard: h.Shard, Shards: shards},
			Outcome: series.OutcomeOK, OK: true}, lines)
	}
	if a := end("n/1", 1, 3, first.Shards[2]); a.Ended {
		t.Errorf("a late end of the settled run: %+v", a)
	}
	if a := claim("n/5", 3, 0, 2); a.Kind != series.KindWaiting {
		t.Fatalf("%+v", a)
	}
	if a := end("n/4", 2, 2, second.Shards[0]); !a.Ended || a.Sum != nil {
		t.Errorf("the first end: %+v", a)
	}
	if a := end("n/4", 2, 2, second.Shards[1]); !a.Ended || a.Sum == nil || a.Sum.Shards != 2 || a.Sum.OK != 2 {
		t.Errorf("the last end: %+v", a)
	}
}
