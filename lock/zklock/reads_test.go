package zklock_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/lock/zklock"
)

// While a queue is read, others request it: they share the next read, which begins after their requests.
func TestReadsBeginAfterTheirRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r zklock.Reads
		var begun int64 // reads of one queue never overlap
		read := func() int64 {
			begun++
			return begun
		}
		proceed := make(chan struct{})
		var all sync.WaitGroup
		share := func(want int64, read func() int64) {
			all.Go(func() {
				if got := r.Share(read); got != want {
					t.Errorf("read %d is returned, want %d", got, want)
				}
			})
			synctest.Wait()
		}
		share(1, func() int64 {
			n := read()
			<-proceed
			return n
		})
		for range 3 {
			share(2, read)
		}
		close(proceed)
		all.Wait()
		share(3, read)
		all.Wait()
	})
}
