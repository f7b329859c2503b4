package ops

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// The newest runs of all jobs are those at the beginning of the sorted list of all runs.
func TestRecent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := &Snapshot{}
	var all []Run
	for range 20 {
		j := &Job{}
		for range rnd.IntN(30) {
			j.Runs = append(j.Runs, Run{ID: fmt.Sprint(len(all) + len(j.Runs)), Attempt: rnd.IntN(2), Recorded: InstantOf(time.Unix(rnd.Int64N(50), 0))})
		}
		all = append(all, j.Runs...)
		split := rnd.IntN(len(j.Runs) + 1)
		j.Runs, j.older.runs = j.Runs[:split], j.Runs[split:]
		if len(s.Jobs)%2 == 0 { // of the others it is not known
			j.latest = j.recorded()
		}
		s.Jobs = append(s.Jobs, j)
	}
	slices.SortFunc(all, Newer)
	if !slices.IsSortedFunc(all, func(a, b Run) int { return cmp.Or(cmp.Compare(b.Recorded, a.Recorded), strings.Compare(b.ID, a.ID)) }) {
		t.Error("of runs that were recorded at once, an earlier one comes first")
	}
	first := func(r *Run) bool { return r.Attempt == 0 }
	let := slices.DeleteFunc(slices.Clone(all), func(r Run) bool { return !first(&r) })
	for _, n := range []int{0, 1, 2, 17, len(let), len(all), len(all) + 1} {
		if got := s.Recent(n, nil); !reflect.DeepEqual(got, all[:min(n, len(all))]) {
			t.Errorf("the newest %d of all: %v", n, got)
		}
		if got := s.Recent(n, first); !reflect.DeepEqual(got, let[:min(n, len(let))]) {
			t.Errorf("the newest %d of those that are let: %v", n, got)
		}
	}
}

// The verdicts of all jobs are in memory from the instant on at which the last job has all its later ones there.
func TestSearchedOfSeveralJobs(t *testing.T) {
	job := func(lines ...series.Line) *Job { return &Job{Journal: series.Journal{Lines: lines}} }
	whole, early, late := job(series.Line{Verdict: series.VerdictOpened, At: 1}), job(series.Line{Verdict: series.VerdictRan, At: 5}), job(series.Line{Verdict: series.VerdictRan, At: 9})
	for _, c := range []struct {
		jobs []*Job
		want time.Time
	}{{nil, time.Time{}}, {[]*Job{whole}, time.Time{}}, {[]*Job{early, whole}, utc(5)}, {[]*Job{early, late, whole}, utc(9)}, {[]*Job{late, early}, utc(9)}} {
		if got := (&Snapshot{Jobs: c.jobs}).Searched(); !got.Equal(c.want) {
			t.Errorf("%d jobs: from %v on, want %v", len(c.jobs), got, c.want)
		}
	}
}
