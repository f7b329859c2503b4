package series

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
)

const (
	openedFence = 1_000_000
	openedAt    = 5000
)

// The text of a sheet is stored in journals: it must not change.
func TestSheetText(t *testing.T) {
	s := Sheet{Shards: []Shard{
		{State: RunDone, Owner: "a/1", Fence: openedFence + 1, Attempt: 1, Granted: openedAt, Ended: openedAt + 70, Outcome: OutcomeOK, OK: true},
		{State: RunDone, Owner: "b,+/2", Fence: openedFence + 9, Attempt: 2, Granted: openedAt + 40, Ended: openedAt + 90, Outcome: OutcomeFailed, Error: "no route, é"},
		{State: RunLost, Ended: openedAt + 99, Outcome: string(VerdictMissed)},
		{State: RunLost, Owner: "a/3", Fence: openedFence + 5, Attempt: 1, Granted: openedAt - 20, Ended: openedAt - 30, Outcome: string(VerdictLost)}, // the clock went back
	}}
	text := s.text(openedFence, openedAt)
	if want := "a;b,+|ok+,1,0,1,0,70;failed,2,1,9,40,50,no%20route%2C%20%C3%A9;missed;lost,1,0,5,-20,-10"; text != want {
		t.Errorf("the text is\n%s, want\n%s", text, want)
	}
	readBack(t, &s, text)
}

// readBack fails the test unless a sheet is read back from its text, with the same counts: with the owner's node alone, and of a
// shard that was never granted the outcome alone.
func readBack(t *testing.T, s *Sheet, text string) {
	t.Helper()
	want := make([]Shard, len(s.Shards))
	for i, h := range s.Shards {
		want[i] = Shard{State: RunDone, Outcome: h.Outcome, OK: h.OK}
		if h.Fence != 0 {
			h.State, h.Owner, h.Until = RunDone, driver.NodeOf(h.Owner)+"/", 0
			want[i] = h
		}
	}
	again := 0
	for i := range want {
		if want[i].Attempt > 1 {
			again++
		}
	}
	if n := (&Line{Sheet: text}).RerunShards(); n != again {
		t.Errorf("%d shards of %s had another attempt, want %d", n, text, again)
	}
	if got, err := ReadSheet(text, openedFence, openedAt); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as\n%+v, %v, want\n%+v", text, got, err, want)
	} else if count := (&Sheet{Shards: got}).Count(); count != s.Count() {
		t.Errorf("%s counts as %+v, and the sheet as %+v", text, count, s.Count())
	}
}

// The shards with a later attempt are counted from the text, whatever else it has.
func TestRerunShards(t *testing.T) {
	for text, want := range map[string]int{
		"":                                      0,
		"a|ok+,1,0,1,0,70":                      0,
		"a;b;c|missed,2;paused,1;ok+,1,2,3,4,5": 0, // the shards of a broadcast that never started have their node alone
		"|missed;missed":                        0,
		"a|missed,0,0,7,8,9":                    0,
		"a,2,b;c|ok+,1,0,2,3,4":                 0,
		"a;b,+|ok+,2,0,1,0,70;failed,1,1,9,40,50,no%20route;lost,12,0,2,-3,4;ok,3,0,4,5,6": 3,
		"a|failed,1,0,5,0,9,2": 0,
	} {
		if got := (&Line{Sheet: text}).RerunShards(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// A random sheet is read back.
func TestSheetTextReadsBack(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(500) {
		s := randomSheet(rand.New(rand.NewPCG(seed, round)))
		if readBack(t, &s, s.text(openedFence, openedAt)); t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

func randomSheet(r *rand.Rand) Sheet {
	s := Sheet{Shards: make([]Shard, 1+r.IntN(20))}
	for i := range s.Shards {
		h := &s.Shards[i]
		switch r.IntN(4) {
		case 0:
			h.State, h.Outcome = RunLost, []string{string(VerdictMissed), string(VerdictPaused), string(VerdictSuperseded), OutcomeCancelled}[r.IntN(4)]
			continue
		case 1:
			h.State, h.Outcome = RunLost, string(VerdictLost)
		case 2:
			h.State, h.Outcome = RunDone, []string{OutcomeFailed, OutcomePanic, OutcomeLost, OutcomeCancelled, "a word of a caller"}[r.IntN(5)]
		case 3:
			h.State, h.Outcome, h.OK = RunDone, OutcomeOK, true
		}
		if !h.OK && h.State == RunDone {
			h.Error = []string{"", "no route", ",;|+%\x00\né"}[r.IntN(3)]
		}
		h.Owner = fmt.Sprintf("node %d,+é/%d", r.IntN(3), i)
		h.Fence, h.Attempt = openedFence+1+r.Int64N(1000), r.IntN(4)
		h.Granted = openedAt + r.Int64N(1000) - 10
		h.Ended = h.Granted + r.Int64N(1000) - 10
	}
	return s
}

// A text that is no sheet is an error, which quotes it.
func TestReadSheetRefuses(t *testing.T) {
	for _, text := range []string{
		"", "a", "a|", "a|;", "a|+", "|ok+,1,1,1,0,0", "a|ok+,1,0,1,0", "a|ok+,1,0,1,0,0,", "a|ok+,1,0,1,0,0,%", "a|ok+,1,0,1,0,0,0,0", "a|,1,0,1,0,0", "a|ok+,1,1,1,0,0", "a|ok+,-1,0,1,0,0",
		"a|ok+,1,-1,1,0,0", "a|ok+,1,0,-1,0,0", "a|ok+,x,0,1,0,0", "a|ok+,1,0,9007199254740993,0,0", "a|ok+,1,0,1,-9007199254740993,0", "a|ok+,1,0,1,-9223372036854775808,0",
		"|missed" + strings.Repeat(";missed", MaxShards),
	} {
		if shards, err := ReadSheet(text, openedFence, openedAt); err == nil || !strings.Contains(err.Error(), "is no sheet") {
			t.Errorf("%.50s is read as %+v, %v", text, shards, err)
		}
	}
}

// A text either is no sheet, or its shards are read back from the text that they have.
func FuzzReadSheet(f *testing.F) {
	f.Add("a;b|ok+,1,0,1,0,70;failed,2,1,9,40,50;missed")
	f.Add("|paused;cancelled;superseded")
	f.Add("a|lost,1,0,5,-20,-10")
	f.Add("a;a|ok,1,1,0,0,0")
	f.Add("|")
	f.Add("a|failed,1,0,5,0,9,no route%2C %C3%A9")
	f.Fuzz(func(t *testing.T, text string) {
		shards, err := ReadSheet(text, openedFence, openedAt)
		if err != nil {
			return
		}
		s := Sheet{Shards: shards}
		again, err := ReadSheet(s.text(openedFence, openedAt), openedFence, openedAt)
		if err != nil || !reflect.DeepEqual(again, shards) {
			t.Errorf("%q is read as\n%+v, and that, from its own text, as\n%+v, %v", text, shards, again, err)
		}
	})
}
