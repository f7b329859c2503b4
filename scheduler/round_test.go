package scheduler

import (
	"slices"
	"testing"
)

// However many jobs there are: while ticks of all of them are decided, each is read
// once in six rounds, and once more from when a node has come.
func TestRoundReadsEachJob(t *testing.T) {
	for _, jobs := range []int{0, 1, 63, 64, 200, 500, 2000, 4321} {
		n := &Node{}
		for range jobs {
			n.roster.add()
		}
		read := func(turns int) (all []*entry) {
			for range turns {
				es := n.turn()
				if len(es) > rotaSize {
					t.Fatalf("a turn reads %d jobs", len(es))
				}
				all = append(all, es...)
			}
			return all
		}
		whole, brief := (jobs+rotaSize-1)/rotaSize, (jobs+rotaScan-1)/rotaScan
		read(7) // begin anywhere
		n.round.whole(&n.roster)
		want(t, jobs, "from when a node has come", read(whole)[:jobs])
		want(t, jobs, "in six rounds", read(6 * (whole + brief))[:jobs])
	}
}

// want checks that so many openings are of as many jobs.
func want(t *testing.T, jobs int, when string, es []*entry) {
	t.Helper()
	seen := map[*entry]bool{}
	for _, e := range es {
		seen[e] = true
	}
	if len(es) != jobs || len(seen) != jobs || slices.Contains(es, nil) {
		t.Errorf("%d of %d jobs were read %s, in %d openings", len(seen), jobs, when, len(es))
	}
}
