package redislock_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A fakeServer answers in a server's place, when the test allows it.
type fakeServer struct {
	open    chan struct{} // each value lets it answer one batch
	silent  int           // how many of the first batches it answers only when end is closed
	end     chan struct{}
	mu      sync.Mutex
	batches []int // how many calls each of them had
	fail    error
}

func (d *fakeServer) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server here") }
}

func (d *fakeServer) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return d.serve([]redis.Cmder{cmd}) }
}

func (d *fakeServer) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error { return d.serve(cmds) }
}

// serve refuses the key to every owner but "mine". It takes "later" for an owner that asks
// for a key of another slot, so that no run serves it together with others.
func (d *fakeServer) serve(cmds []redis.Cmder) error {
	d.mu.Lock()
	calls := 0
	for _, c := range cmds {
		calls += len(owners(c))
	}
	d.batches = append(d.batches, calls)
	fail, open := d.fail, d.open
	if len(d.batches) <= d.silent {
		open = d.end
	}
	d.mu.Unlock()
	<-open
	for _, c := range cmds {
		all := owners(c)
		switch {
		case fail != nil && c.Name() == "evalsha":
			c.SetErr(fail)
		case len(all) > 1 && slices.Contains(all, "later"):
			c.SetErr(scriptError("CROSSSLOT Keys in request don't hash to the same slot"))
		default:
			c.(*redis.Cmd).SetVal(answer(all))
		}
	}
	if cmds[0].Name() == "eval" {
		return nil
	}
	return fail
}

// owners are those that ask with a command: each has four arguments.
func owners(c redis.Cmder) (all []string) {
	args := c.Args()
	for i := 3 + args[2].(int); i < len(args); i += 4 {
		all = append(all, *args[i].(*string))
	}
	return all
}

// answer returns the script's answer to these owners.
func answer(owners []string) (replies []any) {
	for _, owner := range owners {
		if owner == "mine" {
			replies = append(replies, int64(7))
		} else {
			replies = append(replies, []any{int64(0), "0", int64(1)})
		}
	}
	return replies
}

func (d *fakeServer) calls() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]int(nil), d.batches...)
}

// answer lets the server answer all that it was silent about, and wants no batch in flight then.
func (d *fakeServer) answer(t *testing.T, store *redislock.Driver, wg *sync.WaitGroup) {
	t.Helper()
	close(d.end)
	wg.Wait()
	synctest.Wait() // a batch completes after its calls
	if n := store.InFlight(); n != 0 {
		t.Errorf("%d batches are in flight at the end", n)
	}
}

func atServer(t *testing.T) (*fakeServer, *redislock.Driver) {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	d := &fakeServer{open: make(chan struct{})}
	client.AddHook(d)
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store.NeverLate()
	return d, store
}

func asks(ctx context.Context, store *redislock.Driver, owner string) error {
	_, err := store.Acquire(ctx, driver.Acquisition{Key: "k", Owner: owner, TTL: 30 * time.Second})
	return err
}

// Two requests are sent at once and alone. The calls made meanwhile are sent in one batch,
// when one of the two completes; each caller gets its own answer.
func TestManyCallersShareARoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		errs := make([]error, 12)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				owner := strconv.Itoa(i)
				if i == 7 {
					owner = "mine"
				}
				errs[i] = asks(t.Context(), store, owner)
			})
			synctest.Wait()
		}
		for range 3 {
			d.open <- struct{}{}
			synctest.Wait()
		}
		wg.Wait()
		if got := d.calls(); len(got) != 3 || got[0] != 1 || got[1] != 1 || got[2] != 10 {
			t.Errorf("batches of %v calls, want 1, 1 and 10", got)
		}
		for i, err := range errs {
			if _, held := errors.AsType[*driver.HeldError](err); held != (i != 7) || i == 7 && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A call that is cancelled in the queue is not in the next batch.
func TestCancelledCallsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		var wg sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() {
				if i == 2 || i == 4 {
					errs[i] = asks(ctx, store, strconv.Itoa(i))
				} else {
					errs[i] = asks(t.Context(), store, "mine")
				}
			})
			synctest.Wait()
		}
		stop()
		synctest.Wait()
		for range 3 {
			d.open <- struct{}{}
			synctest.Wait()
		}
		wg.Wait()
		if got := d.calls(); len(got) != 3 || got[2] != 2 {
			t.Errorf("batches of %v calls, want 1, 1 and 2", got)
		}
		for i, err := range errs {
			if left := i == 2 || i == 4; left != errors.Is(err, context.Canceled) || !left && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A caller that is cancelled while its request is on the wire waits for the answer:
// otherwise its cleanup could reach the server before the request. One whose deadline
// passes does not wait.
func TestCancelledInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		var wg sync.WaitGroup
		cancelled, stop := context.WithCancel(t.Context())
		timed, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		returned := make([]bool, 6)
		errs := make([]error, 6)
		for i, ctx := range []context.Context{t.Context(), t.Context(), timed, cancelled, timed, t.Context()} {
			wg.Go(func() {
				errs[i] = asks(ctx, store, "mine")
				returned[i] = true
			})
			synctest.Wait()
		}
		d.open <- struct{}{} // the other four are flushed
		synctest.Wait()
		stop()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for i, want := range []bool{true, false, true, false, true, false} {
			if returned[i] != want {
				t.Errorf("caller %d returned before its batch completed: %v", i, returned[i])
			}
		}
		close(d.open)
		wg.Wait()
		for i, err := range errs {
			if late := i == 2 || i == 4; late != errors.Is(err, context.DeadlineExceeded) || !late && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A scriptError is the reply of a server.
type scriptError string

func (e scriptError) Error() string { return string(e) }
func (scriptError) RedisError()     {}

// A server that does not know the script is sent its source.
func TestServerWithoutTheScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		d.fail = scriptError("NOSCRIPT No matching script")
		var wg sync.WaitGroup
		errs := make([]error, 5)
		for i := range errs {
			wg.Go(func() { errs[i] = asks(t.Context(), store, "mine") })
			synctest.Wait()
		}
		close(d.open)
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A request that must be answered soon shares no batch: a batch is not cut short for one
// of its calls.
func TestUrgentRequestsGoAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _ = asks(ctx, store, "mine") })
		}
		synctest.Wait()
		if got := d.calls(); len(got) != 5 {
			t.Errorf("%d batches, want 5", len(got))
		}
		close(d.open)
		wg.Wait()
	})
}

// Two connections are silent. The next caller waits for a moment, and is then served
// beside them: a late batch keeps no other from being sent. When the two complete at last
// nothing else changes.
func TestSilentConnectionsDelayNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		store.LateAfter(redislock.LateAfter)
		d.silent, d.end = 2, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		for range 2 {
			call(t, &wg, store, "mine", time.Hour)
		}
		for i := range 20 {
			began := time.Now()
			if err := asks(t.Context(), store, "mine"); err != nil {
				t.Fatalf("caller %d: %v", i, err)
			}
			if took := time.Since(began); i == 0 && took != redislock.LateAfter || i > 0 && took != 0 {
				t.Errorf("caller %d waited for %v", i, took)
			}
		}
		d.answer(t, store, &wg)
	})
}

// All connections are silent: so many batches may be late, and no more. The callers in the
// queue are served when one has completed.
func TestLateBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		store.LateAfter(redislock.LateAfter)
		d.silent, d.end = 1000, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		for range 40 {
			call(t, &wg, store, "mine", time.Hour)
			time.Sleep(redislock.LateAfter)
		}
		if n := len(d.calls()); n != redislock.MaxLate {
			t.Errorf("%d batches are in flight, want %d", n, redislock.MaxLate)
		}
		d.answer(t, store, &wg)
	})
}

// A batch is late at the very moment, not before, and of the others only those count that
// have begun since.
func TestLateToTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		store.LateAfter(redislock.LateAfter)
		d.silent, d.end = 4, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		first := call(t, &wg, store, "mine", time.Hour)
		time.Sleep(time.Millisecond)
		call(t, &wg, store, "mine", time.Hour)
		call(t, &wg, store, "mine", time.Hour) // waits
		time.Sleep(redislock.LateAfter - time.Millisecond - time.Nanosecond)
		if n := len(d.calls()); n != 2 {
			t.Errorf("%d batches, want 2 before the first is late", n)
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); len(d.calls()) != 3 || first.took != 0 {
			t.Errorf("%d batches, want 3", len(d.calls()))
		}
		close(d.end)
		wg.Wait()
	})
}
