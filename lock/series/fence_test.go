package series_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A fenceWorld is one series in which two nodes claim one number, one after the other, on a store
// that may fail over to the data of a replica, under a clock that is behind, and whose fence may be
// forged. Each node claims with the fence that it saw last.
type fenceWorld struct {
	store, replica series.State
	us             int64
	number         int64
	seen           [2]int64
	real           int64 // the fence of the store before it was forged; 0: it is not
	fault          string
}

const (
	fenceStep   = interval * 1000 // µs
	fenceBehind = 5 * fenceStep   // of the replica's clock
	fenceDay    = int64(24 * time.Hour / time.Microsecond)
)

func newFenceWorld() *fenceWorld {
	w := &fenceWorld{us: 1_000_000 * 1000}
	w.store.Open(w.us, &series.OpenRequest{Key: "job", Node: "n"}, new(tape))
	w.number = w.store.Mark
	w.replica = cloned(&w.store)
	return w
}

func cloned(s *series.State) series.State {
	c := *s
	c.Runs = slices.Clone(s.Runs)
	return c
}

var fenceMoves = []struct {
	what string
	do   func(w *fenceWorld)
}{
	{"time passes", func(w *fenceWorld) { w.us += fenceStep }},
	{"the first node claims", func(w *fenceWorld) { w.claim(0) }},
	{"the second node claims", func(w *fenceWorld) { w.claim(1) }},
	{"the replica catches up", func(w *fenceWorld) { w.replica = cloned(&w.store) }},
	{"the store fails over", func(w *fenceWorld) { w.store, w.us, w.real = cloned(&w.replica), w.us-fenceBehind, 0 }},
	{"the fence is forged", func(w *fenceWorld) { w.forge(driver.MaxNumber) }},
	{"the fence is forged by a little more than a day", func(w *fenceWorld) { w.forge(w.us + fenceDay) }},
	{"the fence is mended", func(w *fenceWorld) {
		if w.real != 0 {
			w.store.Fence, w.real = w.real, 0
		}
	}},
}

func (w *fenceWorld) forge(fence int64) {
	if w.real == 0 {
		w.store.Fence, w.real = fence, max(w.store.Fence, 1)
	}
}

// claim asks for a number that is due, and ends its run if it is granted.
func (w *fenceWorld) claim(node int) {
	w.us++ // no two steps at one instant
	now := w.us / 1000
	w.number = max(w.number, w.store.Mark, now-1) + 1
	c := series.Claim{Key: "job", Owner: fmt.Sprintf("n%d/%d", node, w.us), Number: w.number, After: w.store.Mark, TTL: time.Minute,
		Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber, Fence: w.seen[node]}
	before, fence := cloned(&w.store), w.store.Fence
	a := w.store.Claim(w.us, &c, new(tape))
	switch {
	case max(fence, c.Fence) >= w.us+fenceDay:
		if a.Kind != series.KindUnknown || !errors.Is(a.Err, driver.ErrFence) || !reflect.DeepEqual(before, w.store) {
			w.broken("with the fence %d at %d the answer is %+v", fence, w.us, a)
		}
	case a.Kind == series.KindEarly, a.Kind == series.KindAhead:
	case a.Kind != series.KindGranted:
		w.broken("number %d at %d, the fence is %d: the answer is %+v", c.Number, w.us, fence, a)
	case a.Fence <= c.Fence, a.Fence <= fence, a.Fence < w.us:
		w.broken("granted with %d at %d, the last fence was %d, the asker had seen %d", a.Fence, w.us, fence, c.Fence)
	case a.Fence > w.us+fenceDay:
		w.broken("granted with %d at %d", a.Fence, w.us)
	default:
		w.seen[node] = a.Fence
		w.store.Release(w.us, &series.EndRequest{RunRef: series.RunRef{Key: "job", Number: c.Number, Owner: c.Owner, Fence: a.Fence}, OK: true}, new(tape))
	}
}

func (w *fenceWorld) broken(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

// In every sequence of a few moves a fence is above the last one and above the fence that the
// caller has seen, also after a failover to a clock that is behind. A forged fence is doubt, is
// learned by no node, and has no effect once it is removed.
func TestEverySequenceOfFences(t *testing.T) {
	const depth = 6
	worlds := 0
	var from func(w *fenceWorld, depth int, path []string)
	from = func(w *fenceWorld, depth int, path []string) {
		worlds++
		if w.fault != "" {
			t.Fatalf("%s\nafter %q", w.fault, path)
		}
		if depth == 0 {
			return
		}
		for _, m := range fenceMoves {
			next := *w
			next.store, next.replica = cloned(&w.store), cloned(&w.replica)
			m.do(&next)
			from(&next, depth-1, append(slices.Clip(path), m.what))
		}
	}
	from(newFenceWorld(), depth, nil)
	t.Logf("%d worlds", worlds)
}
