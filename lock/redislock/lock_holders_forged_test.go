package redislock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// If very many owners share a lock, a step reads only a bounded number of holders, even if their
// hash has other fields. A forced unlock of more holders is refused, and takes none.
func TestManyHolders(t *testing.T) {
	t.Parallel()
	const most = 10_000
	raw := client(t, redisserver.Start(t).Addr(), patiently) // it is the step that is bounded, not its time on a busy machine
	d := newDriver(t, raw, redislock.Options{})
	a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute, Limit: driver.NoLimit}
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	add := func(from, to int, ends bool) {
		t.Helper()
		till := time.Now().Add(time.Minute).UnixMilli()
		_, err := raw.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := from; i < to; i++ {
				owner := fmt.Sprint("forged/", i)
				pipe.HSet(t.Context(), "cronce:v1:h:{key}", owner, fmt.Sprintf("%d|%d|2147483647|", g.Fence, till))
				if ends {
					pipe.ZAdd(t.Context(), "cronce:v1:e:{key}", redis.Z{Score: float64(till), Member: owner})
					pipe.ZAdd(t.Context(), "cronce:v1:m:{key}", redis.Z{Score: driver.NoLimit, Member: owner})
				}
			}
			return nil
		})
		must(t, err)
	}
	force := func(id string) (driver.ForceRecord, error) {
		return d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: id, By: "alice", Reason: "gone"})
	}
	add(0, 3*most, false) // in the hash alone
	add(0, most, true)    // and this owner: one more than a step takes
	if _, err := force("1"); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("an unlock of %d holders: %v, want lock.ErrUnsupported", most+1, err)
	}
	_, err = d.Renew(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence, TTL: time.Minute, Limit: a.Limit})
	must(t, err)
	all, err := d.Holders(t.Context(), "key")
	must(t, err)
	if len(all) != most {
		t.Errorf("%d holders are returned, want %d", len(all), most)
	}
	writer := driver.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Barge: true}
	if _, err := d.Acquire(t.Context(), writer); !isHeld(err) {
		t.Errorf("a writer beside them: %v", err)
	}
	must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "forged/0", Limit: driver.NoLimit}))
	made, err := force("2")
	must(t, err)
	if made.Holders != most {
		t.Errorf("the record is of %d holders, want %d", made.Holders, most)
	}
	if stats := raw.Info(t.Context(), "commandstats").Val(); strings.Contains(stats, "cmdstat_hgetall:") {
		t.Errorf("a whole hash was read: %s", stats)
	}
}

func isHeld(err error) bool {
	_, held := errors.AsType[*driver.HeldError](err)
	return held
}
