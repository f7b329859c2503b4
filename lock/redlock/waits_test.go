package redlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// A stall is a hook that delays all requests until it ends, whatever their contexts do.
type stall struct{ began, ended chan struct{} }

func (s *stall) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *stall) wait() {
	select {
	case s.began <- struct{}{}:
	case <-s.ended:
	}
	<-s.ended
}

func (s *stall) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { s.wait(); return next(ctx, cmd) }
}

func (s *stall) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { s.wait(); return next(ctx, cmds) }
}

// The context of a request ends while no server answers, and the request ends with it: servers that never
// answer cannot delay it.
func TestRequestsEndWithTheirContext(t *testing.T) {
	h := driver.LeaseRef{Key: "key", Owner: "a/1", Fence: 1, TTL: time.Hour}
	for name, ask := range map[string]func(context.Context, *redlock.Driver) error{
		"acquire": func(ctx context.Context, d *redlock.Driver) error {
			_, err := d.Acquire(ctx, asking("key", time.Hour))
			return err
		},
		"renew": func(ctx context.Context, d *redlock.Driver) error { _, err := d.Renew(ctx, h); return err },
		"renew all": func(ctx context.Context, d *redlock.Driver) error {
			return d.RenewAll(ctx, []driver.LeaseRef{h})[0].Err
		},
		"release": func(ctx context.Context, d *redlock.Driver) error { return d.Release(ctx, h) },
	} {
		t.Run(name, func(t *testing.T) {
			_, cs := simulated(t, 3, 0)
			d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
			d.TellTime(time.Now(), 0)
			all := &stall{make(chan struct{}), make(chan struct{})}
			t.Cleanup(func() { close(all.ended) })
			for _, c := range cs {
				c.AddHook(all)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- ask(ctx, d) }()
			for range cs {
				rig.Soon(t, all.began)
			}
			cancel()
			if err := rig.Soon(t, done); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want the end of the context", err)
			}
		})
	}
}

// The context of an acquisition ends while the votes are split and the owner keeps its own, before a
// repetition or during one: no vote of this owner is left.
func TestContextEndsWhileVotesAreSplit(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{Namespace: "split", NodeTimeout: slow})
	d.TellTime(time.Now(), 0)
	for i, other := range []string{"z/1", "z/2"} {
		must(t, cs[i].Set(t.Context(), redlock.Key("split", "key"), redlock.State(1, 1, 0, other), time.Minute).Err())
	}
	for range 20 {
		gates.asked()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := d.Acquire(ctx, asking("key", time.Minute))
			done <- err
		}()
		until(t, "it is asked again", func() bool { return gates[2].asked.Load() > 3 })
		cancel()
		if err := rig.Soon(t, done); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want the end of the context", err)
		}
		until(t, "the undoing is over", func() bool { d.Settle(); return d.Goroutines() == 0 })
		if n := votes(cs, "split", "key"); n != 2 {
			t.Fatalf("%d votes are left, want only the votes of the others", n)
		}
	}
}

// Servers have the lease of the same owner with another fence. A majority of them means that the lease is
// lost; on fewer the release takes it back, too.
func TestReleaseOfAnotherFence(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	for name, c := range map[string]struct {
		other int // how many of the three servers
		left  int
		want  error
	}{
		"one": {1, 0, nil},
		"two": {2, 2, driver.ErrLost},
	} {
		namespace := fresh()
		d := newDriver(t, cs, redlock.Options{Namespace: namespace, NodeTimeout: slow})
		_, h := acquire(t, d, asking("key", time.Minute))
		for i := range c.other {
			must(t, cs[i].Set(t.Context(), redlock.Key(namespace, "key"), redlock.State(h.Fence+1, 1, 0, h.Owner), time.Minute).Err())
		}
		must(t, cs[2].Del(t.Context(), redlock.Key(namespace, "key")).Err()) // so that no two answers decide
		if err := d.Release(t.Context(), h); !errors.Is(err, c.want) {
			t.Errorf("%s: the release says %v, want %v", name, err, c.want)
		}
		if n := votes(cs, namespace, "key"); n != c.left {
			t.Errorf("%s: %d votes are left, want %d", name, n, c.left)
		}
	}
}

// A server has the lease with another fence, and answers a release after the others have decided: it gets
// the release of any fence then.
func TestLateAnswerOfAnotherFence(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{Namespace: "odd", NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	must(t, cs[2].Set(t.Context(), redlock.Key("odd", "key"), redlock.State(h.Fence+1, 1, 0, h.Owner), time.Minute).Err())
	late := &stall{make(chan struct{}), make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(late.ended) })
	t.Cleanup(goOn)
	cs[2].AddHook(late)
	must(t, d.Release(t.Context(), h))
	goOn()
	until(t, "no vote is left", func() bool { return votes(cs, "odd", "key") == 0 })
}

// All servers answer different fences, and only one of the others takes the highest: without a majority for
// it nothing is granted.
func TestFenceThatAMinorityTakesIsDoubt(t *testing.T) {
	_, cs := simulated(t, 5, 0)
	d := newDriver(t, cs, redlock.Options{Namespace: "few", NodeTimeout: slow})
	d.AgreeWithin(slow)
	d.Warm(t.Context())
	d.TellTime(time.Now(), 0)
	var lull lull
	lull.on.Store(true)
	for i, c := range cs {
		must(t, c.Set(t.Context(), redlock.BackKey("few", "key"), redlock.State(anHourAhead()+int64(10*i), 1, time.Minute, "gone/1"), time.Minute).Err())
		if i < 3 {
			c.AddHook(&lull)
		}
	}
	g, err := d.Acquire(t.Context(), asking("key", time.Minute))
	if inDoubt(t, err); err == nil {
		t.Errorf("it is granted as %+v", g)
	}
	lull.on.Store(false)
	until(t, "no vote is left", func() bool { return votes(cs, "few", "key") == 0 })
}

// A lull is a hook that fails all requests except acquisitions, while it is on.
type lull struct {
	on     atomic.Bool
	failed atomic.Int64
}

func (l *lull) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lull) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); l.on.Load() && (len(args) < 2 || args[1] != redlock.AcquireHash()) {
			l.failed.Add(1)
			cmd.SetErr(errGate)
			return errGate
		}
		return next(ctx, cmd)
	}
}

func (l *lull) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A majority does not answer a release, or one server has voted and does not answer the undoing of a
// failed acquisition. Each gets the request again until it answers: no vote is left.
func TestUnansweredReleasesAreRepeated(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{Namespace: "repeated", NodeTimeout: slow})
	d.Warm(t.Context())
	var lull lull
	for _, c := range cs {
		c.AddHook(&lull)
	}
	_, h := acquire(t, d, asking("key", time.Minute))
	lull.on.Store(true)
	inDoubt(t, d.Release(t.Context(), h))
	until(t, "repetitions fail", func() bool { return lull.failed.Load() >= 9 })
	lull.on.Store(false)
	until(t, "the lease is released", func() bool { return d.Goroutines() == 0 && votes(cs, "repeated", "key") == 0 })
	gated(cs).open(0)
	lull.on.Store(true)
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	inDoubt(t, err)
	lull.on.Store(false)
	until(t, "the vote is taken back", func() bool { return redlock.Left(cs[0], "repeated", "key") <= 0 })
}

// The servers have lost their scripts: the leases of one round trip are renewed nevertheless.
func TestRenewAllWithUnknownScripts(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	var hs []driver.LeaseRef
	for _, key := range []string{"a", "b", "c"} {
		_, h := acquire(t, d, asking(key, time.Minute))
		hs = append(hs, h)
	}
	for _, c := range cs {
		must(t, c.ScriptFlush(t.Context()).Err())
	}
	for i, r := range d.RenewAll(t.Context(), hs) {
		if r.Err != nil || r.Grant.Fence != hs[i].Fence {
			t.Errorf("%s: %+v, %v, want the fence %d", hs[i].Key, r.Grant, r.Err, hs[i].Fence)
		}
	}
}
