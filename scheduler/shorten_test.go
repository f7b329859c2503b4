package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// A playback is the result of a simulation.
type playback struct {
	faults  []failure
	events  int
	history *history
}

// A history lists the events of a storm, a line for each.
type history struct {
	mu    sync.Mutex
	lines []string
}

func (h *history) add(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

func (h *history) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "\n")
}

// A failure is a call of Errorf or Fatalf. All failures from one line of the test have the same kind.
type failure struct{ kind, text string }

// A recorder keeps the failures of a test: a simulation that is repeated with fewer events may fail.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	faults []failure
}

func (r *recorder) note(kind, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, failure{kind, text})
}

func (r *recorder) Errorf(format string, args ...any) { r.note(format, fmt.Sprintf(format, args...)) }

func (r *recorder) Error(args ...any) { r.note("", fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.SkipNow()
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	r.SkipNow()
}

// stuckAfter is far longer than a simulation takes, even with the race detector. In a bubble a loop without a pause lets no time pass.
const stuckAfter = 4 * time.Minute

// playing plays the simulation of a seed without some of its events.
func playing(t *testing.T, seed uint64, without map[int]bool) (p playback) {
	var s *simulation
	r, h := &recorder{}, &history{}
	defer time.AfterFunc(stuckAfter, func() { panic(fmt.Sprintf("seed %d stands still\n%v", seed, h)) }).Stop()
	cryptotest.SetGlobalRandom(t, seed) // the names of nodes and owners decide which node claims first
	synctest.Test(t, func(t *testing.T) {
		r.TB = t
		open, d := inMemory, 30*time.Minute
		switch {
		case seed%3 == 1 && strangenessOf(seed) == nothingStrange: // Redis alone forgets the latest seconds, and lists uses of a spec in another order when its clock steps back
			open, d = inBoth(cuts(seed/3%3)), 5*time.Minute
		case seed%3 == 1:
			open, d = inRedis, 8*time.Minute // a script takes as long as many requests to memory
		}
		s = newSimulation(r, seed, open)
		s.without, s.history = without, h
		s.play(d)
	})
	return playback{r.faults, s.events, h}
}

// sameWay reports whether another playback has a failure of the first kind of this one.
func (p *playback) sameWay(o *playback) bool {
	return slices.ContainsFunc(o.faults, func(f failure) bool { return f.kind == p.faults[0].kind })
}

// patience is how long a failed simulation is played again, with fewer events.
const patience = 30 * time.Second

// shorten looks for a short history that fails in the same way: it leaves out halves of the events, then smaller parts, then single ones.
func (p *playback) shorten(t *testing.T, seed uint64) {
	best, without, until := p, map[int]bool{}, time.Now().Add(patience)
	for size := (p.events + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < p.events && time.Now().Before(until); from += size {
			fewer := maps.Clone(without)
			for i := from; i < min(from+size, p.events); i++ {
				fewer[i] = true
			}
			if len(fewer) == len(without) {
				continue
			}
			if o := playing(t, seed, fewer); p.sameWay(&o) {
				best, without = &o, fewer
			}
		}
	}
	if best == p {
		t.Log("no shorter history fails")
		return
	}
	t.Logf("with %d of %d events it fails too: %s\n%s", p.events-len(without), p.events, best.faults[0].text, best.history)
}
