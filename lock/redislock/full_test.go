package redislock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// fill writes until the server has no memory left.
func fill(t *testing.T, c redis.UniversalClient) {
	t.Helper()
	for size := 100_000; size >= 10; size /= 10 {
		for i := 0; ; i++ {
			err := c.Set(t.Context(), fmt.Sprintf("filler:%d:%d", size, i), strings.Repeat("x", size), 0).Err()
			if err != nil && strings.HasPrefix(err.Error(), "OOM") {
				break
			}
			must(t, err)
		}
	}
	must(t, c.ConfigSet(t.Context(), "maxmemory", "4mb").Err()) // the buffers of this connection become smaller by and by
}

// A server at maxmemory renews, releases, opens, pauses and resumes, because it always accepts the
// first write of those scripts. It remembers the fence of a lock that was freed. New grants are doubt, and requests that only read are still
// answered.
func TestFullServer(t *testing.T) {
	d, c := realDriver(t, redislock.Options{}, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	due := open(t, d, c, "job", "other")
	first := claimOf("job", "a/1", due)
	run := runOf(first, claim(t, d, first, series.KindGranted))
	held := acquire(t, d, "key", "a/1")
	shared := []driver.LeaseRef{shareWith(t, d, "shared", "a/1"), shareWith(t, d, "shared", "a/2")}
	forced := acquire(t, d, "forced", "a/1")
	fill(t, c)

	next := claimOf("other", "b/1", due)
	if a := d.Claim(t.Context(), []series.Claim{next})[0]; a.Kind != series.KindUnknown || a.Err == nil || !strings.Contains(a.Err.Error(), "OOM") {
		t.Errorf("a claim is answered with %+v, want the doubt OOM", a)
	}
	_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "free", Owner: "b/1", TTL: time.Minute})
	if _, refused := errors.AsType[*driver.HeldError](err); err == nil || refused || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("an acquisition ends with %v, want the doubt OOM", err)
	}
	claim(t, d, claimOf("job", "b/2", due), series.KindPassed)
	if r := d.RenewRuns(t.Context(), []series.RunRef{run})[0]; !r.Alive || r.Err != nil {
		t.Errorf("the renewal is answered with %+v", r)
	}
	if e := d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: run, OK: true, Outcome: "ok"}})[0]; !e.Ended || e.Err != nil {
		t.Errorf("the release is answered with %+v", e)
	}
	if _, err := d.Renew(t.Context(), held); err != nil {
		t.Errorf("the renewal of a plain lease: %v", err)
	}
	must(t, d.Release(t.Context(), held))
	if text := c.Get(t.Context(), "cronce:v1:l:{key}").Val(); text != fmt.Sprint(held.Fence) {
		t.Errorf("the server remembers %q of the lock that was freed, want its fence %d", text, held.Fence)
	}
	takesLeases(t, d, append(shared, forced)...)
	for _, c := range []series.Control{
		{Key: "job", Action: series.ActionPause, Op: "1", Who: "ann", Reason: "for the test"}, {Key: "job", Action: series.ActionResume, Op: "2", Who: "ann", Seen: 1},
	} {
		if a := d.Control(t.Context(), c); !a.Made {
			t.Errorf("the %s is answered with %+v", c.Action, a)
		}
	}
	open(t, d, c, "job", "new")
	fill(t, c) // freed memory must not be the reason for the success
	if a := d.Claim(t.Context(), []series.Claim{next})[0]; a.Err == nil {
		t.Errorf("the server was not full: %+v", a)
	}
}

// A server at maxmemory does not refuse a lock that another owner holds, and takes no place in its queue: the answer is doubt.
func TestHeldLockOfAFullServer(t *testing.T) {
	d, c := realDriver(t, redislock.Options{}, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	acquire(t, d, "key", "a/1")
	fill(t, c)
	a := driver.Acquisition{Key: "key", Owner: "b/1", TTL: time.Minute}
	_, err := d.Acquire(t.Context(), a)
	for what, err := range map[string]error{"acquire": err, "wait": d.Abandon(t.Context(), a)} {
		if _, refused := errors.AsType[*driver.HeldError](err); err == nil || refused || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: the answer is %v, want the doubt OOM", what, err)
		}
	}
	if n := c.Exists(t.Context(), "cronce:v1:q:{key}").Val(); n != 0 {
		t.Error("a place was taken")
	}
}

// takesLeases frees the keys of leases by force.
func takesLeases(t *testing.T, d *redislock.Driver, forced ...driver.LeaseRef) {
	t.Helper()
	for i, h := range forced {
		_, err := d.Force(t.Context(), driver.ForceRequest{Key: h.Key, ID: fmt.Sprint("id", i), By: "alice", Reason: "gone", From: h.Fence, To: h.Fence})
		must(t, err)
		if all, err := d.ForceRecords(t.Context(), h.Key); err != nil || len(all) == 0 || all[len(all)-1].Owners[0].Fence != h.Fence {
			t.Errorf("the records of %q are %+v, %v", h.Key, all, err)
		}
		if _, err := d.Renew(t.Context(), h); !errors.Is(err, driver.ErrForced) {
			t.Errorf("the renewal of %q says %v, want lock.ErrForced", h.Key, err)
		}
	}
}

// shareWith holds a key that others may hold as well.
func shareWith(t *testing.T, d *redislock.Driver, key, owner string) driver.LeaseRef {
	t.Helper()
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute, Limit: 9})
	must(t, err)
	return driver.LeaseRef{Key: key, Owner: owner, Fence: g.Fence, TTL: time.Minute, Limit: 9}
}
