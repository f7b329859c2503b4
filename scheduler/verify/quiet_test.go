package verify_test

import (
	"math"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A job is judged again without a change when a tick, or the lease of a run, may have been over for
// the grace: not earlier, because that has a cost, and not later.
func TestQuietUntil(t *testing.T) {
	const second = 1000
	use := series.RevisionUse{Revision: "r", Spec: "@every 10s", Zone: "UTC", Policies: "overlap:skip/misfire:once/deadline:5s", First: 100 * second, Last: 100 * second}
	open := series.Run{Number: 100 * second, State: series.RunOpen, Until: 112 * second}
	gaps := use // the last tick before a gap has the latest deadline of all, as misfire all derives it from the interval
	gaps.Spec, gaps.Policies = "* 0-1 * * * *", "misfire:all"
	ended, last := use, use
	ended.Spec, last.Spec = "@at 1970-01-01T00:01:40Z", "@at 1970-01-01T00:02:10Z"
	left := open
	left.State = series.RunGivenBack
	for name, c := range map[string]struct {
		mark int64
		uses []series.RevisionUse
		runs []series.Run
		want int64
	}{
		"the next tick":                         {120 * second, []series.RevisionUse{use}, nil, (130 + 5 + 10) * second},
		"of a spec that is newer than the mark": {30 * second, []series.RevisionUse{use}, nil, (110 + 5 + 10) * second},
		"the last before a gap":                 {118 * second, []series.RevisionUse{gaps}, nil, (3600 + 10 + 10) * second},
		"a spec without a next tick":            {120 * second, []series.RevisionUse{ended}, nil, math.MaxInt64},
		"the only tick":                         {120 * second, []series.RevisionUse{last}, nil, (130 + 5 + 10) * second},
		"a run is alive":                        {120 * second, []series.RevisionUse{use}, []series.Run{open}, (112 + 10) * second},
		"a run was left":                        {120 * second, []series.RevisionUse{use}, []series.Run{left}, 0},
		"a spec that cannot be read":            {120 * second, []series.RevisionUse{use, {Spec: "?"}}, nil, 0},
	} {
		judge := verify.NewJudge(series.Journal{Revisions: c.uses}, verify.Options{State: &series.Series{Mark: c.mark, Runs: c.runs}})
		if got := judge.QuietUntil(); got != c.want {
			t.Errorf("%s: judged again at %d, want %d", name, got, c.want)
		}
		if got := verify.NewJudge(series.Journal{Revisions: c.uses}, verify.Options{}).QuietUntil(); got != 0 {
			t.Errorf("%s: judged again at %d without the state", name, got)
		}
	}
}
