package sqllock_test

import (
	"context"
	"fmt"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// While the holders keep the key, a process whose owners wait for it sends at most one statement
// per second, however many they are, whether they wait to hold it alone or beside others, and
// however short the lease of a holder that renews it is. Statements are counted where they are
// sent, once the waiters probe at their slowest pace.
func TestIdleWaiters(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		for name, c := range map[string]struct {
			ttl   time.Duration
			limit int   // the limit of the holder
			wait  []int // the limits of the waiters: all in one process or, if the key is shared, each in its own
		}{
			"alone":                    {time.Hour, 1, []int{1, 1, 1, 1, 1}},
			"a writer between readers": {time.Hour, driver.NoLimit, []int{1, driver.NoLimit}},
			"a short lease":            {800 * time.Millisecond, 1, []int{1}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				idle(t, on, c.ttl, c.limit, c.wait)
			})
		}
	})
}

func idle(t *testing.T, on database, ttl time.Duration, limit int, limits []int) {
	key := path.Base(t.Name())
	holder := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
	g, err := holder.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "holder/1", TTL: ttl, Limit: limit})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		renewal := time.NewTicker(ttl / 6)
		defer renewal.Stop()
		for {
			select {
			case <-renewal.C:
				_, _ = holder.Renew(ctx, driver.LeaseRef{Key: key, Owner: "holder/1", Fence: g.Fence, TTL: ttl, Limit: limit})
			case <-ctx.Done():
				return
			}
		}
	})
	var process *sqllock.Driver
	var sent []*sqlserver.Lossy
	for i, most := range limits {
		if process == nil || limit > 1 {
			db, counted := on.lossyOn(t)
			process, sent = newDriver(t, db, on.dialect, sqllock.Options{}), append(sent, counted)
		}
		d := process
		wg.Go(func() {
			_, _ = d.Wait(ctx, driver.Acquisition{Key: key, Owner: fmt.Sprint("n/", i), TTL: minute, Limit: most}) // Wait ends with the context
		})
		eventually(t, "it waits", func() bool {
			at, err := holder.Inspect(t.Context(), key)
			return err == nil && at.Waiting == i+1
		})
	}
	<-time.After(6 * time.Second) // the probes have reached their slowest pace
	before := make([]int64, len(sent))
	for i := range sent {
		before[i] = sent[i].Calls.Load()
	}
	const window = 10 * time.Second
	<-time.After(window)
	for i := range sent {
		if n := before[i] - sent[i].Calls.Load(); n > int64(window.Seconds())+1 {
			t.Errorf("process %d sent %d statements in %v", i, n, window)
		}
	}
}
