package series_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A manual number is the instant of its request, or the first one after it that is no whole second and
// no number of another run or of an earlier request.
func TestManualNumbers(t *testing.T) {
	for _, test := range []struct {
		name   string
		state  series.State
		ms     int64
		number int64
	}{
		{"the instant", series.State{}, 5_300, 5_300},
		{"a whole second", series.State{}, 5_000, 5_001},
		{"the second request of an instant", series.State{Manual: 5_300}, 5_300, 5_301},
		{"before a whole second", series.State{Manual: 4_999}, 4_999, 5_001},
		{"a clock that was put back", series.State{Manual: 9_000_300}, 5_300, 9_000_301},
		{"a run of this number", series.State{Runs: []series.Run{{Number: 5_300, State: series.RunOpen}}}, 5_300, 5_301},
	} {
		test.state.Mark = 1
		c := series.Control{Key: "job", Action: series.ActionRun, Op: "op", Who: "ann", Reason: "by hand", Until: 9_999, Overlap: series.OverlapQueue, Seen: series.AnySeen}
		if a, _ := test.state.Control(test.ms*1000, &c, 1, new(ledger)); a.Number != test.number {
			t.Errorf("%s: the number is %d, want %d", test.name, a.Number, test.number)
		}
	}
}

// A number that an operator skips is decided when it is due, and not before, because the skip may be
// taken back until then.
func TestSkippedWhenDue(t *testing.T) {
	s := series.State{Mark: 1_000, Skip: 5_000}
	c := series.Claim{Key: "job", Owner: "n/1", Number: 5_000, After: 1_000, TTL: time.Second, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
	if a := s.Claim(4_990_000, &c, new(ledger)); a.Kind != series.KindEarly {
		t.Errorf("claimed early, the answer is %v", a.Kind)
	}
	if a := s.Claim(5_000_000, &c, new(ledger)); a.Kind != series.KindOperator {
		t.Errorf("claimed in time, the answer is %v", a.Kind)
	}
}

// A number of the spec does not wait for a run of a backfill whose node died.
func TestBackfillGoesLast(t *testing.T) {
	dead := series.Run{Number: 3_300, State: series.RunOpen, Owner: "n/0", Fence: 9, Attempt: 1, Until: 4_000, StartBy: driver.MaxNumber, For: 1_000}
	s := series.State{Mark: 2_000, Fence: 9, Runs: []series.Run{dead}}
	c := series.Claim{Key: "job", Owner: "n/1", Number: 5_000, After: 2_000, TTL: time.Second, Deadline: time.Hour, Attempts: 3, Rerun: true, Latest: driver.MaxNumber}
	if a := s.Claim(5_000_000, &c, new(ledger)); a.Kind != series.KindGranted || len(s.Runs) != 2 {
		t.Errorf("the answer is %+v, the runs are %+v", a, s.Runs)
	}
}
