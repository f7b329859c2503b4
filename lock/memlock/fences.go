package memlock

import (
	"maps"

	"github.com/cronce/cronce/lock/driver"
)

// fences makes the fences of plain leases grow. One counter serves all keys: it is
// never below the clock, and goes on when the clock steps back. It is lifted by no
// asker: a fence that an asker has seen ahead of it concerns one key, and is kept for
// that key until the counter has passed it.
type fences struct {
	last    int64            // the highest of the counter
	ahead   map[string]int64 // the last fence of each key for which that is above it
	sweepAt int              // how many of these there must be to look for those that were passed
}

// next is the fence of a grant at now, in µs, above those of its key and the one that
// its asker has seen. Nothing is granted yet.
func (f *fences) next(a *driver.Acquisition, now int64) int64 {
	return max(f.last+1, now, f.ahead[a.Key]+1, a.Fence+1)
}

// take is next, which is granted.
func (f *fences) take(a *driver.Acquisition, now int64) int64 {
	fence := f.next(a, now)
	f.last = max(f.last+1, now)
	if fence == f.last {
		delete(f.ahead, a.Key)
		return fence
	}
	if len(f.ahead) >= max(f.sweepAt, minSweep) {
		maps.DeleteFunc(f.ahead, func(_ string, fence int64) bool { return fence <= f.last })
		f.sweepAt = 2 * len(f.ahead)
	}
	if f.ahead == nil {
		f.ahead = make(map[string]int64)
	}
	f.ahead[a.Key] = fence
	return fence
}
