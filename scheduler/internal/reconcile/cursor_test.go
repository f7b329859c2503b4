package reconcile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// While ticks of all jobs are decided, each job is read once in six rounds, and once more after a
// node has joined, however many jobs there are.
func TestRoundReadsEachJob(t *testing.T) {
	for _, jobs := range []int{0, 1, 63, 64, 200, 500, 2000, 4321} {
		n := decidedNode(jobs)
		read := func(turns int) (all []*job.Job) {
			for range turns {
				es := n.turn(0)
				if len(es) > turnLeast {
					t.Fatalf("a turn reads %d jobs", len(es))
				}
				all = append(all, es...)
			}
			return all
		}
		whole, brief := (jobs+turnLeast-1)/turnLeast, (jobs+scanFactor*turnLeast-1)/(scanFactor*turnLeast)
		read(7) // begin at any job
		n.cursor.readAll(jobs)
		want(t, jobs, "from when a node has come", read(whole)[:jobs])
		want(t, jobs, "in six rounds", read(whole + 6*brief + 2)[:jobs])
	}
}

// When a year begins each job is read, because revisions may change with it.
func TestRoundOfNewYear(t *testing.T) {
	n := decidedNode(10)
	year := time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, at := range []struct {
		ms   int64
		read int
	}{{year - 2, 10}, {year - 1, 0}, {year, 10}, {year + 1, 0}} {
		for no := range 10 {
			n.marks[no] = at.ms // decided recently
		}
		if es := n.turn(at.ms); len(es) != at.read {
			t.Errorf("%d ms from the new year %d jobs are read, want %d", at.ms-year, len(es), at.read)
		}
	}
}

// A fixture is a node with jobs.
type fixture struct {
	Dispatcher
	cursor cursor
	nodes  int
	jobs   []job.Job
	marks  []int64
}

func (f *fixture) Jobs() int { return len(f.jobs) }

func (f *fixture) Job(no int) claims.Known {
	return claims.Known{Job: &f.jobs[no], Mark: f.marks[no]}
}

func (f *fixture) turn(now int64) []*job.Job { return f.cursor.turn(f, f.nodes, now) }

// decidedNode returns a node with jobs that each had a tick decided at the instant 0.
func decidedNode(jobs int) *fixture {
	f := &fixture{nodes: 1, jobs: make([]job.Job, jobs), marks: make([]int64, jobs)}
	f.turn(0) // the first instant has a new year
	f.cursor = cursor{year: f.cursor.year}
	return f
}

// want checks that there are this many openings, each of a different job.
func want(t *testing.T, jobs int, when string, es []*job.Job) {
	t.Helper()
	seen := map[*job.Job]bool{}
	for _, e := range es {
		seen[e] = true
	}
	if len(es) != jobs || len(seen) != jobs || slices.Contains(es, nil) {
		t.Errorf("%d of %d jobs were read %s, in %d openings", len(seen), jobs, when, len(es))
	}
}

// One node alone reads all jobs that tick rarely within ten minutes, however many there are; of
// several nodes each reads its part.
func TestRoundOfRareJobs(t *testing.T) {
	const jobs = 100_000
	for _, test := range []struct{ nodes, most int }{{1, jobs/turnsPerRun + 1}, {4, jobs/turnsPerRun/4 + 1}, {50, jobs/turnsPerRun/turnReaders + 1}} {
		n := decidedNode(jobs)
		n.nodes = test.nodes
		n.cursor.readAll(jobs)
		seen, turns := map[*job.Job]bool{}, 0
		for ; len(seen) < jobs; turns++ {
			es := n.turn(0)
			if len(es) > test.most {
				t.Fatalf("%d nodes: a turn reads %d jobs", test.nodes, len(es))
			}
			for _, e := range es {
				seen[e] = true
			}
		}
		if took := time.Duration(turns) * turnEvery; test.most > turnLeast && took > time.Duration(min(test.nodes, turnReaders))*10*time.Minute+turnEvery {
			t.Errorf("%d nodes: a round takes %v", test.nodes, took)
		}
	}
}

// A round passes over a job with a tick that was decided within a turn, up to its last millisecond.
// A mark that is further ahead than clocks explain does not count as recent: such a job is read in
// each round, so that its mark is noticed.
func TestDecidedLately(t *testing.T) {
	const now = 1_000_000_000
	for mark, want := range map[int64]bool{
		now: true, now - turnEvery.Milliseconds(): true, now - turnEvery.Milliseconds() - 1: false,
		now + markAhead.Milliseconds(): true, now + markAhead.Milliseconds() + 1: false, 0: false,
	} {
		if got := decided(mark, now); got != want {
			t.Errorf("a mark %d ms from now: decided lately %v, want %v", mark-now, got, want)
		}
	}
}

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
