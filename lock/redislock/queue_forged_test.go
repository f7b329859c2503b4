package redislock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// A queue that was tampered with, however long it is, holds the server up for little,
// and shrinks.
func TestForgedQueue(t *testing.T) {
	t.Parallel()
	const many = 100_000
	for name, c := range map[string]struct {
		form         string // of a place
		held, waiter int    // limits
	}{
		"alone":                 {"+gone%d|owner", 1, 1},
		"readers":               {"+gone%d|owner|2147483647", 1, lock.NoLimit},
		"writers beside reader": {"+gone%d|owner", lock.NoLimit, lock.NoLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := redisserver.Start(t).Addr()
			d, raw := driver(t, client(t, addr), redislock.Options{}), client(t, addr)
			a := lock.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute, Limit: c.held}
			g, err := d.Acquire(t.Context(), a)
			must(t, err)
			all := make([]any, many)
			for i := range all {
				all[i] = fmt.Sprintf(c.form, i)
			}
			for some := range slices.Chunk(all, 10_000) {
				must(t, raw.RPush(t.Context(), "cronce:v1:q:{key}", some...).Err())
			}
			must(t, raw.ConfigResetStat(t.Context()).Err())
			_, _ = d.Acquire(t.Context(), lock.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Limit: c.waiter}) // held, or not
			must(t, d.Release(t.Context(), lock.Holding{Key: "key", Owner: a.Owner, Fence: g.Fence, Limit: a.Limit}))
			if n := published(raw.Info(t.Context(), "commandstats").Val()); n > 4*2001 {
				t.Errorf("%d inboxes were told", n)
			}
			left := raw.LLen(t.Context(), "cronce:v1:q:{key}").Val()
			if left >= many || left < many-4*2001 {
				t.Errorf("%d of %d places are left", left, many)
			}
		})
	}
}

// published is how often a server was asked to publish something.
func published(stats string) (n int) {
	for line := range strings.Lines(stats) {
		if _, err := fmt.Sscanf(line, "cmdstat_publish:calls=%d", &n); err == nil {
			return n
		}
	}
	return 0
}
