package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// alone is longer than any test: a majority is left alone for good.
const alone = time.Hour

// take takes a key that is free, and does not wait for servers that the grant
// did not wait for.
func take(t *testing.T, d *redlock.Driver, a driver.Acquisition) driver.LeaseRef {
	t.Helper()
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	return driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}
}

// A lease that is released soon is the work of three of five servers. The others
// never hear of it; all five have their share of keys that they are asked for
// first, and everybody asks the same for one key.
func TestShortSectionAsksMajority(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "short", NodeTimeout: slow})
	turned := newDriver(t, []redis.UniversalClient{cs[3], cs[1], cs[4], cs[0], cs[2]}, redlock.Options{Namespace: "short", NodeTimeout: slow})
	d.AskRestAfter(alone)
	turned.AskRestAfter(alone)
	d.Warm(t.Context())
	turned.Warm(t.Context())
	gates := gated(cs)
	share := make(map[redis.UniversalClient]int)
	for i := range 50 {
		key := "key-" + strconv.Itoa(i)
		must(t, d.Release(t.Context(), take(t, d, asking(key, time.Minute))))
		d.Settle()
		must(t, turned.Release(t.Context(), take(t, turned, asking(key, time.Minute))))
		turned.Settle()
		if n := gates.asked(); n != 4*3 {
			t.Fatalf("%s: %d requests for two leases, want 3 each and 3 for each release", key, n)
		}
		first, rest := d.First(key)
		for _, c := range rest {
			if n := c.Exists(t.Context(), redlock.Key("short", key), redlock.BackKey("short", key)).Val(); n != 0 {
				t.Errorf("%s: a server that need not know remembers it", key)
			}
		}
		for _, c := range first {
			share[c]++
		}
		gates.asked()
	}
	for _, c := range cs {
		if share[c] < 10 {
			t.Errorf("a server is asked first for %d of 50 keys", share[c])
		}
	}
}

// A lease that is held is soon known to all servers, with one fence, without a
// renewal.
func TestHeldLeaseIsToldToAll(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "told", NodeTimeout: slow})
	h := take(t, d, asking("key", time.Minute))
	until(t, "all have one fence", func() bool {
		for _, c := range cs {
			if redlock.Fence(c, "told", "key") != h.Fence {
				return false
			}
		}
		return votes(cs, "told", "key") == 5
	})
	must(t, d.Release(t.Context(), h))
	d.Settle()
	if n := votes(cs, "told", "key"); n != 0 {
		t.Errorf("%d votes are left", n)
	}
}

// What tells a server of a lease arrives after the lease was released there, and
// after another owner's was given back, which is all that the server remembers: it
// is released once more.
func TestTellingIsLate(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "late", NodeTimeout: slow})
	d.Warm(t.Context())
	d.AskRestAfter(time.Second) // else a slow answer of the first has the rest asked, and nobody told
	_, rest := d.First("key")
	late := &late{goes: make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(late.goes) })
	t.Cleanup(goOn)
	rest[0].AddHook(late)
	h := take(t, d, asking("key", time.Minute))
	until(t, "it is told", late.began.Load)
	must(t, d.Release(t.Context(), h))
	last := func() string { return rest[0].Get(t.Context(), redlock.BackKey("late", "key")).Val() }
	until(t, "it is released there", func() bool { return strings.HasSuffix(last(), h.Owner) })
	must(t, rest[0].Set(t.Context(), redlock.BackKey("late", "key"), redlock.State(0, 1, time.Minute, "other/1"), time.Minute).Err())
	goOn()
	until(t, "it is given and released there", func() bool { return strings.HasSuffix(last(), h.Owner) && votes(cs, "late", "key") == 0 })
	d.Settle()
}

// A late hook lets requests that tell of a lease wait.
type late struct {
	began atomic.Bool
	goes  chan struct{} // closed: it waits no more
}

func (l *late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == redlock.PutHash() {
			l.began.Store(true)
			<-l.goes
		}
		return next(ctx, cmd)
	}
}

func (l *late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A renewal tells all, and so does a grant that is asked for again.
func TestRenewalTellsAll(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "all", NodeTimeout: slow})
	d.AskRestAfter(alone)
	d.Warm(t.Context())
	h := take(t, d, asking("key", time.Minute))
	if n := votes(cs, "all", "key"); n != 3 {
		t.Errorf("%d votes, want 3", n)
	}
	_, err := d.Renew(t.Context(), h)
	must(t, err)
	if n := votes(cs, "all", "key"); n != 5 {
		t.Errorf("after a renewal %d votes, want 5", n)
	}
	waitOn(t, cs, 2*time.Millisecond)
	a := driver.Acquisition{Key: h.Key, Owner: h.Owner, TTL: h.TTL}
	h = take(t, d, a)
	must(t, d.Release(t.Context(), h))
	d.Settle()
	if n := votes(cs, "all", "key"); n != 0 {
		t.Errorf("%d votes are left of a lease that was asked for twice", n)
	}
}

// An owner asks again while the rest is still to be told of its grant: the rest is
// told at once, and the release asks it as well.
func TestAskedAgainBeforeRestIsTold(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "twice", NodeTimeout: slow})
	d.AskRestAfter(alone)
	a := asking("key", time.Minute)
	a.Fence = anHourAhead()
	take(t, d, a)
	waitOn(t, cs, 2*time.Millisecond)
	h := take(t, d, driver.Acquisition{Key: a.Key, Owner: a.Owner, TTL: a.TTL})
	until(t, "all are told", func() bool { return votes(cs, "twice", "key") == 5 })
	must(t, d.Release(t.Context(), h))
	until(t, "released", func() bool { return votes(cs, "twice", "key") == 0 })
}

// One of the first refuses, or fails, or says another fence: the rest is asked at
// once, and not after some time.
func TestDisagreementAsksRest(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "rest", NodeTimeout: slow})
	d.AskRestAfter(alone)
	first, _ := d.First("key")
	gate := gated(first[:1])[0]
	state := redlock.Key("rest", "key")
	for _, c := range []struct {
		name    string
		disturb func()
		end     func()
		votes   int
	}{
		{"fails", func() { gate.shut.Store(true) }, func() { gate.shut.Store(false) }, 4},
		{"refuses", func() {
			theirs := redlock.State(1, 1, 0, "other/1")
			must(t, first[1].Set(t.Context(), state, theirs, time.Minute).Err())
		}, func() { must(t, first[1].Del(t.Context(), state).Err()) }, 5},
		{"says another fence", func() {
			must(t, first[2].Set(t.Context(), redlock.BackKey("rest", "key"), redlock.State(anHourAhead(), 1, time.Minute, "other/1"), time.Minute).Err())
		}, func() {}, 5},
	} {
		c.disturb()
		began := time.Now()
		_, h := acquire(t, d, asking("key", time.Minute))
		if took := time.Since(began); took > slow/4 {
			t.Errorf("%s: it took %v", c.name, took)
		}
		if n := votes(cs, "rest", "key"); n != c.votes {
			t.Errorf("%s: %d votes, want %d", c.name, n, c.votes)
		}
		c.end()
		must(t, d.Release(t.Context(), h))
		until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "rest", "key") == 0 })
	}
}

// Those that were asked first all say the same other owner: nobody else is asked.
func TestRefusedByMajority(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	d.AskRestAfter(alone)
	d.Warm(t.Context())
	take(t, d, asking("key", time.Minute))
	gates := gated(cs)
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	if held, ok := errors.AsType[*driver.HeldError](err); !ok || held.Left < 50*time.Second {
		t.Errorf("the error is %v, want a *lock.HeldError", err)
	}
	if n := gates.asked(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// One server is silent and no majority of the others says one fence: the highest is
// written to them, and the silent one, which might have decided, is not waited for.
func TestSilenceDoesNotDecideFence(t *testing.T) {
	t.Parallel()
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "fences", NodeTimeout: slow})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	d.Warm(t.Context())
	far := anHourAhead()
	for i, last := range []int64{far, far, far + 7, far + 7, far + 9} {
		must(t, cs[i].Set(t.Context(), redlock.BackKey("fences", "key"), redlock.State(last, 1, time.Minute, "gone/1"), time.Minute).Err())
	}
	signal(syscall.SIGSTOP, all[4])
	began := time.Now()
	g, err := d.Acquire(t.Context(), asking("key", time.Minute))
	must(t, err)
	if took := time.Since(began); took > slow/4 {
		t.Errorf("it took %v", took)
	}
	if want := far + 8; g.Fence != want {
		t.Errorf("the fence is %d, want %d", g.Fence, want)
	}
}

// One of the first is silent: the rest is asked long before the time of a server
// is over, and while it is silent, others are asked first.
func TestSilenceAsksRest(t *testing.T) {
	t.Parallel()
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "silence", NodeTimeout: nodeTimeout})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	for i := range 5 { // connections stand, so that requests reach the stopped
		_, h := acquire(t, d, asking("warm"+strconv.Itoa(i), time.Minute))
		must(t, d.Release(t.Context(), h))
	}
	d.Settle()
	first, _ := d.First("key")
	stopped := byClient(all, cs, first[1])
	signal(syscall.SIGSTOP, stopped)
	within(t, proof.NewMeter(t), "acquire and release", nodeTimeout+busy, func() { must(t, d.Release(t.Context(), take(t, d, asking("key", time.Minute)))) })
	until(t, "another is asked first", func() bool {
		now, _ := d.First("key")
		return len(now) == 3 && !slices.Contains(now, first[1])
	})
	signal(syscall.SIGCONT, stopped)
	until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "silence", "key") == 0 })
	if now, _ := d.First("key"); now[1] != first[1] {
		t.Error("the server answers, and is not asked first again")
	}
}

func byClient(all []*redisserver.Server, cs []redis.UniversalClient, c redis.UniversalClient) *redisserver.Server {
	for i := range cs {
		if cs[i] == c {
			return all[i]
		}
	}
	return nil
}

// Leases are released about when the rest is told of them. Nothing is left of any,
// on any server.
func TestReleasedWhileRestIsTold(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "while", NodeTimeout: slow})
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = "key-" + strconv.Itoa(i)
		h := take(t, d, asking(keys[i], time.Minute))
		if pause := rand.N(2 * time.Millisecond); i%4 > 0 {
			<-time.After(pause)
		}
		must(t, d.Release(t.Context(), h))
	}
	if n := d.Untold(); n != 0 {
		t.Errorf("%d leases that are released will be told", n)
	}
	until(t, "nothing is under way", func() bool { d.Settle(); return d.Goroutines() == 0 })
	for _, key := range keys {
		if n := votes(cs, "while", key); n != 0 {
			t.Errorf("%s: %d votes are left", key, n)
		}
	}
}

// The Driver is closed before the rest was told: nobody will be.
func TestCloseTellsNobody(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "closed", NodeTimeout: slow})
	d.AskRestAfter(alone)
	d.Warm(t.Context())
	take(t, d, asking("key", time.Minute))
	must(t, d.Close())
	if n := d.Untold(); n != 0 || votes(cs, "closed", "key") != 3 {
		t.Errorf("%d leases to tell, %d votes: want none, and the 3 of the grant", n, votes(cs, "closed", "key"))
	}
}

// Servers lose a lease one after the other, and get it again with the renewal that
// follows: each has it from another request of its owner. They say one lease all
// the same, so the key is held and not in doubt.
func TestHeldAfterRestarts(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "restarts", NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	for i := range cs {
		must(t, cs[i].FlushAll(t.Context()).Err())
		_, err := d.Renew(t.Context(), h)
		must(t, err)
		if n := votes(cs, "restarts", "key"); n != 3 {
			t.Fatalf("after the restart of server %d the lease is on %d servers", i, n)
		}
	}
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	if held, is := errors.AsType[*driver.HeldError](err); !is || held.Left <= 0 {
		t.Errorf("the key that all servers say another has: %v, want a *lock.HeldError", err)
	}
	must(t, d.Release(t.Context(), h))
}

// Servers forget a lease. Its release says so if the others that had it are
// no majority: another owner may have had the key. Asked again it is released.
func TestReleaseOfForgottenVotes(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	for name, c := range map[string]struct {
		told   bool // the third server too
		forget int  // how many of the first two
		want   error
	}{
		"none":           {false, 0, nil},
		"one, all told":  {true, 1, nil},
		"both, all told": {true, 2, driver.ErrForgotten},
		"both":           {false, 2, driver.ErrForgotten},
		"one":            {false, 1, driver.ErrForgotten}, // with the one that was never asked it is a majority
		"none, all told": {true, 0, nil},
	} {
		namespace := fresh()
		d := newDriver(t, cs, redlock.Options{Namespace: namespace, NodeTimeout: slow})
		d.AskRestAfter(alone)
		if c.told {
			d.AskRestAfter(0)
		}
		d.Warm(t.Context())
		h := take(t, d, asking("key", time.Minute))
		first, _ := d.First("key")
		if c.told {
			until(t, "all are told", func() bool { return votes(cs, namespace, "key") == 3 })
		}
		for _, one := range first[:c.forget] {
			must(t, one.Del(t.Context(), redlock.Key(namespace, "key")).Err())
		}
		if err := d.Release(t.Context(), h); !errors.Is(err, c.want) {
			t.Errorf("%s: the release says %v, want %v", name, err, c.want)
		}
		// The first answer may have decided: a server that the other request has not reached
		// yet, and the one that was never asked, know of no release.
		until(t, "asked again it is released", func() bool {
			err := d.Release(t.Context(), h)
			if err != nil && !errors.Is(err, driver.ErrForgotten) {
				t.Fatalf("%s: asked again: %v", name, err)
			}
			return err == nil
		})
	}
}
