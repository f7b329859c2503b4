package redislock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// eachServer runs a test on the simulated server and on the real one.
func eachServer(t *testing.T, do func(t *testing.T, c redis.UniversalClient, wait func(time.Duration))) {
	t.Run("simulated", func(t *testing.T) {
		s := simulated(t)
		do(t, client(t, s.Addr()), s.wait)
	})
	t.Run("real", func(t *testing.T) {
		c := client(t, redisserver.Start(t).Addr())
		do(t, c, func(d time.Duration) { waitOn(t, c, d) })
	})
}

// dueAfter opens series and returns a number after their marks, which is due.
func dueAfter(t *testing.T, d *redislock.Driver, wait func(time.Duration), keys []string) (due int64) {
	t.Helper()
	os := make([]lock.Opening, len(keys))
	for i, key := range keys {
		os[i] = lock.Opening{Key: key, Node: "opener", Revision: "r1"}
	}
	for _, s := range d.Open(t.Context(), os) {
		must(t, s.Err)
		due = max(due, s.Mark+1)
	}
	wait(2 * time.Millisecond)
	return due
}

// later is claimOf by a node that expects another to have asked before.
func later(key, owner string, number int64) lock.Claim {
	c := claimOf(key, owner, number)
	c.Later = true
	return c
}

// Of later claims those of decided numbers are answered and the others granted in
// the same call, also by a server that forgot the scripts, over several shards and
// batches, and for numbers that differ.
func TestLaterClaims(t *testing.T) {
	eachServer(t, func(t *testing.T, c redis.UniversalClient, wait func(time.Duration)) {
		for _, shards := range []int{1, 3} {
			d := driver(t, c, redislock.Options{Namespace: fresh(), Shards: shards})
			keys := names(230)
			due := dueAfter(t, d, wait, keys)
			first := make([]lock.Claim, 120)
			for i := range first {
				first[i] = claimOf(keys[i], "a/"+strconv.Itoa(i), due)
			}
			d.Claim(t.Context(), first)
			cs := make([]lock.Claim, len(keys))
			for i, key := range keys {
				cs[i] = later(key, "b/"+strconv.Itoa(i), due)
				if i == 7 {
					cs[i].Number-- // the numbers are not all the same
				}
			}
			must(t, c.ScriptFlush(t.Context()).Err())
			for i, a := range d.Claim(t.Context(), cs) {
				want, node := lock.Passed, "a"
				if i >= len(first) {
					want, node = lock.Granted, "b"
				}
				if i == 7 {
					node = ""
				}
				if a.Kind != want || a.Node != node || a.Number != cs[i].Number || a.Mark != due || a.Err != nil {
					t.Fatalf("%d shards, claim %d: %+v, want kind %d of %q", shards, i, a, want, node)
				}
			}
		}
	})
}

// A peek at decided numbers is one script that writes nothing but its proof, and
// is answered with the run while that is known.
func TestPeekIsOneScript(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job", "other")
	cl := claimOf("job", "a/1", due)
	run := runOf(cl, claim(t, d, cl, lock.Granted))
	claim(t, d, later("job", "b/0", due), lock.Passed) // the server knows the script now
	must(t, c.ConfigResetStat(t.Context()).Err())
	a := claim(t, d, later("job", "b/1", due), lock.Passed)
	if a.State != lock.RunOpen || a.Fence != run.Fence || a.Left <= 0 || a.Now < due {
		t.Errorf("the answer is %+v, want the alive run %+v", a, run)
	}
	if n := calls(t, c, "evalsha"); n != 1 {
		t.Errorf("a peek took %d scripts", n)
	}
	if n := calls(t, c, "hset"); n != 0 {
		t.Errorf("a peek wrote %d times", n)
	}
	claim(t, d, later("other", "b/2", due), lock.Granted)
	if n := calls(t, c, "evalsha"); n != 3 {
		t.Errorf("a peek and then a claim took %d scripts", n-1)
	}
}

// A later claim past its latest instant is judged in full.
func TestPeekPastLatest(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "job")
	claim(t, d, claimOf("job", "a/1", due), lock.Granted)
	cl := later("job", "a/1", due)
	cl.Latest = 1
	claim(t, d, cl, lock.Granted)
	cl = later("job", "b/1", due)
	cl.Latest = 1
	claim(t, d, cl, lock.Expired)
}

// A later claim that cannot be peeked at is doubt, and so is one that a foreign
// key is in the way of; those beside it are answered.
func TestPeekInDoubt(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	due := open(t, d, c, "a", "b")
	claim(t, d, claimOf("a", "n/1", due), lock.Granted)
	must(t, c.Set(t.Context(), "cronce:v1:{cronce.0}:s:b", "foreign", 0).Err())
	as := d.Claim(t.Context(), []lock.Claim{later("b", "n/2", due), later("a", "n/3", due), later("", "n/4", due)})
	if as[0].Kind != lock.Unknown || as[0].Err == nil || !strings.Contains(as[0].Err.Error(), "WRONGTYPE") {
		t.Errorf("the claim of a foreign key: %+v", as[0])
	}
	if as[1].Kind != lock.Passed || as[1].Err != nil {
		t.Errorf("the claim beside: %+v", as[1])
	}
	if as[2].Err == nil {
		t.Errorf("the bad claim: %+v", as[2])
	}
}
