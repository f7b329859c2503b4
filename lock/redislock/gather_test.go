package redislock_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// A desk answers in a server's place, when it is told to.
type desk struct {
	open    chan struct{} // each value lets one flight land
	silent  int           // how many of the first flights land only when end is closed
	end     chan struct{}
	mu      sync.Mutex
	flights []int // how many requests each of them carried
	fail    error
}

func (d *desk) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server here") }
}

func (d *desk) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return d.serve([]redis.Cmder{cmd}) }
}

func (d *desk) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error { return d.serve(cmds) }
}

// serve refuses every key but "mine".
func (d *desk) serve(cmds []redis.Cmder) error {
	d.mu.Lock()
	carried := 0
	for _, c := range cmds {
		carried += len(owners(c))
	}
	d.flights = append(d.flights, carried)
	fail, open := d.fail, d.open
	if len(d.flights) <= d.silent {
		open = d.end
	}
	d.mu.Unlock()
	<-open
	for _, c := range cmds {
		if fail != nil && c.Name() == "evalsha" {
			c.SetErr(fail)
			continue
		}
		c.(*redis.Cmd).SetVal(answer(owners(c), c.Args()[1] == redislock.ManyAsk()))
	}
	if cmds[0].Name() == "eval" {
		return nil
	}
	return fail
}

// owners are those who ask with a command: one, or each of a party.
func owners(c redis.Cmder) (all []string) {
	args := c.Args()
	keys := args[2].(int)
	for _, arg := range args[3+keys : len(args)-2] { // the TTL and the fence come last
		switch owner := arg.(type) {
		case string:
			all = append(all, owner)
		case *string:
			all = append(all, *owner)
		}
	}
	return all
}

// answer is what the scripts say to these.
func answer(owners []string, many bool) any {
	switch {
	case many || len(owners) > 1:
	case owners[0] == "mine":
		return []any{int64(1), "7", int64(30000)}
	default:
		return []any{int64(0), "0", int64(1)}
	}
	letters, left := "", ""
	for _, owner := range owners {
		switch owner {
		case "mine":
			letters += "+"
		case "later": // is to be asked for alone
			letters += "-"
		default:
			letters, left = letters+"0", left+"|1"
		}
	}
	return "7|" + letters + left
}

func (d *desk) carried() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]int(nil), d.flights...)
}

func atDesk(t *testing.T) (*desk, *redislock.Driver) {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	d := &desk{open: make(chan struct{})}
	client.AddHook(d)
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store.NeverOverdue()
	return d, store
}

func asks(ctx context.Context, store *redislock.Driver, owner string) error {
	_, err := store.Acquire(ctx, driver.Acquisition{Key: "k", Owner: owner, TTL: 30 * time.Second})
	return err
}

// Two requests go out at once and alone. What is asked meanwhile goes out in one
// flight, when one of them is back; each caller gets its own answer.
func TestManyCallersShareARoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
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
		if got := d.carried(); len(got) != 3 || got[0] != 1 || got[1] != 1 || got[2] != 10 {
			t.Errorf("flights of %v requests, want 1, 1 and 10", got)
		}
		for i, err := range errs {
			if _, held := errors.AsType[*driver.HeldError](err); held != (i != 7) || i == 7 && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A caller that leaves while it waits for a flight is not in it.
func TestWhoLeavesDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
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
		if got := d.carried(); len(got) != 3 || got[2] != 2 {
			t.Errorf("flights of %v requests, want 1, 1 and 2", got)
		}
		for i, err := range errs {
			if left := i == 2 || i == 4; left != errors.Is(err, context.Canceled) || !left && err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		}
	})
}

// A caller that is cancelled while its request is on the wire waits for the answer:
// what undoes the request must not be faster than it. One whose time is over does
// not wait.
func TestWhoIsInTheAirLands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
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
		d.open <- struct{}{} // the other four take off
		synctest.Wait()
		stop()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for i, want := range []bool{true, false, true, false, true, false} {
			if returned[i] != want {
				t.Errorf("caller %d returned before its flight landed: %v", i, returned[i])
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
type scriptError struct{}

func (scriptError) Error() string { return "NOSCRIPT No matching script" }
func (scriptError) RedisError()   {}

// A server that does not know the script is sent the whole of it, by each caller.
func TestFlightToAServerWithoutTheScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
		d.fail = scriptError{}
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

// A request that must be answered soon shares no flight: one of those is not cut
// short for a single passenger.
func TestUrgentRequestsGoAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { _ = asks(ctx, store, "mine") })
		}
		synctest.Wait()
		if got := d.carried(); len(got) != 5 {
			t.Errorf("%d flights, want 5", len(got))
		}
		close(d.open)
		wg.Wait()
	})
}

// Two connections are silent. Who asks after that waits a moment, and then goes on
// beside them: an overdue flight keeps no other from taking off. When the two land
// at last nothing else changes.
func TestSilentConnectionsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
		store.OverdueAfter(redislock.Overdue)
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
			if took := time.Since(began); i == 0 && took != redislock.Overdue || i > 0 && took != 0 {
				t.Errorf("caller %d waited for %v", i, took)
			}
		}
		close(d.end)
		wg.Wait()
		synctest.Wait() // a flight notifies its passengers before it is over
		if n := store.Flying(); n != 0 {
			t.Errorf("%d flights are under way", n)
		}
	})
}

// All connections are silent: so many flights may be overdue, and no more. Those who
// wait then go on when one has landed.
func TestOverdueFlightsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
		store.OverdueAfter(redislock.Overdue)
		d.silent, d.end = 1000, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		for range 40 {
			call(t, &wg, store, "mine", time.Hour)
			time.Sleep(redislock.Overdue)
		}
		if n := len(d.carried()); n != redislock.MostFlights {
			t.Errorf("%d flights are under way, want %d", n, redislock.MostFlights)
		}
		close(d.end)
		wg.Wait()
		synctest.Wait() // a flight notifies its passengers before it is over
		if n := store.Flying(); n != 0 {
			t.Errorf("%d flights are under way at the end", n)
		}
	})
}

// A flight is overdue at the very moment, not before, and again only those count
// that have begun since.
func TestOverdueToTheMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atDesk(t)
		store.OverdueAfter(redislock.Overdue)
		d.silent, d.end = 4, make(chan struct{})
		close(d.open)
		var wg sync.WaitGroup
		first := call(t, &wg, store, "mine", time.Hour)
		time.Sleep(time.Millisecond)
		call(t, &wg, store, "mine", time.Hour)
		call(t, &wg, store, "mine", time.Hour) // waits
		time.Sleep(redislock.Overdue - time.Millisecond - time.Nanosecond)
		if n := len(d.carried()); n != 2 {
			t.Errorf("%d flights, want 2 before the first is overdue", n)
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); len(d.carried()) != 3 || first.took != 0 {
			t.Errorf("%d flights, want 3", len(d.carried()))
		}
		close(d.end)
		wg.Wait()
	})
}
