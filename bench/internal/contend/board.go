package contend

import (
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
)

// A Board counts the runs of each job's ticks within [from, from + ticks*every). It is safe for
// concurrent use.
type Board struct {
	from  time.Time
	every time.Duration
	ticks int

	mu    sync.Mutex
	runs  []int32         // by job and tick
	nodes []int           // runs by node
	first []time.Duration // the lateness of the first run of each tick
	all   []time.Duration // the lateness of all runs
	early int
}

// NewBoard returns an empty board.
func NewBoard(s Setup, from time.Time, ticks int) *Board {
	n := s.Jobs * ticks
	return &Board{
		from: from, every: s.Every, ticks: ticks, runs: make([]int32, n), nodes: make([]int, s.Nodes),
		first: make([]time.Duration, 0, n), all: make([]time.Duration, 0, 2*n),
	}
}

// Started counts a run that starts now.
func (b *Board) Started(node, job int, tick time.Time) {
	now := time.Now()
	at := int(tick.Sub(b.from) / b.every)
	if tick.Before(b.from) || at >= b.ticks {
		return
	}
	late := now.Sub(b.from.Add(time.Duration(at) * b.every))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes[node]++
	b.all = append(b.all, late)
	if late < 0 {
		b.early++
	}
	k := job*b.ticks + at
	if b.runs[k]++; b.runs[k] == 1 {
		b.first = append(b.first, late)
	}
}

// A Tally is the result of a board.
type Tally struct {
	Expected int // ticks of all jobs
	Runs     int
	Extra    int // runs beyond the first of a tick
	Missed   int // ticks without a run
	Most     int // runs of one tick
	Early    int // runs that started before their tick
	Shares   []float64
	First    Lateness // of each tick's first run
	All      Lateness // of all runs
}

// Lateness is how long after their instants runs started.
type Lateness struct{ P50, P99, Max time.Duration }

// Tally returns the result. Call it when the cluster has ended.
func (b *Board) Tally() Tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Tally{Expected: len(b.runs), Early: b.early, First: lateness(b.first), All: lateness(b.all)}
	for _, n := range b.runs {
		t.Runs += int(n)
		t.Extra += max(int(n)-1, 0)
		t.Most = max(t.Most, int(n))
		if n == 0 {
			t.Missed++
		}
	}
	for _, n := range b.nodes {
		t.Shares = append(t.Shares, float64(n)/float64(max(t.Runs, 1)))
	}
	return t
}

func lateness(values []time.Duration) Lateness {
	slices.Sort(values)
	return Lateness{measure.Percentile(values, 0.5), measure.Percentile(values, 0.99), measure.Percentile(values, 1)}
}
