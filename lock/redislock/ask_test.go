package redislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// open registers series and returns the number just after their marks, which is due.
func open(t testing.TB, d *redislock.Driver, c redis.UniversalClient, keys ...string) (due int64) {
	t.Helper()
	os := make([]series.OpenRequest, len(keys))
	for i, key := range keys {
		os[i] = series.OpenRequest{Key: key, Node: "opener", Revision: "r1", Spec: "* * * * *", Zone: "UTC"}
	}
	for _, s := range d.Open(t.Context(), os) {
		must(t, s.Err)
		due = max(due, s.Mark+1)
	}
	waitOn(t, c, 2*time.Millisecond)
	return due
}

// claimOf asks for a number and is refused for no reason of its own.
func claimOf(key, owner string, number int64) series.Claim {
	return series.Claim{Key: key, Owner: owner, Number: number, TTL: time.Minute, Deadline: time.Hour, Attempts: 3,
		Window: time.Hour, Latest: driver.MaxNumber, Revision: "r1"}
}

func claim(t testing.TB, d *redislock.Driver, c series.Claim, want series.Kind) series.Answer {
	t.Helper()
	a := d.Claim(t.Context(), []series.Claim{c})[0]
	if a.Err != nil || a.Kind != want {
		t.Fatalf("claim of %q %d by %s: %+v, want kind %d", c.Key, c.Number, c.Owner, a, want)
	}
	return a
}

func runOf(c series.Claim, a series.Answer) series.RunRef {
	return series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
}

func acquire(t testing.TB, d *redislock.Driver, key, owner string) driver.LeaseRef {
	t.Helper()
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute})
	must(t, err)
	return driver.LeaseRef{Key: key, Owner: owner, Fence: g.Fence, TTL: time.Minute}
}
