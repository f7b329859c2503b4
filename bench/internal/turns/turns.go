// Package turns lets callers take turns on one key and reports how fair and how fast the turns
// were.
package turns

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/bench/internal/measure"
)

// section is how long each caller holds the key.
const section = time.Millisecond

// A Hold is one turn.
type Hold struct {
	Caller int
	From   int64 // Unix ns, right after the key was granted
	To     int64 // right before it was released
	Waited time.Duration
}

// A Record holds the observations of some callers.
type Record struct {
	Holds   []Hold
	Waiting []time.Duration // waits that were not over when the window closed
}

// Add merges another record into this one.
func (r *Record) Add(other Record) {
	r.Holds = append(r.Holds, other.Holds...)
	r.Waiting = append(r.Waiting, other.Waiting...)
}

// An Acquire waits for a key and returns the function that frees it.
type Acquire func(ctx context.Context, key string) (release func(context.Context) error, err error)

// Take lets callers, numbered from first, compete for a key from begin on, until the window closes.
func Take(ctx context.Context, acquire Acquire, first, callers int, begin time.Time, window time.Duration) (Record, error) {
	measure.Pause(ctx, time.Until(begin))
	life, stop := context.WithDeadline(ctx, begin.Add(window))
	defer stop()
	var mu sync.Mutex
	var all Record
	var failed error
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			r, err := fight(ctx, life, acquire, first+i)
			mu.Lock()
			defer mu.Unlock()
			all.Add(r)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return all, failed
}

// fight is the work of one caller.
func fight(ctx, life context.Context, acquire Acquire, caller int) (r Record, err error) {
	for life.Err() == nil {
		asked := time.Now()
		release, err := acquire(life, "hot")
		got := time.Now()
		if err != nil {
			if life.Err() != nil {
				r.Waiting = append(r.Waiting, got.Sub(asked))
				return r, nil
			}
			return r, err
		}
		measure.Pause(ctx, section)
		h := Hold{caller, got.UnixNano(), time.Now().UnixNano(), got.Sub(asked)}
		if err := release(ctx); err != nil {
			return r, errors.Join(err, ctx.Err())
		}
		r.Holds = append(r.Holds, h)
	}
	return r, nil
}

// A Summary evaluates a Record.
type Summary struct {
	Sections float64       // turns per second
	Changes  float64       // per second, turns whose caller is not the caller of the turn before
	P99, Max time.Duration // of the waits, including waits that were cut off by the end
	Spread   float64       // the largest relative deviation of a caller's turns from the mean
	Overlaps int           // turns that began before the turn before them was over
}

// Summary evaluates the record of a number of callers in a window.
func (r *Record) Summary(callers int, window time.Duration) Summary {
	slices.SortFunc(r.Holds, func(a, b Hold) int { return cmp.Compare(a.From, b.From) })
	waits := slices.Clone(r.Waiting)
	turns := make(map[int]int, callers)
	s := Summary{Sections: float64(len(r.Holds)) / window.Seconds()}
	changes := 0
	for i, h := range r.Holds {
		waits = append(waits, h.Waited)
		turns[h.Caller]++
		if i == 0 {
			continue
		}
		if h.Caller != r.Holds[i-1].Caller {
			changes++
		}
		if h.From < r.Holds[i-1].To {
			s.Overlaps++
		}
	}
	slices.Sort(waits)
	s.Changes = float64(changes) / window.Seconds()
	s.P99, s.Max = measure.Percentile(waits, 0.99), measure.Percentile(waits, 1)
	s.Spread = spread(turns, callers, len(r.Holds))
	return s
}

func spread(turns map[int]int, callers, all int) (most float64) {
	if len(turns) < callers {
		return 1 // some caller had no turn
	}
	mean := float64(all) / float64(callers)
	for _, n := range turns {
		most = max(most, math.Abs(float64(n)-mean)/mean)
	}
	return most
}
