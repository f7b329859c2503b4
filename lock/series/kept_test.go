package series_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// Other versions read the stored form: the text itself must not change.
func TestKept(t *testing.T) {
	s := series.State{Mark: 7, By: "a", Fence: 9, Last: 5, Paused: true, Change: 2,
		Pause:   series.Pause{Op: "2", Who: "ann", Reason: "moved", Since: 3, Until: 4},
		Latest:  series.Change{Action: series.ActionPause, Op: "2", Who: "ann", Reason: "moved", At: 3},
		Ops:     []series.Op{{ID: "1", Body: "a1", Change: 1, Audit: 7}, {ID: "2", Body: "b2", Change: 2, Audit: 9}},
		SpentBy: "b/1", SpentAs: series.KindWaiting, SpentFence: 8,
		Runs: []series.Run{
			{Number: 1, State: series.RunOpen, Owner: "a/1", Fence: 1, Attempt: 1, Granted: 2, Until: 3, Replaced: true},
			{Number: 2, State: series.RunGivenBack}, {Number: 3, State: series.RunUnstarted}, {Number: 4, State: series.RunWaiting},
			{Number: 5, State: series.RunDone}, {Number: 6, State: series.RunLost},
		}}
	want := `{"mark":7,"by":"a","fence":9,"last":5,"paused":true,"change":2,"pause":{"op":"2","who":"ann","reason":"moved","at":3,"until":4},` +
		`"latest":{"action":"pause","op":"2","who":"ann","reason":"moved","at":3},"ops":[{"id":"1","body":"a1","change":1,"audit":7},{"id":"2","body":"b2","change":2,"audit":9}],"spentBy":"b/1","spentAs":"waiting","spentFence":8,"runs":[` +
		`{"number":1,"state":"open","owner":"a/1","fence":1,"attempt":1,"granted":2,"until":3,"replaced":true},` +
		`{"number":2,"state":"given back","owner":"","fence":0},{"number":3,"state":"unstarted","owner":"","fence":0},` +
		`{"number":4,"state":"waiting","owner":"","fence":0},{"number":5,"state":"done","owner":"","fence":0},` +
		`{"number":6,"state":"lost","owner":"","fence":0}]}`
	wantKept(t, s, want)
}

// The stored form of a state with a sheet, in the fourth format.
func TestKeptSheet(t *testing.T) {
	s := series.State{Mark: 7, Fence: 9,
		Sheet: series.Sheet{Params: []string{"north", "south"}, FailAll: true, Shards: []series.Shard{
			{}, {State: series.RunOpen, Owner: "a/1", Fence: 8, Attempt: 1, Granted: 2, Until: 9}, {State: series.RunGivenBack, Attempt: 1}, {State: series.RunUnstarted},
			{State: series.RunDone, Owner: "a/1", Fence: 9, Attempt: 2, Granted: 2, Until: 9, Ended: 4, Outcome: series.OutcomeOK, OK: true},
			{State: series.RunLost, Ended: 5, Outcome: string(series.VerdictMissed)},
		}},
		Runs: []series.Run{{Number: 7, State: series.RunOpen, Owner: "a/1", Fence: 7, Attempt: 1, Granted: 1, Until: 99, Shards: 6}}}
	if s.Format() != 4 {
		t.Errorf("the format is %d, want 4", s.Format())
	}
	want := `{"mark":7,"fence":9,"runs":[{"number":7,"state":"open","owner":"a/1","fence":7,"attempt":1,"granted":1,"until":99,"shards":6}],` +
		`"sheet":{"params":["north","south"],"failAll":true,"shards":[{},{"state":"open","owner":"a/1","fence":8,"attempt":1,"granted":2,"until":9},` +
		`{"state":"given back","attempt":1},{"state":"unstarted"},` +
		`{"state":"done","owner":"a/1","fence":9,"attempt":2,"granted":2,"until":9,"ended":4,"outcome":"ok","ok":true},{"state":"lost","ended":5,"outcome":"missed"}]}}`
	wantKept(t, s, want)
}

// wantKept fails the test unless the state is kept as the text, and read back from it.
func wantKept(t *testing.T, s series.State, want string) {
	t.Helper()
	text, err := json.Marshal(s.Keep())
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("kept is\n%s, want\n%s", text, want)
	}
	var k series.Kept
	if err := json.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	if got, err := k.State(); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("read back it is %+v, %v; want %+v", got, err, s)
	}
}

// A run without its shards is an error: the steps on a shard would not find it.
func TestKeptSheetOfAnotherRun(t *testing.T) {
	for _, sheet := range []string{``, `,"sheet":{"shards":[{}]}`, `,"sheet":{"shards":[{},{},{}]}`} {
		var k series.Kept
		if err := json.Unmarshal([]byte(`{"mark":1,"runs":[{"number":1,"state":"open","owner":"a/1","fence":1,"shards":2}]`+sheet+`}`), &k); err != nil {
			t.Fatal(err)
		}
		if s, err := k.State(); err == nil || !strings.Contains(err.Error(), "2 shards") {
			t.Errorf("%s is read as %+v, %v", sheet, s, err)
		}
	}
}

// An unknown word is an error, with any other fields: a newer version may have written it with a
// meaning.
func TestKeptWords(t *testing.T) {
	for _, text := range []string{
		`{"mark":1,"runs":[{"number":1,"state":"asleep"}]}`,
		`{"mark":1,"runs":[{"number":1}]}`,
		`{"mark":1,"spentBy":"a/1","spentAs":"granted"}`,
		`{"mark":1,"spentBy":"a/1"}`,
		`{"mark":1,"sheet":{"shards":[{"state":"asleep"}]}}`,
	} {
		var k series.Kept
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		if s, err := k.State(); err == nil || !strings.Contains(err.Error(), "is not one of") {
			t.Errorf("%s is read as %+v, %v", text, s, err)
		}
	}
}

// A node refuses a format that it does not know, so a state has the lowest one that keeps all of it.
func TestFormat(t *testing.T) {
	for want, s := range map[int]series.State{
		1: {Mark: 1, Runs: []series.Run{{Number: 1, State: series.RunOpen}}},
		2: {Mark: 1, Change: 1, Runs: []series.Run{{Number: 2, State: series.RunDone, StartBy: 9, For: 1}}},
		3: {Mark: 1, Change: 1, Runs: []series.Run{{Number: 2, State: series.RunWaiting, StartBy: 9, For: 1}}},
		4: {Mark: 1, Change: 1, Sheet: series.Sheet{Shards: make([]series.Shard, 1)}, Runs: []series.Run{{Number: 2, State: series.RunDone, StartBy: 9, For: 1, Shards: 1}}},
	} {
		if got := s.Format(); got != want {
			t.Errorf("the format of %+v is %d, want %d", s, got, want)
		}
	}
	if s := (series.State{Mark: 1, Change: 1, Backfill: series.Backfill{Numbers: []int64{1000}}}); s.Format() != 3 {
		t.Errorf("the format of %+v is %d, want 3", s, s.Format())
	}
}

func TestKeptSightings(t *testing.T) {
	var seen series.Sightings
	seen.See(&series.Series{Now: 20}, &series.OpenRequest{Node: "n", Revision: "b", Spec: "@daily", Zone: "UTC"})
	seen.See(&series.Series{Now: 10}, &series.OpenRequest{Revision: "a"})
	text, err := json.Marshal(seen)
	if want := `[{"revision":"b","spec":"@daily","zone":"UTC","node":"n","first":20,"last":20},{"revision":"a","first":10,"last":10}]`; err != nil || string(text) != want {
		t.Errorf("kept is\n%s, %v; want\n%s", text, err, want)
	}
	var back series.Sightings
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if want := (series.Sightings{seen[1], seen[0]}); !reflect.DeepEqual(back, want) {
		t.Errorf("read back it is %+v, want %+v", back, want)
	}
	if empty, err := json.Marshal(series.Sightings(nil)); err != nil || string(empty) != "[]" {
		t.Errorf("none is kept as %s, %v", empty, err)
	}
}

// A former spec is returned while numbers from before the new one are undecided, also those after its last sighting.
func TestFormerSpec(t *testing.T) {
	for mark, want := range map[int64]int{40: 1, 50: 1, 60: 1, 99: 1, 100: 0, 110: 0} {
		var seen series.Sightings
		seen.See(&series.Series{Now: 50}, &series.OpenRequest{Node: "n", Revision: "old", Spec: "@daily", Zone: "UTC"})
		got := series.Series{Now: 100, Mark: mark}
		seen.See(&got, &series.OpenRequest{Node: "n", Revision: "new", Spec: "@hourly", Zone: "UTC"})
		if len(got.Former) != want || got.Since != 100 {
			t.Errorf("with the mark at %d: %+v, want %d former specs", mark, got, want)
		}
	}
}
