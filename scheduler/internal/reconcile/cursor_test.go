package reconcile

import (
	"fmt"
	"testing"

	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// The nodes read all jobs within ten minutes together, however many jobs there are.
func TestTurnSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ jobs, nodes, want int }{
		{0, 0, 200}, {10, 1, 200}, {12_000, 1, 200}, {120_000, 1, 2000}, {120_000, 8, 250}, {120_000, 1000, 250},
	} {
		if got := turnSize(c.jobs, c.nodes); got != c.want {
			t.Errorf("a turn of one of %d nodes reads %d of %d jobs, want %d", c.nodes, got, c.jobs, c.want)
		}
	}
}

// In a large fleet about eight nodes have a turn each time, and each node has one now and then; in a small one each
// node has each.
func TestTurnsOfAFleet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, turns, least, most int }{{8, 5, 5, 5}, {400, 1000, 2, 60}} {
		var names []string
		for i := range c.nodes {
			names = append(names, fmt.Sprintf("web-%d", i))
		}
		all := 0
		for _, name := range names {
			r, had := New(Config{Node: name, Dispatcher: idle{}}), 0
			r.Nodes(rendezvous.Of(name, names), false)
			for turn := range c.turns { // long after the mark of the job
				if r.turn(int64(100+turn)*turnEvery.Milliseconds()) != nil {
					had++
				}
			}
			if had < c.least || had > c.most {
				t.Errorf("%s, one of %d nodes, had %d of %d turns", name, c.nodes, had, c.turns)
			}
			all += had
		}
		if each := float64(all) / float64(c.turns); each < 7 || each > 9 {
			t.Errorf("%v of %d nodes had a turn at a time, want about 8", each, c.nodes)
		}
	}
}

// An idle dispatcher has one job, which no node has decided lately.
type idle struct{ Dispatcher }

func (idle) Jobs() int { return 1 }

func (idle) Job(int) claims.Known { return claims.Known{Job: new(job.Job)} }
