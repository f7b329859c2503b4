package memlock_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A sharded number with one shard that a node gave back ends after a run that began later has failed.
// When both leave the lines of the journal, each is judged by its own text: both are exceptions, and
// the number has its sheet.
func TestSheetAfterALaterErrorIsAnException(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memlock.New(memlock.Options{JournalLines: 10})
		mark := s.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Mark
		time.Sleep(time.Second)
		claim := func(i int64) series.Claim {
			return series.Claim{Key: "job", Owner: fmt.Sprint("n/", i), Number: mark + i, After: mark + i - 1, TTL: time.Minute, Deadline: time.Hour,
				Window: time.Hour, Attempts: 3, Rerun: true, Latest: driver.MaxNumber, Overlap: series.OverlapAllow}
		}
		granted := func(c series.Claim) series.RunRef {
			t.Helper()
			a := s.Claim(t.Context(), []series.Claim{c})[0]
			if a.Kind != series.KindGranted {
				t.Fatalf("the claim of number %d: %+v", c.Number-mark, a)
			}
			r := series.RunRef{Key: "job", Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
			if len(a.Shards) == 1 {
				r.Shard, r.Shards, r.Fence = a.Shards[0].Shard, a.Of, a.Shards[0].Fence
			}
			return r
		}
		ends := func(e series.EndRequest) {
			t.Helper()
			if a := s.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !a.Ended {
				t.Fatalf("the end of number %d: %+v", e.Number-mark, a)
			}
		}
		divided := claim(1)
		divided.Sharding = &series.Sharding{Shards: 1, Want: []int{0}, Most: 1}
		ends(series.EndRequest{RunRef: granted(divided), State: series.RunGivenBack})
		divided.Owner = "n/again"
		shard := granted(divided)
		failed := granted(claim(2))
		ends(series.EndRequest{RunRef: failed, State: series.RunDone, Outcome: series.OutcomeFailed, Error: "why"})
		ends(series.EndRequest{RunRef: shard, State: series.RunDone, Outcome: series.OutcomeOK, OK: true})
		var want []series.Line
		for _, l := range journal(t, s, "job").Lines {
			if l.Ended != 0 { // not the opening, nor the grant of the sharded number, whose end has a line of its own
				want = append(want, l)
			}
		}
		for i := range int64(20) {
			ends(series.EndRequest{RunRef: granted(claim(3 + i)), State: series.RunDone, Outcome: series.OutcomeOK, OK: true})
		}
		got := journal(t, s, "job").Exceptions
		if !slices.Equal(got, want) || len(got) != 2 || got[0].Error != "why" || got[1].Outcome != series.OutcomeOK || got[1].RerunShards() != 1 {
			t.Errorf("the exceptions are %+v, want %+v", got, want)
		}
	})
}
