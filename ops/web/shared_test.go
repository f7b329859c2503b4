package web

import (
	"sync"
	"sync/atomic"
	"testing"

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
