package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A barrier holds lone requests up, so that others are enqueued behind them.
type barrier struct{ open chan struct{} }

func (b *barrier) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *barrier) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-b.open
		return next(ctx, cmd)
	}
}

func (b *barrier) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}

// inOneBatch asks all of these on a server, in this order and in one batch, and
// returns their errors.
func inOneBatch(t *testing.T, addr string, asks ...func(*redislock.Driver) error) []error {
	t.Helper()
	b, d := behindBarrier(t, addr)
	return b.inOneBatch(t, d, asks...)
}

func behindBarrier(t *testing.T, addr string) (*barrier, *redislock.Driver) {
	t.Helper()
	c, b := client(t, addr), new(barrier)
	c.AddHook(b)
	d := newDriver(t, c, redislock.Options{})
	d.NeverLate()
	return b, d
}

func (b *barrier) inOneBatch(t *testing.T, d *redislock.Driver, asks ...func(*redislock.Driver) error) []error {
	t.Helper()
	until(t, "the batches before are complete", func() bool { return d.InFlight() == 0 })
	b.open = make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, len(asks))
	for range 2 { // as many batches as may be in flight
		wg.Go(func() { _, _ = d.Inspect(t.Context(), "other") })
	}
	until(t, "the batches are in flight", func() bool { return d.Enqueued() == 0 && d.InFlight() == 2 })
	for i, ask := range asks {
		wg.Go(func() { errs[i] = ask(d) })
		until(t, "a call more is enqueued", func() bool { return d.Enqueued() == i+1 })
	}
	close(b.open)
	wg.Wait()
	return errs
}

// asking asks for a lock, and fails unless it is granted a fence that is wanted, 0:
// any above the one that the asker has seen.
func asking(t *testing.T, key, owner string, seen, want int64) func(*redislock.Driver) error {
	return func(d *redislock.Driver) error {
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute, Fence: seen})
		if err == nil && (g.Fence <= seen || want != 0 && g.Fence != want || g.Left <= 0 || g.Left > time.Minute) {
			t.Errorf("%s was granted %q as %+v, want the fence %d or one above %d", owner, key, g, want, seen)
		}
		return err
	}
}

func freeing(t *testing.T, h driver.LeaseRef) func(*redislock.Driver) error {
	return func(d *redislock.Driver) error { return d.Release(t.Context(), h) }
}

// verdict is an error in a word.
func verdict(err error) string {
	held, refused := errors.AsType[*driver.HeldError](err)
	switch {
	case err == nil:
		return "yes"
	case refused && held.Left > 0 && held.Left <= time.Minute:
		return "held"
	case errors.Is(err, driver.ErrForgotten):
		return "forgotten"
	case errors.Is(err, driver.ErrLost):
		return "lost"
	case errors.Is(err, driver.ErrFence):
		return "far"
	case strings.Contains(err.Error(), "WRONGTYPE"):
		return "WRONGTYPE"
	}
	return err.Error()
}

func wantVerdicts(t *testing.T, errs []error, want ...string) {
	t.Helper()
	got := make([]string, len(errs))
	for i, err := range errs {
		got[i] = verdict(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the answers are\n%q, want\n%q", got, want)
	}
}

// A call that shares a run of a script is answered as if it had one of its own: the calls
// beside it may be for a key of a foreign type, for a lock that another owner has, that
// others wait for or share, or for the same lock.
func TestBatchAnswersEach(t *testing.T) {
	for name, addr := range map[string]string{"real": redisserver.Start(t).Addr(), "simulated": simulated(t).Addr()} {
		t.Run(name, func(t *testing.T) {
			c := client(t, addr)
			d := newDriver(t, c, redislock.Options{})
			t.Cleanup(func() { must(t, d.Close()) })
			must(t, c.RPush(t.Context(), "cronce:v1:l:{foreign}", "x").Err())
			must(t, c.Set(t.Context(), "cronce:v1:q:{odd-queue}", "x", 0).Err())
			taken, mine := acquire(t, d, "taken", "x/1"), acquire(t, d, "mine", "x/2")
			read, err := d.Acquire(t.Context(), driver.Acquisition{Key: "read", Owner: "x/3", TTL: time.Minute, Limit: driver.NoLimit})
			must(t, err)
			ahead := taken.Fence + int64(time.Hour/time.Microsecond)
			awaited, next := acquire(t, d, "awaited", "x/4"), acquire(t, d, "next", "x/5")
			for _, key := range []string{"awaited", "next"} {
				until(t, "a place", func() bool {
					err := d.Abandon(t.Context(), driver.Acquisition{Key: key, Owner: "w/1", TTL: time.Minute})
					_, held := errors.AsType[*driver.HeldError](err)
					return held
				})
			}
			errs := inOneBatch(t, addr,
				asking(t, "free", "a/1", 0, 0),
				asking(t, "foreign", "a/2", 0, 0),
				asking(t, "taken", "a/3", 0, 0),
				asking(t, "mine", "x/2", 0, mine.Fence), // asks again after a lost reply
				asking(t, "twice", "a/4", 0, 0),
				asking(t, "twice", "a/5", 0, 0),
				asking(t, "read", "a/6", 0, 0),
				asking(t, "odd-queue", "a/7", 0, 0),
				asking(t, "high", "a/8", ahead, ahead+1),
				asking(t, "too-high", "a/8", driver.MaxNumber-1, 0), // no fence is left
				asking(t, "awaited", "a/9", 0, 0),
				asking(t, "last", "a/10", 0, 0),
				asking(t, "read", "x/3", 0, read.Fence), // has it already
			)
			wantVerdicts(t, errs, "yes", "WRONGTYPE", "held", "yes", "yes", "held", "held", "WRONGTYPE", "yes", "far", "held", "yes", "yes")

			unknown := driver.LeaseRef{Key: "last", Owner: "a/10"}
			errs = inOneBatch(t, addr,
				freeing(t, mine),
				freeing(t, mine),
				freeing(t, driver.LeaseRef{Key: "foreign", Owner: "a/2", Fence: 1}),
				freeing(t, driver.LeaseRef{Key: "taken", Owner: "x/1", Fence: taken.Fence - 1}),
				freeing(t, driver.LeaseRef{Key: "taken", Owner: "a/3", Fence: taken.Fence}),
				freeing(t, awaited),
				asking(t, "awaited", "a/9", 0, 0), // a waiter came before it
				freeing(t, next),                  // nobody but a waiter asks
				freeing(t, unknown),
				freeing(t, driver.LeaseRef{Key: "read", Owner: "a/6", Fence: 1}),
				freeing(t, driver.LeaseRef{Key: "nobody's", Owner: "a/1", Fence: 1}),
				asking(t, "fresh", "a/1", 0, 0),
			)
			wantVerdicts(t, errs, "yes", "yes", "WRONGTYPE", "lost", "lost", "yes", "held", "yes", "yes", "lost", "forgotten", "yes")
			for key, owner := range map[string]string{"awaited": "w/1", "next": "w/1", "taken": "x/1", "mine": "", "last": "", "fresh": "a/1"} {
				if at, err := d.Inspect(t.Context(), key); err != nil || at.Owner != owner {
					t.Errorf("%s is of %+v, %v, want %q", key, at, err, owner)
				}
			}
		})
	}
}

// Each owner of a batch has its lock for the time that it asked for; each refusal says for
// how long another has it.
func TestBatchKeepsTimesApart(t *testing.T) {
	s := redisserver.Start(t)
	c := client(t, s.Addr())
	var asks []func(*redislock.Driver) error
	minutes := []time.Duration{3, 1, 2}
	for _, owner := range []string{"a", "b"} {
		for i, m := range minutes {
			asks = append(asks, func(d *redislock.Driver) error {
				_, err := d.Acquire(t.Context(), driver.Acquisition{Key: fmt.Sprint("key-", i), Owner: owner + "/1", TTL: m * time.Minute})
				return err
			})
		}
	}
	errs := inOneBatch(t, s.Addr(), asks...)
	for i, m := range minutes {
		must(t, errs[i])
		least, most := (m-1)*time.Minute, m*time.Minute
		if left := c.PTTL(t.Context(), fmt.Sprintf("cronce:v1:l:{key-%d}", i)).Val(); left <= least || left > most {
			t.Errorf("key %d is kept for %v, want nearly %v", i, left, most)
		}
		held, refused := errors.AsType[*driver.HeldError](errs[len(minutes)+i])
		if !refused || held.Left <= least || held.Left > most {
			t.Errorf("the refusal of key %d is %+v, want that it is held for nearly %v", i, held, most)
		}
	}
}

// A batch of acquisitions is one run of a script, whether the locks are free or held.
func TestBatchTakesOneRun(t *testing.T) {
	s := redisserver.Start(t)
	c := client(t, s.Addr())
	for round, want := range []string{"", "free ones", "held ones"} {
		var asks []func(*redislock.Driver) error
		for i := range 50 {
			asks = append(asks, asking(t, fmt.Sprint("key-", min(round, 1), "-", i%40), fmt.Sprint("a", round, "/", i), 0, 0))
		}
		must(t, c.ConfigResetStat(t.Context()).Err())
		inOneBatch(t, s.Addr(), asks...)
		// In the first round the server does not know the script.
		if n := calls(t, c, "evalsha"); n != 2+1 && want != "" {
			t.Errorf("50 requests for %s, behind two others, took %d scripts, want 3", want, n)
		}
	}
}

// Of a batch each owner is granted its lock for its own TTL.
func TestBatchOfDifferentTTLs(t *testing.T) {
	s := redisserver.Start(t)
	var asks []func(*redislock.Driver) error
	key := func(i int) string { return fmt.Sprint("key-", i) }
	ttl := func(i int) time.Duration { return time.Minute << (i % 3) }
	for i := range 9 {
		asks = append(asks, func(d *redislock.Driver) error {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: key(i), Owner: fmt.Sprint("a/", i), TTL: ttl(i)})
			return err
		})
	}
	must(t, errors.Join(inOneBatch(t, s.Addr(), asks...)...))
	d := newDriver(t, client(t, s.Addr()), redislock.Options{})
	for i := range asks {
		at, err := d.Inspect(t.Context(), key(i))
		must(t, err)
		if at.Left > ttl(i) || at.Left < ttl(i)-20*time.Second {
			t.Errorf("%q, asked for %v, has %v left", key(i), ttl(i), at.Left)
		}
	}
}

// At maxmemory the releases of a batch go on and its acquisitions are doubt, also next
// to each other.
func TestBatchOnAFullServer(t *testing.T) {
	s := redisserver.Start(t, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	c := client(t, s.Addr())
	d := newDriver(t, c, redislock.Options{})
	first, second := acquire(t, d, "first", "a/1"), acquire(t, d, "second", "a/2")
	fill(t, c)
	errs := inOneBatch(t, s.Addr(), freeing(t, first), freeing(t, second), asking(t, "third", "a/3", 0, 0), asking(t, "fourth", "a/4", 0, 0))
	must(t, errors.Join(errs[:2]...))
	for _, err := range errs[2:] {
		// The freed memory may be enough.
		if _, refused := errors.AsType[*driver.HeldError](err); refused || err != nil && !strings.Contains(err.Error(), "OOM") {
			t.Errorf("an acquisition ends with %v, want the doubt OOM", err)
		}
	}
	fill(t, c)
	for _, err := range inOneBatch(t, s.Addr(), asking(t, "fifth", "a/5", 0, 0), asking(t, "sixth", "a/6", 0, 0)) {
		if err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("an acquisition ends with %v, want the doubt OOM", err)
		}
	}
}

// The answer of a replica to a batch is doubt for each of its calls.
func TestBatchOnAReplica(t *testing.T) {
	master, copied := redisserver.Start(t, "--repl-diskless-sync-delay", "0"), redisserver.Start(t)
	d := newDriver(t, client(t, master.Addr()), redislock.Options{})
	h := acquire(t, d, "taken", "a/1")
	rc := client(t, copied.Addr())
	must(t, rc.SlaveOf(t.Context(), "127.0.0.1", fmt.Sprint(master.Port())).Err())
	until(t, "the replica has the lock", func() bool { return rc.DBSize(t.Context()).Val() == 1 })
	errs := inOneBatch(t, copied.Addr(), asking(t, "taken", "b/1", 0, 0), asking(t, "free", "b/2", 0, 0), freeing(t, h), freeing(t, h))
	for i, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("request %d is answered with %v, want doubt", i, err)
		}
	}
}

// A server that serves no keys of two slots in one run, as a node of a Cluster, is sent a
// run for each call: from the start, once it has refused the first batch.
func TestBatchOfManySlots(t *testing.T) {
	s := redisserver.Cluster(t, 1, 0)[0]
	c := client(t, s.Addr())
	acquire(t, newDriver(t, c, redislock.Options{}), "warm", "a/0") // else each sends the script again, in no order
	b, d := behindBarrier(t, s.Addr())
	errs := b.inOneBatch(t, d, asking(t, "one", "a/1", 0, 0), asking(t, "two", "a/2", 0, 0), asking(t, "two", "a/3", 0, 0))
	wantVerdicts(t, errs, "yes", "yes", "held")
	errs = b.inOneBatch(t, d, asking(t, "two", "a/4", 0, 0), asking(t, "three", "a/5", 0, 0))
	wantVerdicts(t, errs, "held", "yes")
	if got := c.Info(t.Context(), "errorstats").Val(); !strings.Contains(got, "errorstat_CROSSSLOT:count=1\r") {
		t.Errorf("the server has refused %s, want one batch", got)
	}
}

// A batch is bounded: while its script runs the server does nothing else.
func TestBatchOfCallsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		var wg sync.WaitGroup
		for range 2 + 401 {
			wg.Go(func() { _ = asks(t.Context(), store, "mine") })
		}
		synctest.Wait()
		close(d.open)
		wg.Wait()
		if got := d.calls(); slices.Max(got) > 200 || len(got) != 2+3 {
			t.Errorf("batches of %v calls, want at most 200", got)
		}
	})
}

// However many ask for however few locks, and share a run: one owner has a lock at a time,
// and its fences strictly increase.
func TestFencesOfBatches(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	const keys, callers, grants = 8, 64, 40
	var books [keys]turnBook
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			key, book := fmt.Sprint("key-", i%keys), &books[i%keys]
			for n := 0; n < grants; {
				owner := fmt.Sprint("a/", i, "/", n)
				g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: owner, TTL: time.Minute})
				if _, held := errors.AsType[*driver.HeldError](err); held {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				n++
				book.enter(t, i, g.Fence)
				book.leave()
				if err := d.Release(t.Context(), driver.LeaseRef{Key: key, Owner: owner, Fence: g.Fence}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The fence of each grant of a run is above the highest fence that its asker has seen and
// above the one that is remembered, to the microsecond. A lock that another waits for is
// not granted, and of two that ask for one lock in a run one is granted it.
func TestBatchGrantsEach(t *testing.T) {
	s := simulated(t)
	c := client(t, s.Addr())
	now := s.now.UnixMicro()
	for name, test := range map[string]struct {
		seen, remembered int64
		waits            bool
		want             any
	}{
		"above the fence":            {now - 1, 0, false, now},
		"at the fence":               {now, 0, false, []any{int64(1), fmt.Sprint(now + 1), int64(1000)}},
		"below the fence":            {now + 1, 0, false, []any{int64(1), fmt.Sprint(now + 2), int64(1000)}},
		"while another waits":        {now - 1, 0, true, []any{int64(0), "0", int64(2000)}},
		"above the remembered fence": {now - 1, now - 1, false, now},
		"at both fences":             {now, now - 1, false, []any{int64(1), fmt.Sprint(now + 1), int64(1000)}},
		"at the remembered fence":    {now - 1, now, false, []any{int64(1), fmt.Sprint(now + 1), int64(1000)}},
		"below the remembered fence": {now - 1, now + 1, false, []any{int64(1), fmt.Sprint(now + 2), int64(1000)}},
	} {
		keys := []string{"lock " + name, "beside " + name, "queue " + name, "queue beside " + name}
		if test.remembered != 0 {
			must(t, c.Set(t.Context(), keys[0], test.remembered, time.Second).Err())
		}
		if test.waits {
			must(t, c.RPush(t.Context(), keys[2], "inbox|b/1").Err())
		}
		got, err := redislock.AcquireReplies(t.Context(), c, keys, "a/1", 1000, test.seen, 0, "a/2", 1000, 0, 0)
		if want := []any{test.want, now}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the answers are %v, %v, want %v", name, got, err, want)
		}
		alone := []string{"alone " + name, "queue " + name}
		if test.remembered != 0 {
			must(t, c.Set(t.Context(), alone[0], test.remembered, time.Second).Err())
		}
		if test.waits {
			must(t, c.Del(t.Context(), alone[1]).Err())
			must(t, c.RPush(t.Context(), alone[1], "inbox|b/1").Err())
		}
		got, err = redislock.AcquireReplies(t.Context(), c, alone, "a/1", 1000, test.seen, 0)
		if want := []any{test.want}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, alone: the answer is %v, %v, want %v", name, got, err, want)
		}
	}
	must(t, c.Set(t.Context(), "lock", now-1, time.Second).Err())
	keys := []string{"lock", "lock", "queue", "queue"}
	got, err := redislock.AcquireReplies(t.Context(), c, keys, "a/1", 1000, 0, 0, "a/2", 1000, 0, 0)
	if want := []any{now, []any{int64(0), "0", int64(1000)}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("two that ask for a lock that was freed are answered %v, %v, want %v", got, err, want)
	}
}

// A reply to a run that is not a list of as many as there are calls is doubt.
func TestReadReplies(t *testing.T) {
	for _, reply := range []any{nil, "", "7", int64(7), []any{}, []any{"7", "7"}, []any{"7", "7", "7", "7"}} {
		if replies, err := redislock.ReadReplies(reply, 3); err == nil {
			t.Errorf("%v is read as %v", reply, replies)
		}
	}
	if replies, err := redislock.ReadReplies([]any{"7", int64(7), nil}, 3); err != nil || len(replies) != 3 {
		t.Errorf("three replies are read as %v, %v", replies, err)
	}
}
