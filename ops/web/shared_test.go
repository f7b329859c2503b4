package web

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/ops"
)

// However many callers see a snapshot, a part is made once for it, and anew for the next one.
func TestSharedPartIsMadeOnce(t *testing.T) {
	var p shared[*ops.Snapshot]
	var made atomic.Int32
	for n := range int32(3) {
		s := new(ops.Snapshot)
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				if got := p.from(s, func(s *ops.Snapshot) *ops.Snapshot { made.Add(1); return s }); got != s {
					t.Error("a caller got the part of another snapshot")
				}
			})
		}
		callers.Wait()
		if made.Load() != n+1 {
			t.Errorf("made %d times for %d snapshots", made.Load(), n+1)
		}
	}
}

// A part that may be some seconds old is made anew once it is, and at once if the store falls silent or its clock goes back.
func TestSharedPartRests(t *testing.T) {
	t.Parallel()
	var p shared[int]
	made := 0
	at := func(seconds int, down string) *ops.Snapshot {
		return &ops.Snapshot{AsOf: time.Unix(int64(1000+seconds), 0), Down: down}
	}
	for i, c := range []struct {
		s    *ops.Snapshot
		want int
	}{{at(0, ""), 1}, {at(1, ""), 1}, {at(2, ""), 1}, {at(3, ""), 2}, {at(4, "silent"), 3}, {at(5, "silent"), 3}, {at(6, ""), 4}, {at(5, ""), 5}, {at(6, ""), 5}} {
		p.lately(c.s, 3*time.Second, func(*ops.Snapshot) int { made++; return made })
		if made != c.want {
			t.Errorf("snapshot %d: made %d times, want %d", i, made, c.want)
		}
	}
}
