package sqllock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/sqllock"
)

// While the holder keeps the key, the owners of a process that wait for it send one
// statement per second at most, however many they are. They are counted where they are
// sent, once the waiters have become calm.
func TestIdleWaiters(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		holder := driver(t, on.connect(t), on.dialect, sqllock.Options{})
		_, err := holder.Acquire(t.Context(), lock.Acquisition{Key: "key", Owner: "holder/1", TTL: time.Hour})
		must(t, err)
		db, sent := on.lossyOn(t)
		d := driver(t, db, on.dialect, sqllock.Options{})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		const waiters = 5
		for i := range waiters {
			wg.Go(func() {
				_, _ = d.Wait(ctx, lock.Acquisition{Key: "key", Owner: fmt.Sprint("n/", i), TTL: minute}) // it ends with the context
			})
		}
		eventually(t, "they wait", func() bool {
			at, err := holder.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == waiters
		})
		<-time.After(5 * time.Second) // the pace of the looks has become the slowest
		before := sent.calls.Load()
		const window = 5 * time.Second
		<-time.After(window)
		if n := before - sent.calls.Load(); n > int64(window.Seconds())+1 {
			t.Errorf("%d waiters sent %d statements in %v", waiters, n, window)
		}
	})
}
