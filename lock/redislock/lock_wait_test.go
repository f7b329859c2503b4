package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// pod is a Locker with a driver and a client of its own, as a process has them.
func pod(t *testing.T, addr, name string) (*lock.Locker, *redislock.Driver) {
	t.Helper()
	d := newDriver(t, client(t, addr), redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	return lock.New(d, name), d
}

func acquireKey(t *testing.T, l *lock.Locker, key string) *lock.Lease {
	t.Helper()
	lease, err := l.Acquire(patient(t.Context()), key, lock.Options{})
	must(t, err)
	return lease
}

// patient returns a context that cannot end. A Locker repeats an acquisition whose context can end after some ms, and the requests of
// a slow server would be counted, or lost, twice.
func patient(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// A lock that nobody else wants costs two commands, and opens no subscription.
func TestUncontendedCommands(t *testing.T) {
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	l, _ := pod(t, addr, "a")
	must(t, acquireKey(t, l, "warm").Release(t.Context())) // the server knows the scripts now
	must(t, c.ConfigResetStat(t.Context()).Err())
	for range 10 {
		must(t, acquireKey(t, l, "key").Release(t.Context()))
	}
	if n := calls(t, c, "evalsha"); n != 20 || calls(t, c, "subscribe") != 0 {
		t.Errorf("10 pairs took %d scripts and %d subscriptions", n, calls(t, c, "subscribe"))
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A pair takes the server six commands inside its two scripts, and two more if the lock was not
// used before: docs/stores.md says so.
func TestCommandsOfAPair(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	pair := func(key string) {
		must(t, d.Release(t.Context(), acquire(t, d, key, "a/1")))
	}
	pair("warm")
	for key, mget := range map[string]int{"fresh": 1, "warm": 0} {
		exists := 1 + mget
		must(t, c.ConfigResetStat(t.Context()).Err())
		pair(key)
		for command, want := range map[string]int{"evalsha": 2, "time": 1, "get": 2, "set": 2, "exists": exists, "del": 0, "mget": mget, "pexpire": 0, "pttl": 0} {
			if n := calls(t, c, command); n != want {
				t.Errorf("a pair of a %s lock takes %d %s, want %d", key, n, command, want)
			}
		}
	}
}

// Four processes with four waiters each share a key: nobody holds it beside
// another, fences grow, the processes take turns while all of them ask, and a
// section costs at most four commands. That all ask is not left to the machine: a
// section of the first half ends when each process has its place in the queue.
func TestContended(t *testing.T) {
	const pods, each, rounds = 4, 4, 25
	const sections = pods * each * rounds
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	must(t, c.ConfigResetStat(t.Context()).Err())
	gate, _ := pod(t, addr, "gate")
	first := acquireKey(t, gate, "key")
	var looks atomic.Int64
	placed := func() bool {
		looks.Add(1)
		at, err := gate.Inspect(t.Context(), "key")
		return err == nil && at.Waiting == pods
	}
	line := turnBook{even: sections / 2, placed: placed}
	var wg sync.WaitGroup
	for i := range pods {
		l, _ := pod(t, addr, fmt.Sprint("pod-", i))
		for range each {
			wg.Go(func() {
				for range rounds {
					line.section(t, l, i)
				}
			})
		}
	}
	until(t, "a place for each process", placed)
	must(t, first.Release(t.Context()))
	wg.Wait()
	if n := calls(t, c, "evalsha") + calls(t, c, "eval") - int(looks.Load()); n > 4*sections+8*pods {
		t.Errorf("%d sections took %d commands", sections, n)
	}
	var shares [pods]int
	for _, who := range line.who[:line.even] {
		shares[who]++
	}
	if slices.Max(shares[:])-slices.Min(shares[:]) > 1 {
		t.Errorf("while all asked for it, the processes had the key %v times", shares)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A turnBook records the owners of the key.
type turnBook struct {
	even   int         // so many sections end when all processes are placed
	placed func() bool // each process has a place in the queue

	mu    sync.Mutex
	who   []int
	last  int64
	users int
}

func (b *turnBook) section(t *testing.T, l *lock.Locker, who int) {
	err := l.Do(t.Context(), "key", lock.Options{}, func(_ context.Context, lease *lock.Lease) error {
		nth := b.enter(t, who, lease.Fence())
		defer b.leave()
		if nth <= b.even && !t.Failed() {
			until(t, "a place for each process", b.placed)
		}
		return lease.Check()
	})
	if err != nil {
		t.Errorf("process %d: %v", who, err)
	}
}

// enter returns how many sections there were, with this one.
func (b *turnBook) enter(t *testing.T, who int, fence int64) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users++; b.users > 1 || fence <= b.last {
		t.Errorf("%d users, fence %d after %d", b.users, fence, b.last)
	}
	b.last = fence
	b.who = append(b.who, who)
	return len(b.who)
}

func (b *turnBook) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users--
}

// subscribers is how many inboxes are open.
func subscribers(t *testing.T, c redis.UniversalClient) int {
	t.Helper()
	return len(c.PubSubChannels(t.Context(), "cronce:v1:i:*").Val())
}

// waiting starts a waiter and returns when it has its place.
func waiting(t *testing.T, l *lock.Locker, key string) <-chan *lock.Lease {
	t.Helper()
	got := make(chan *lock.Lease, 1)
	go func() {
		lease, err := l.Acquire(t.Context(), key, lock.Options{})
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	until(t, "a place", func() bool { at, err := l.Inspect(t.Context(), key); return err == nil && at.Waiting > 0 })
	return got
}

func soon(t *testing.T, got <-chan *lock.Lease) *lock.Lease {
	t.Helper()
	select {
	case lease := <-got:
		return lease
	case <-time.After(2 * time.Minute):
		t.Fatal("still waiting")
		return nil
	}
}

// Waiters for many locks share one subscription, which Close ends. The waiters then go on by
// probing, and the next waiter opens the subscription again.
func TestOneSubscription(t *testing.T) {
	t.Parallel() // it waits until they look
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	holder, _ := pod(t, addr, "holder")
	l, d := pod(t, addr, "a")
	var held []*lock.Lease
	var got []<-chan *lock.Lease
	for i := range 5 {
		key := fmt.Sprint("key-", i)
		held = append(held, acquireKey(t, holder, key))
		got = append(got, waiting(t, l, key))
	}
	until(t, "a subscription", func() bool { return subscribers(t, c) == 1 })
	must(t, d.Close())
	until(t, "the end of the subscription", func() bool { return subscribers(t, c) == 0 })
	for _, lease := range held {
		must(t, lease.Release(t.Context()))
	}
	for _, lease := range got {
		must(t, soon(t, lease).Release(t.Context()))
	}
	again := acquireKey(t, holder, "key")
	next := waiting(t, l, "key")
	until(t, "a subscription", func() bool { return subscribers(t, c) == 1 })
	must(t, again.Release(t.Context()))
	must(t, soon(t, next).Release(t.Context()))
}

// A user that may not subscribe waits by looking.
func TestWaitWithoutSubscription(t *testing.T) {
	admin := client(t, redisserver.Start(t).Addr())
	c := restricted(t, admin, "cronce")
	must(t, admin.ACLSetUser(t.Context(), "worker", "-subscribe").Err())
	d := newDriver(t, c, redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	l := lock.New(d, "a")
	first := acquireKey(t, l, "key")
	got := waiting(t, l, "key")
	must(t, first.Release(t.Context()))
	must(t, soon(t, got).Release(t.Context()))
}

// A queue has a bounded number of places. A waiter without a place gets the lock too, once there is
// one.
func TestFullQueue(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	h := acquire(t, d, "key", "a/1")
	const queue = "cronce:v1:q:{key}"
	for range 1000 {
		must(t, c.RPush(t.Context(), queue, "nobody|b/1").Err())
	}
	waiter := driver.Acquisition{Key: "key", Owner: "c/1", TTL: time.Minute}
	if err := d.Abandon(t.Context(), waiter); err == nil {
		t.Fatal("the lock was granted twice")
	}
	if n := c.LLen(t.Context(), queue).Val(); n != 1000 {
		t.Errorf("there are %d places", n)
	}
	if left := c.PTTL(t.Context(), queue).Val(); left <= 0 || left > 10*time.Second {
		t.Errorf("the queue expires in %v", left)
	}
	must(t, c.LTrim(t.Context(), queue, 0, 0).Err())
	must(t, c.LPop(t.Context(), queue).Err())
	must(t, d.Release(t.Context(), h))
	g, err := d.Wait(t.Context(), waiter)
	must(t, err)
	if g.Left <= 0 {
		t.Errorf("granted %+v", g)
	}
}

// The last place of a queue is given, and none after it, whether an owner wants the lock alone or
// shares it. A waiter makes a queue last for as long as it needs, and never for less than it did.
func TestFullQueueToThePlace(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	for limit := 1; limit <= 2; limit++ {
		for taken, want := range map[int]int64{999: 1000, 1000: 1000} {
			for expiry, least := range map[time.Duration]time.Duration{time.Second: 5 * time.Second, time.Hour: 50 * time.Minute} {
				key := fmt.Sprint("key-", limit, "-", taken, "-", expiry)
				acquire(t, d, key, "a/1")
				queue := "cronce:v1:q:{" + key + "}"
				places := make([]any, taken)
				for i := range places {
					places[i] = "nobody|b/1"
				}
				must(t, c.RPush(t.Context(), queue, places...).Err())
				must(t, c.PExpire(t.Context(), queue, expiry).Err())
				if err := d.Abandon(t.Context(), driver.Acquisition{Key: key, Owner: "c/1", TTL: time.Minute, Limit: limit}); err == nil {
					t.Fatal("the lock was granted twice")
				}
				if n := c.LLen(t.Context(), queue).Val(); n != want {
					t.Errorf("limit %d: of %d places there are %d", limit, taken, n)
				}
				if left := c.PTTL(t.Context(), queue).Val(); left < least {
					t.Errorf("limit %d: a queue that would expire in %v expires in %v", limit, expiry, left)
				}
			}
		}
	}
}

// On a server at maxmemory a release still hands the lock on.
func TestHandOnWhenFull(t *testing.T) {
	d, c := realDriver(t, redislock.Options{}, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	h := acquire(t, d, "key", "a/1")
	if err := d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "b/1", TTL: time.Minute}); err == nil {
		t.Fatal("the lock was granted twice")
	}
	fill(t, c)
	must(t, d.Release(t.Context(), h))
	if at, err := d.Inspect(t.Context(), "key"); err != nil || at.Owner != "b/1" || at.Waiting != 0 {
		t.Errorf("the lock is at %+v, %v", at, err)
	}
}

// afterDials calls then when so many dials have failed.
type afterDials struct {
	left atomic.Int64
	then func()
}

func (a *afterDials) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil && a.left.Add(-1) == 0 {
			a.then()
		}
		return c, err
	}
}

func (*afterDials) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (*afterDials) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A wait during which the server is unreachable ends with doubt, not with a
// refusal.
func TestWaitInDoubt(t *testing.T) {
	s := redisserver.Start(t)
	c := client(t, s.Addr())
	d := newDriver(t, c, redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	s.Stop()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	tried := &afterDials{then: stop}
	tried.left.Store(3)
	c.AddHook(tried)
	_, err := lock.New(d, "a").Acquire(ctx, "key", lock.Options{})
	if err == nil || strings.Contains(err.Error(), "held by") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v, want the doubt", err)
	}
}

// cutOff refuses the first script, and lets the next hang until its context ends.
type cutOff struct {
	asked atomic.Int64
}

func (*cutOff) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*cutOff) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *cutOff) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			switch c.asked.Add(1) {
			case 1:
				return syscall.ECONNREFUSED
			case 2:
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return next(ctx, cmd)
	}
}

// A wait that ends in the middle of a request keeps the doubt before it.
func TestEndOfWaitKeepsTheDoubt(t *testing.T) {
	c := client(t, redisserver.Start(t).Addr())
	hook := new(cutOff)
	c.AddHook(hook)
	d := newDriver(t, c, redislock.Options{})
	t.Cleanup(func() { must(t, d.Close()) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := d.Wait(ctx, driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Minute})
		ended <- err
	}()
	until(t, "the second request", func() bool { return hook.asked.Load() == 2 })
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the error is %v, want that of the context and the doubt", err)
	}
}

// A waiter whose wake-ups arrive probes rarely, but as the first of the queue of a shared lock it probes
// each second: otherwise the store takes it for gone.
func TestUntilProbe(t *testing.T) {
	for _, c := range []struct {
		sure, first bool
		want        time.Duration
	}{{false, false, time.Second}, {false, true, time.Second}, {true, true, time.Second}, {true, false, 10 * time.Second}} {
		if got := redislock.UntilProbe(c.sure, c.first); got < c.want || got > c.want+time.Second/8 {
			t.Errorf("%+v: the next probe comes after %v", c, got)
		}
	}
}

// A waiter whose request to give up its place fails repeats it.
func TestGivesUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(t, "nowhere:1")
		h := new(failsOnce)
		c.AddHook(h)
		newDriver(t, c, redislock.Options{}).GiveUp(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1"})
		if h.asked != 2 {
			t.Errorf("it has sent %d requests, want 2", h.asked)
		}
	})
}

// failsOnce loses the first request, and answers that all others have freed one lock.
type failsOnce struct{ asked int }

func (*failsOnce) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*failsOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *failsOnce) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		if h.asked++; h.asked == 1 {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return io.ErrUnexpectedEOF
		}
		cmd.(interface{ SetVal(any) }).SetVal([]any{int64(1)})
		return nil
	}
}
