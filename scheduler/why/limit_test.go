package why_test

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/why"
)

// The sentence about an alive run of a job with a limit says whether the run has a place, and names
// the runs that have one. So does the answer for machines.
func TestExplainLimit(t *testing.T) {
	holder := func(note string, limit int) driver.Holder {
		return driver.Holder{Owner: "pod-a/AAAAAAAAAAAAA.1 " + note, Fence: 9, Limit: limit}
	}
	const own, other = "report@2027-03-26T03:00:00.000Z", "bill@2027-03-26T02:00:00.000Z"
	reserved := holder(own, 2)
	reserved.Fence = 0
	for name, tc := range map[string]struct {
		policies string // empty: a limit of two places
		places   []driver.Holder
		ended    bool
		left     bool        // its node died
		want     why.Limited // without the limit's name; zero: none
		sentence string      // after the sentence about the run
	}{
		"has a place": {places: []driver.Holder{holder(other, 2), holder(own, 2)}, want: why.Limited{Limit: policy.Limit{Of: 2}, Held: 1, Holders: []string{other, own}},
			sentence: " It has a place in the limit reports: 2 of 2 taken, by " + other + ", " + own + "."},
		"waits": {places: []driver.Holder{holder(other, 2), holder("bill@x", 2)}, want: why.Limited{Limit: policy.Limit{Of: 2}, Waits: true, Holders: []string{other, "bill@x"}},
			sentence: " It waits for a place in the limit reports: 2 of 2 taken, by " + other + ", bill@x."},
		"waits, with a reserved place": {places: []driver.Holder{holder(other, 2), reserved}, want: why.Limited{Limit: policy.Limit{Of: 2}, Waits: true, Holders: []string{other, own}},
			sentence: " It waits for a place in the limit reports: 2 of 2 taken, by " + other + ", " + own + "."},
		"waits, for another node has a smaller limit": {places: []driver.Holder{holder(other, 1)}, want: why.Limited{Limit: policy.Limit{Of: 1}, Waits: true, Holders: []string{other}},
			sentence: " It waits for a place in the limit reports: 1 of 1 taken, by " + other + "."},
		"waits for a lease without a note": {places: []driver.Holder{{Owner: "bob/AAAAAAAAAAAAA.1", Fence: 9, Limit: 1}}, want: why.Limited{Limit: policy.Limit{Of: 1}, Waits: true, Holders: []string{"bob/AAAAAAAAAAAAA.1"}},
			sentence: " It waits for a place in the limit reports: 1 of 1 taken, by bob/AAAAAAAAAAAAA.1."},
		"waits for its next try": {places: []driver.Holder{}, want: why.Limited{Limit: policy.Limit{Of: 2}, Holders: []string{}},
			sentence: " It has no place in the limit reports: 0 of 2 taken."},
		"many holders": {policies: "limit:reports*7", places: slices.Repeat([]driver.Holder{holder("a@1", 7)}, 7), want: why.Limited{Limit: policy.Limit{Of: 7}, Waits: true, Holders: slices.Repeat([]string{"a@1"}, 7)},
			sentence: " It waits for a place in the limit reports: 7 of 7 taken, by a@1, a@1, a@1, a@1, a@1 and 2 more."},
		"as many holders as are named": {policies: "limit:reports*5", places: slices.Repeat([]driver.Holder{holder("a@1", 5)}, 5), want: why.Limited{Limit: policy.Limit{Of: 5}, Waits: true, Holders: slices.Repeat([]string{"a@1"}, 5)},
			sentence: " It waits for a place in the limit reports: 5 of 5 taken, by a@1, a@1, a@1, a@1, a@1."},
		"not known": {want: why.Limited{Limit: policy.Limit{Of: 2}}, sentence: " Whether it has a place in the limit reports is not known."},
		"no limit":  {policies: "overlap:skip"},
		"has ended": {places: []driver.Holder{holder(own, 2)}, ended: true},
		"was left":  {places: []driver.Holder{holder(own, 2)}, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			line, state := ran(0, "pod-b", .003, 1, 7), []series.Run{{Number: at(0), State: series.RunOpen, Fence: 7, Attempt: 1, Until: at(28)}}
			begin := "It runs on pod-b as attempt 1, 3ms after the tick (fence 7); its lease lives 8s more."
			if tc.ended {
				line, state, begin = with(line, "ok", 1, ""), nil, "Ran on pod-b as attempt 1, 3ms after the tick, ok in 1s (fence 7)."
			}
			if tc.left {
				state[0].Until, begin = at(8), "It was granted on pod-b as attempt 1, 3ms after the tick; that lease ended 12s ago, and no node has settled the tick or taken it over."
			}
			use := func(revision string, last float64, policies string) series.RevisionUse {
				return series.RevisionUse{Revision: revision, Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(last), Policies: policies}
			}
			uses := []series.RevisionUse{use("r0", 9, "limit:former*9"), use("r1", 20, cmp.Or(tc.policies, "limit:reports*2")), use("r2", 10, "limit:tried*9")}
			got := why.Explain(why.Question{
				Tick: tick, Places: tc.places,
				Journal: series.Journal{Key: "report", Lines: []series.Line{opened(), line}, Revisions: uses},
				State:   series.Series{Key: "report", Now: at(20), Mark: at(0), Runs: state},
			})
			if got.Sentence != begin+tc.sentence {
				t.Errorf("%s\nwant %s", got.Sentence, begin+tc.sentence)
			}
			if tc.sentence == "" {
				if got.Limit != nil {
					t.Errorf("the limit is %+v, want none", got.Limit)
				}
				return
			}
			tc.want.Name = "reports"
			if got.Limit == nil || !reflect.DeepEqual(*got.Limit, tc.want) {
				t.Errorf("the limit is %+v, want %+v", got.Limit, tc.want)
			}
		})
	}
}

// The sentence about a sharded tick says how many places its shards have.
func TestExplainLimitOfShards(t *testing.T) {
	const own = "report@2027-03-26T03:00:00.000Z"
	var places []driver.Holder
	for _, note := range []string{own + "#1", own + "#12", "bill@2027-03-26T02:00:00.000Z"} {
		places = append(places, driver.Holder{Owner: "pod-a/AAAAAAAAAAAAA.1 " + note, Fence: 9, Limit: 3})
	}
	opens := ran(0, "pod-a", .003, 1, 7)
	opens.Shards = 13
	shards := slices.Repeat([]series.Shard{{State: series.RunOpen, Owner: "pod-a/1", Fence: 8, Attempt: 1, Granted: at(.003), Until: at(28)}}, 13)
	q := why.Question{
		Tick: tick, Places: places,
		Journal: series.Journal{Key: "report", Lines: []series.Line{opened(), opens}, Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", First: at(-1800), Last: at(20), Policies: "limit:reports*3"}}},
		State: series.Series{Key: "report", Now: at(20), Mark: at(0), Sheet: series.Sheet{Shards: shards},
			Runs: []series.Run{{Number: at(0), State: series.RunOpen, Owner: "pod-a/1", Fence: 7, Attempt: 1, Granted: at(.003), Until: at(28), Shards: 13}}},
	}
	got := why.Explain(q)
	if want := " Its shards have 2 places in the limit reports: 3 of 3 taken, by "; !strings.Contains(got.Sentence, want) || got.Limit.Held != 2 {
		t.Errorf("%s: %+v, want %q", got.Sentence, got.Limit, want)
	}
	q.Places = slices.Repeat(places[2:], 3)
	if got, want := why.Explain(q), " It waits for a place in the limit reports: 3 of 3 taken, by "; !strings.Contains(got.Sentence, want) {
		t.Errorf("%s, want %q", got.Sentence, want)
	}
}
