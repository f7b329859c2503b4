package redislock_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
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
		"readers":               {"+gone%d|owner|2147483647", 1, driver.NoLimit},
		"writers beside reader": {"+gone%d|owner", driver.NoLimit, driver.NoLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := redisserver.Start(t).Addr()
			d, raw := newDriver(t, client(t, addr), redislock.Options{}), client(t, addr)
			a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute, Limit: c.held}
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
			_, _ = d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Limit: c.waiter}) // held, or not
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence, Limit: a.Limit}))
			if n := published(raw.Info(t.Context(), "commandstats").Val()); n > 4*2001 {
				t.Errorf("%d inboxes were notified", n)
			}
			left := raw.LLen(t.Context(), "cronce:v1:q:{key}").Val()
			if left >= many || left < many-4*2001 {
				t.Errorf("%d of %d places are left", left, many)
			}
		})
	}
}

// Holders whose time is over, however many, are forgotten some at a time, and none of them
// for good: the lock is free in the end, also for one of them.
func TestForgedHolders(t *testing.T) {
	t.Parallel()
	const many = 10_000
	for name, c := range map[string]struct {
		alive bool // one holder is
		asker string
		limit int
	}{
		"a reader":                          {true, "n/1", driver.NoLimit},
		"a reader that was one of them":     {true, "o9999", driver.NoLimit},
		"a writer, when none is left":       {false, "n/1", 1},
		"a reader, when none is left":       {false, "n/1", driver.NoLimit},
		"one of them, when none is left":    {false, "o9999", driver.NoLimit},
		"two permits, when three were held": {true, "n/1", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := redisserver.Start(t).Addr()
			d, raw := newDriver(t, client(t, addr), redislock.Options{}), client(t, addr)
			if c.alive {
				_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Limit: driver.NoLimit})
				must(t, err)
			} else {
				must(t, raw.Set(t.Context(), "cronce:v1:l:{key}", "+7", time.Minute).Err())
			}
			must(t, raw.Eval(t.Context(), `for i = 0, ARGV[1] - 1 do
				redis.call('HSET', KEYS[1], 'o' .. i, '7|1000|2147483647|')
				redis.call('ZADD', KEYS[2], 1000, 'o' .. i)
				redis.call('ZADD', KEYS[3], ARGV[2], 'o' .. i)
			end
			return 'OK'`, []string{"cronce:v1:h:{key}", "cronce:v1:e:{key}", "cronce:v1:m:{key}"}, many, driver.NoLimit).Err())
			a := driver.Acquisition{Key: "key", Owner: c.asker, TTL: time.Minute, Limit: c.limit}
			var g driver.Grant
			var err error
			for step := 1; step <= many/2000+1; step++ {
				g, err = d.Acquire(t.Context(), a)
				if _, held := errors.AsType[*driver.HeldError](err); err != nil && !held {
					t.Fatal(err)
				}
				left := raw.ZCard(t.Context(), "cronce:v1:e:{key}").Val()
				if c.alive && left < many-int64(step)*2001 {
					t.Fatalf("%d of %d are left after %d steps", left, many, step)
				}
				if err == nil {
					break
				}
			}
			must(t, err)
			if g.Left < 59*time.Second {
				t.Errorf("granted for %v", g.Left)
			}
			holders, err := d.Holders(t.Context(), "key")
			must(t, err)
			if n := len(slices.DeleteFunc(holders, func(h driver.Holder) bool { return h.Owner != c.asker })); n != 1 {
				t.Errorf("the asker is %d holders", n)
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

// An entry that no lease can have is no holder: its deadline is beyond the longest TTL, and as much
// again for a clock that was put back. A limit below the limits of all holders is no limit. Such
// entries exclude no owner, and are deleted by the next steps.
func TestForgedEnds(t *testing.T) {
	t.Parallel()
	const hour = float64(3_600_000)
	for name, c := range map[string]struct {
		ends  float64 // from now on, in ms
		limit float64 // of each forged holder
		whole bool    // it stands in the hash as well
		many  int
		reads bool // a reader holds the lock, and another is to be granted it
		held  bool // the forged holders look like true ones
	}{
		"for ever":                       {math.Inf(1), driver.NoLimit, false, 1, false, false},
		"for ever, in the hash as well":  {math.Inf(1), driver.NoLimit, true, 1, false, false},
		"for 49 hours":                   {49 * hour, driver.NoLimit, true, 1, false, false},
		"for 47 hours":                   {47 * hour, driver.NoLimit, true, 1, false, true},
		"for ever, thousands":            {math.Inf(1), driver.NoLimit, false, 5000, false, false},
		"for ever, beside a reader":      {math.Inf(1), 2, true, 1, true, false},
		"a limit of no holder":           {math.Inf(-1), 2, false, 1, true, false},
		"limits below all, of no holder": {math.Inf(-1), math.Inf(-1), false, 100, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, raw := realDriver(t, redislock.Options{})
			read := func(owner string) driver.Acquisition {
				return driver.Acquisition{Key: "key", Owner: owner, TTL: time.Minute, Limit: driver.NoLimit}
			}
			g, err := d.Acquire(t.Context(), read("n/1"))
			must(t, err)
			now := float64(time.Now().UnixMilli())
			pipe := raw.Pipeline()
			for i := range c.many {
				owner := fmt.Sprint("forged/", i)
				if !math.IsInf(c.ends, -1) {
					pipe.ZAdd(t.Context(), "cronce:v1:e:{key}", redis.Z{Score: now + c.ends, Member: owner})
				}
				pipe.ZAdd(t.Context(), "cronce:v1:m:{key}", redis.Z{Score: c.limit, Member: owner})
				if c.whole {
					pipe.HSet(t.Context(), "cronce:v1:h:{key}", owner, fmt.Sprintf("7|%.0f|2147483647|", min(now+c.ends, 1<<53)))
				}
			}
			_, err = pipe.Exec(t.Context())
			must(t, err)
			next := read("n/2")
			if !c.reads {
				next.Limit = 1
				must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1", Fence: g.Fence, Limit: driver.NoLimit}))
			}
			_, err = d.Acquire(t.Context(), next)
			for range c.many / 2000 { // so many are forgotten in one step
				if !isHeld(err) {
					break
				}
				_, err = d.Acquire(t.Context(), next)
			}
			if c.held != isHeld(err) || err != nil && !c.held {
				t.Errorf("the next owner: %v", err)
			}
			holders, err := d.Holders(t.Context(), "key")
			must(t, err)
			if n := len(slices.DeleteFunc(holders, func(h driver.Holder) bool { return !strings.HasPrefix(h.Owner, "forged/") })); (n > 0) != c.held {
				t.Errorf("%d forged holders are returned", n)
			}
		})
	}
}
