package series_test

import (
	"hash/maphash"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A move is something that happens to a world.
type move struct {
	what string
	k    int // the number it is about, or 0
	do   func(w *world)
}

// moves lists the possible next moves: time passes; any node claims any number that is due or next,
// takes over any run, renews or ends any lease it was ever granted; the operator pauses, resumes or cancels;
// the last request arrives once more.
func moves(w *world, ticks, leases int) []move {
	ms := []move{
		{"time passes", 0, func(w *world) { w.ms += interval }},
		{"the last claim arrives again", 0, (*world).again},
	}
	if w.Paused {
		ms = append(ms, move{"resume", 0, (*world).resume})
	} else {
		ms = append(ms, move{"pause", 0, (*world).pause}, move{"pause for a while", 0, (*world).pauseBriefly}, move{"pause after an outage", 0, (*world).pauseAfter}, move{"retire and open", 0, (*world).retire})
	}
	if w.requests > 0 && w.ms < due(maxTicks) && w.Manual < w.ms { // a manual number is named by its second
		ms = append(ms, move{"request a run", 0, func(w *world) { w.request(w.overlap, false) }},
			move{"request a run that may wait, also in a pause", 0, func(w *world) { w.request(series.OverlapQueue, true) }})
	}
	if w.skips > 0 && w.Mark < due(maxTicks-1) && w.ms < due(maxTicks-1) {
		ms = append(ms, move{"skip the next number", 0, (*world).skipNext})
	}
	for k := 1; k <= ticks && due(k) <= w.ms+interval; k++ {
		ms = append(ms, move{"claim", k, func(w *world) { w.ask(w.claim(k)) }})
		if due(k) > w.Mark+interval {
			ms = append(ms, move{"claim over the gap", k, func(w *world) { w.ask(w.covers(k)) }})
		}
	}
	for _, r := range w.Runs {
		ms = append(ms, move{"take over", indexOf(r.Number), func(w *world) { w.ask(w.takeover(&r)) }},
			move{"cancel", indexOf(r.Number), func(w *world) { w.cancel(&r) }})
	}
	for _, r := range w.held[max(0, len(w.held)-leases):] {
		k := indexOf(r.Number)
		ms = append(ms,
			move{"renew", k, func(w *world) { w.renew(r) }},
			move{"done", k, func(w *world) { w.end(r, series.RunDone) }},
			move{"never started", k, func(w *world) { w.end(r, series.RunUnstarted) }},
			move{"given back", k, func(w *world) { w.end(r, series.RunGivenBack) }})
	}
	return ms
}

var policies = []policy{
	{overlap: series.OverlapSkip, attempts: 1, deadline: interval * time.Millisecond},
	{overlap: series.OverlapSkip, rerun: true, attempts: 2, deadline: 3 * interval * time.Millisecond},
	{overlap: series.OverlapQueue, rerun: true, attempts: 3, deadline: 10 * interval * time.Millisecond},
	{overlap: series.OverlapQueue, attempts: 2, deadline: interval * time.Millisecond},
	{overlap: series.OverlapAllow, rerun: true, attempts: 2, deadline: 3 * interval * time.Millisecond},
	{overlap: series.OverlapReplace, rerun: true, attempts: 3, deadline: 10 * interval * time.Millisecond},
	{overlap: series.OverlapSkip, rerun: true, attempts: 3, deadline: 10 * interval * time.Millisecond, backlog: true},
}

// Every sequence of a few moves, over a few numbers, keeps the invariants.
func TestEverySequence(t *testing.T) {
	depth := 7
	if os.Getenv("CRONCE_SOAK") != "" {
		depth = 8
	}
	for _, p := range policies {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			s := search{t: t, seed: maphash.MakeSeed(), seen: make(map[uint64]int)}
			s.from(newWorld(p), depth, nil)
			t.Logf("%d states", len(s.seen))
		})
		t.Run("steered, "+p.String(), func(t *testing.T) {
			t.Parallel()
			s := search{t: t, seed: maphash.MakeSeed(), seen: make(map[uint64]int)}
			w := newWorld(p)
			w.requests, w.skips = 1, 1
			s.from(w, depth-2, nil)
			t.Logf("%d states", len(s.seen))
		})
	}
}

// A step is a move that was made.
type step struct {
	what string
	k    int
}

// A search tries each move in each world, once.
type search struct {
	t    *testing.T
	seed maphash.Seed
	seen map[uint64]int // how deep the search went on from a world
}

func (s *search) from(w *world, depth int, path []step) {
	if fault := w.check(); fault != "" {
		s.t.Fatalf("%s\nafter %v\n%+v", fault, path, w.State)
	}
	key := maphash.Comparable(s.seed, w.key())
	if depth <= s.seen[key] {
		return
	}
	s.seen[key] = depth
	for _, m := range moves(w, 3, 2) {
		next := w.clone()
		m.do(next)
		s.from(next, depth-1, append(slices.Clip(path), step{m.what, m.k}))
	}
}

// Long random sequences keep the invariants, also when the nodes disagree on
// the policies, as they do while a new version is rolled out.
func TestLongSequences(t *testing.T) {
	worlds := 800
	if os.Getenv("CRONCE_SOAK") != "" {
		worlds = 20_000
	}
	seed := rand.Uint64()
	for n := range worlds {
		long(t, seed, uint64(n), 120)
	}
}

func long(t *testing.T, seed, world uint64, steps int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, world))
	draw := func() policy { return policies[r.IntN(len(policies))] }
	mixed := r.IntN(2) == 0
	w := newWorld(draw())
	w.requests, w.skips = 3, 3
	var path []step
	for range steps {
		if mixed {
			w.policy = draw() // of this request
		}
		ms := moves(w, maxTicks, keptLeases)
		m := ms[r.IntN(len(ms))]
		path = append(path, step{m.what, m.k})
		m.do(w)
		if fault := w.check(); fault != "" {
			t.Fatalf("seed %d, world %d: %s\nafter %v\n%+v", seed, world, fault, path, w.State)
		}
	}
}
