package measure

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Watch pings a server until the returned function is called, which returns the longest time for
// which the server or the machine stood still: a tick that was missed during that time is not
// evidence against the scheduler.
func Watch(ctx context.Context, addr string) (end func() time.Duration) {
	ctx, stop := context.WithCancel(ctx)
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	var wg sync.WaitGroup
	var longest time.Duration
	wg.Go(func() {
		for began := time.Now(); Pause(ctx, watchEvery); began = time.Now() {
			_ = client.Ping(ctx).Err() // only the duration matters
			longest = max(longest, time.Since(began)-watchEvery)
		}
	})
	return func() time.Duration {
		stop()
		wg.Wait()
		_ = client.Close()
		return longest
	}
}

const watchEvery = 25 * time.Millisecond
