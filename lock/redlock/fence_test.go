package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// A world is five servers of one key that remember their last fence, and five processes that
// request the key, each with a clock of its own. Each grant needs the answers of a random majority.
type world struct {
	rand *rand.Rand
	now  int64 // µs
	skew []int64
	last []int64
}

func newWorld(seed uint64, skew time.Duration) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), now: 1_795_207_852_937_000, skew: make([]int64, 5), last: make([]int64, 5)}
	for i := range w.skew {
		w.skew[i] = w.rand.Int64N(2*skew.Microseconds()+1) - skew.Microseconds()
	}
	return w
}

// ask lets every server of a majority answer: by its own clock, or with the proposed number if that
// is higher than its last.
func (w *world) ask(majority []int, proposed int64) []redlock.Vote {
	votes := make([]redlock.Vote, len(majority))
	for i, n := range majority {
		number := proposed
		if number == 0 {
			number = w.clock(n)
		}
		w.last[n] = max(w.last[n]+1, number)
		votes[i].Fence = w.last[n]
	}
	return votes
}

func (w *world) clock(n int) int64 { return w.now + w.skew[n] + w.rand.Int64N(300) }

func (w *world) majority() []int { return w.rand.Perm(5)[:3+w.rand.IntN(3)] }

const grants = 200_000

// run returns how often the fence did not grow, and how often a grant took two rounds.
func (w *world) run(gap time.Duration, writeBack bool) (backwards, second int) {
	before := int64(0)
	for range grants {
		w.now += w.rand.Int64N(2 * gap.Microseconds())
		asked, proposed := w.majority(), int64(0)
		if writeBack {
			proposed = w.clock(w.rand.IntN(5))
		}
		votes := w.ask(asked, proposed)
		fence, stands := redlock.Choose(3, votes)
		switch {
		case !writeBack:
			for _, v := range votes {
				fence = max(fence, v.Fence)
			}
		case !stands:
			second++
			w.write(asked, fence)
		}
		if fence <= before {
			backwards++
		}
		before = fence
	}
	return backwards, second
}

// write stores the fence on three random servers of those that answered.
func (w *world) write(asked []int, fence int64) {
	w.rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	for _, n := range asked[:3] {
		w.last[n] = max(w.last[n], fence)
	}
}

// The highest fence of a majority goes backwards as soon as clocks differ by more than the time
// between grants. The fence that the ballot chooses never does, and seldom needs the second round
// where clocks agree.
func TestFenceOverMajorities(t *testing.T) {
	for _, c := range []struct {
		name       string
		skew, gap  time.Duration
		goesBack   bool // certain without the write-back
		mostSecond int  // of 1000 grants
	}{
		{"1 ms apart, 10 s between grants", time.Millisecond, 10 * time.Second, false, 30},
		{"1 ms apart, 100 ms between grants", time.Millisecond, 100 * time.Millisecond, true, 100},
		{"1 ms apart, 1 ms between grants", time.Millisecond, time.Millisecond, true, 1000},
		{"50 ms apart, 1 ms between grants", 50 * time.Millisecond, time.Millisecond, true, 1000},
		{"10 s apart, 1 s between grants", 10 * time.Second, time.Second, true, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, _ := newWorld(7, c.skew).run(c.gap, false)
			if c.goesBack && plain == 0 {
				t.Error("the highest of a majority did not go back: nothing is shown")
			}
			ours, second := newWorld(7, c.skew).run(c.gap, true)
			if ours > 0 {
				t.Errorf("the fence went back %d times", ours)
			}
			if second*1000 > c.mostSecond*grants {
				t.Errorf("%d of %d grants took a second round", second, grants)
			}
			t.Logf("of %d grants: backwards without write-back %d, with it %d, second rounds %d", grants, plain, ours, second)
		})
	}
}

// On real servers a random minority does not answer each time, and rivals that reach only one
// server leave fences behind that differ from all others. Fences grow nevertheless, and an owner
// that repeats its request gets the same answer.
func TestFenceOnServers(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	last := int64(0)
	for round := range 300 {
		gates.open(rand.IntN(5)) // only one is open: no majority
		a := asking("key", time.Minute)
		a.Fence = last + rand.Int64N(1000)
		if g, err := d.Acquire(t.Context(), a); err == nil {
			t.Fatalf("one server granted %+v", g)
		}
		gates.open(rand.Perm(5)[:3]...)
		a = asking("key", time.Minute)
		g := wins(t, d, a)
		if g.Fence <= last {
			t.Fatalf("round %d: the fence %d comes after %d", round, g.Fence, last)
		}
		last = g.Fence
		if again, err := d.Acquire(t.Context(), a); err != nil || again.Fence != last {
			t.Fatalf("asked again: %+v, %v, want the fence %d", again, err, last)
		}
		gates.open(0, 1, 2, 3, 4)
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: last}))
	}
}

// A request takes so long that servers may have forgotten a higher fence meanwhile, which was
// granted after this one was proposed: nothing is granted, or left behind.
func TestFenceOnItsWay(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "way", NodeTimeout: slow, FenceMemory: time.Second})
	d.Warm(t.Context())
	for _, c := range cs {
		c.AddHook(after(600 * time.Millisecond))
	}
	if g, err := d.Acquire(t.Context(), asking("key", time.Minute)); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("it is answered with %+v, %v", g, err)
	}
	d.Settle()
	until(t, "nothing is left", func() bool { return votes(cs, "way", "key") == 0 })
}

// after is a hook that delays requests.
type after time.Duration

func (a after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			<-time.After(time.Duration(a))
		}
		return next(ctx, cmd)
	}
}

func (a after) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Many acquisitions run while the time of the servers is old: one of them reads it again.
func TestTimeIsReadOnce(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "time", NodeTimeout: slow})
	d.Warm(t.Context())
	d.TellTime(time.Now(), 2*redlock.TimeKept)
	var asked clockwatch
	for _, c := range cs {
		c.AddHook(&asked)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { take(t, d, asking("key-"+strconv.Itoa(i), time.Minute)) })
	}
	wg.Wait()
	d.Settle()
	if n := asked.Load(); n != 3 {
		t.Errorf("the servers were asked for their time %d times, want once each", n)
	}
}

// When the servers no longer answer their time, the known one is used; without a known time an
// acquisition is doubt.
func TestTimeIsNotReturned(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "untimed", NodeTimeout: slow})
	d.Warm(t.Context())
	fresh := newDriver(t, cs, redlock.Options{Namespace: "untimed", NodeTimeout: slow})
	asked := clockwatch{refuses: true}
	for _, c := range cs {
		c.AddHook(&asked)
	}
	for range 2 {
		d.TellTime(time.Now(), 2*redlock.TimeKept)
		_, h := acquire(t, d, asking("key", time.Minute))
		must(t, d.Release(t.Context(), h))
	}
	if n := asked.Load(); n != 6 {
		t.Errorf("the servers were asked for their time %d times, want twice each", n)
	}
	_, err := fresh.Acquire(t.Context(), asking("other", time.Minute))
	inDoubt(t, err)
}

// A clockwatch counts requests for the time.
type clockwatch struct {
	atomic.Int64
	refuses bool
}

func (w *clockwatch) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *clockwatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "time" {
			return next(ctx, cmd)
		}
		w.Add(1)
		if w.refuses {
			cmd.SetErr(errGate)
			return errGate
		}
		return next(ctx, cmd)
	}
}

func (w *clockwatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// wins repeats an acquisition until the remains of a failed attempt were undone in the background.
func wins(t *testing.T, d driver.Driver, a driver.Acquisition) (g driver.Grant) {
	t.Helper()
	var err error
	until(t, "a majority grants", func() bool {
		g, err = d.Acquire(t.Context(), a)
		return err == nil
	})
	return g
}

// Servers remember different fences. The fence that a majority answers, or otherwise the highest,
// is stored on a majority when the grant is reported: in one round trip if a majority agrees,
// otherwise with a second one to the servers that differ and have answered by then.
func TestFenceWrittenBack(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{Namespace: "back", NodeTimeout: slow})
	d.AgreeWithin(time.Second) // otherwise, with a slow answer, the highest of fewer fences is chosen
	d.Warm(t.Context())
	far := anHourAhead()
	for _, c := range []struct {
		name        string
		last        [5]int64
		want        int64
		least, most int64 // requests
		holders     int
	}{
		{"all agree", [5]int64{far, far, far, far, far}, far + 1, 5, 5, 5},
		{"a majority agrees", [5]int64{far, far + 7, far, far + 9, far}, far + 1, 5, 5 + 2, 3},
		{"none agree", [5]int64{far, far + 7, far + 1, far + 9, far + 2}, far + 10, 5 + 4, 5 + 4, 5},
	} {
		for i, last := range c.last {
			must(t, cs[i].Set(t.Context(), redlock.BackKey("back", c.name), redlock.State(last, 1, time.Minute, "gone/1"), time.Minute).Err())
		}
		gates.asked()
		g, _ := acquire(t, d, asking(c.name, time.Minute))
		d.Settle()
		asked := gates.asked()
		if g.Fence != c.want || asked < c.least || asked > c.most {
			t.Errorf("%s: the fence is far%+d after %d requests, want far%+d after %d to %d",
				c.name, g.Fence-far, asked, c.want-far, c.least, c.most)
		}
		holders := 0
		for i := range cs {
			if redlock.Fence(cs[i], "back", c.name) == c.want {
				holders++
			}
		}
		if holders < c.holders {
			t.Errorf("%s: %d servers hold the fence far%+d, want %d or more", c.name, holders, c.want-far, c.holders)
		}
	}
}

// anHourAhead returns a fence that no clock reaches during a test, and that is not doubt.
func anHourAhead() int64 { return time.Now().Add(time.Hour).UnixMicro() }

// A nap is a hook that calls a function before it sends a script that is no request of a lease.
type nap func()

func (n nap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n nap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); args[0] == "evalsha" && args[1] != redlock.AcquireHash() {
			n()
		}
		return next(ctx, cmd)
	}
}

func (n nap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The machine is suspended while an owner gives its vote back because the votes are split, until the
// others have ended. The fence of its next request comes from the time of the servers after that.
func TestSuspendedWhileVotesAreSplit(t *testing.T) {
	sims, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{Namespace: "nap", NodeTimeout: slow})
	d.Warm(t.Context())
	for i, other := range []string{"a/1", "a/2"} {
		must(t, cs[i].Set(t.Context(), redlock.Key("nap", "key"), redlock.State(1, 1, 0, other), time.Minute).Err())
	}
	cs[2].AddHook(nap(sync.OnceFunc(func() {
		d.Suspend(time.Hour)
		for _, s := range sims {
			s.wait(time.Hour)
		}
	})))
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "b/1", TTL: time.Minute})
	if least := sims[0].now.UnixMicro(); err != nil || g.Fence < least {
		t.Errorf("the fence is %d, %v, want %d or more", g.Fence, err, least)
	}
}
