package ops

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// The newest runs of all jobs are those at the beginning of the sorted list of all runs.
func TestRecent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := &Snapshot{}
	var all []Run
	for range 20 {
		j := &Job{}
		for range rnd.IntN(30) {
			j.Runs = append(j.Runs, Run{ID: fmt.Sprint(len(all) + len(j.Runs)), Attempt: rnd.IntN(2), Recorded: time.Unix(rnd.Int64N(50), 0)})
		}
		all = append(all, j.Runs...)
		s.Jobs = append(s.Jobs, j)
	}
	slices.SortFunc(all, Newer)
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
