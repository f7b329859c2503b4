package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var waitTests = []test{
	{"a free key is granted without waiting", waitFree},
	{"the first refusal is reported while the waiter waits on", waitRefused},
	{"an owner that has the key already gets the same fence", waitAgain},
	{"waiters get the key in the order in which they came, with growing fences", waitOrder},
	{"a key that is handed on is trusted from when its new owner confirmed", waitTrust},
	{"the fence of a key that is handed on is above what its new owner has seen", waitFloor},
	{"the key of a holder that died goes to who waits", waitExpired},
	{"a waiter that gives up leaves nothing behind", waitCancelled},
	{"the place of a waiter that gives up goes to the next", waitSkipped},
	{"a release by an owner without the lease is told so while another owner waits", waitNotHeld},
	{"a grant that comes as its waiter gives up is given back", waitLate},
	{"a wait with a context that has ended does nothing", waitEnded},
	{"bad arguments of a wait are refused by name", waitArguments},
	{"an owner with a note waits as any other", waitNote},
	{"what a Locker waits for when its caller has left is given back", waitLeft},
}

// A waiter is an owner that waits in its own goroutine.
type waiter struct {
	driver.Acquisition
	stop context.CancelFunc
	done chan struct{} // closed when the fields below are set
	got  driver.Grant
	err  error
}

// await starts a waiter.
func (s *fixture) await(a driver.Acquisition) *waiter {
	ctx, stop := context.WithCancel(s.ctx)
	w := &waiter{Acquisition: a, stop: stop, done: make(chan struct{})}
	s.Cleanup(stop)
	go func() {
		defer close(w.done)
		w.got, w.err = s.driver.(driver.Waiter).Wait(ctx, a)
	}()
	return w
}

// queued starts a waiter that finds the key held, and returns when the waiter has a place.
func (s *fixture) queued(a driver.Acquisition) *waiter {
	s.Helper()
	before := s.inspect(a.Key).Waiting
	w := s.await(a)
	give := time.Now().Add(patience)
	for s.inspect(a.Key).Waiting <= before {
		if time.Now().After(give) {
			s.Fatalf("%s took no place", a.Owner)
		}
		<-time.After(time.Millisecond)
	}
	return w
}

// patience is the longest time for events that should happen soon.
const patience = 20 * time.Second

// served waits for the waiter's grant.
func (s *fixture) served(w *waiter) driver.LeaseRef {
	s.Helper()
	s.finished(w)
	if w.err != nil {
		s.Fatalf("%s waited in vain: %v", w.Owner, w.err)
	}
	return driver.LeaseRef{Key: w.Key, Owner: w.Owner, Fence: w.got.Fence, TTL: w.TTL}
}

func (s *fixture) finished(w *waiter) {
	s.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		s.Fatalf("%s is still waiting; the key stands at %+v", w.Owner, s.inspect(w.Key))
	}
}

// waiting fails the test if the waiter has been answered.
func (s *fixture) waiting(w *waiter) {
	s.Helper()
	select {
	case <-w.done:
		s.Fatalf("%s does not wait: %+v, %v", w.Owner, w.got, w.err)
	default:
	}
}

func (s *fixture) inspect(key string) driver.KeyState {
	s.Helper()
	at, err := s.driver.(driver.Inspector).Inspect(s.ctx, key)
	if err != nil {
		s.Fatalf("inspect %q: %v", key, err)
	}
	return at
}

func waitFree(s *fixture) {
	w := s.await(s.acquisition(long))
	s.release(s.served(w))
	s.within("left", w.got.Left, long)
	equal(s, "the key after the release", s.inspect("key"), driver.KeyState{})
}

func waitRefused(s *fixture) {
	refusals := make(chan *driver.HeldError, 9)
	free := s.acquisition(long)
	free.Refused = func(e *driver.HeldError) { refusals <- e }
	h := s.served(s.await(free))
	equal(s, "refusals of a free key", len(refusals), 0)
	a := s.acquisition(long)
	a.Refused = free.Refused
	w := s.queued(a)
	select {
	case e := <-refusals:
		equal(s, "the refused key", e.Key, a.Key)
	case <-time.After(patience):
		s.Fatal("the refusal is not reported")
	}
	s.waiting(w)
	s.release(h)
	s.served(w)
	equal(s, "refusals reported again", len(refusals), 0)
}

func waitFloor(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	a := s.acquisition(long)
	a.Fence = h.Fence + int64(time.Minute/time.Microsecond)
	w := s.queued(a)
	s.release(h)
	if next := s.served(w); next.Fence <= a.Fence {
		s.Fatalf("the fence is %d, seen was %d", next.Fence, a.Fence)
	}
}

func waitAgain(s *fixture) {
	a := s.acquisition(long)
	g, _ := s.acquire(a)
	equal(s, "the fence", s.served(s.await(a)).Fence, g.Fence)
}

func waitOrder(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	var line []*waiter
	for range 5 {
		line = append(line, s.queued(s.acquisition(long)))
	}
	for i, w := range line {
		s.release(h)
		next := s.served(w)
		if next.Fence <= h.Fence {
			s.Fatalf("waiter %d has the fence %d, the one before had %d", i, next.Fence, h.Fence)
		}
		for _, behind := range line[i+1:] {
			s.waiting(behind)
		}
		h = next
	}
	s.release(h)
	equal(s, "the key after the last release", s.inspect("key"), driver.KeyState{})
}

func waitTrust(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	w := s.queued(s.acquisition(long))
	inLine := time.Now()
	<-time.After(200 * time.Millisecond) // a store that is polled has been polled again; its last poll may still run
	s.release(h)
	h = s.served(w)
	if w.got.Asked.Before(inLine) {
		s.Fatalf("trust is counted from %v before the owner stood in line", inLine.Sub(w.got.Asked))
	}
	s.within("left", w.got.Left, long)
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the renewal of what was handed on: %v", err)
	}
}

func waitExpired(s *fixture) {
	s.acquire(s.acquisition(brief))
	w := s.queued(s.acquisition(long))
	s.env.Wait(brief + slack)
	s.served(w)
}

func waitCancelled(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	w := s.queued(s.acquisition(long))
	w.stop()
	s.finished(w)
	if _, held := errors.AsType[*driver.HeldError](w.err); !held || !errors.Is(w.err, context.Canceled) {
		s.Fatalf("the error is %v, want context.Canceled and a *lock.HeldError", w.err)
	}
	equal(s, "places", s.inspect("key").Waiting, 0)
	s.release(h)
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
	s.acquire(s.acquisition(long))
}

func waitSkipped(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	first, second := s.queued(s.acquisition(long)), s.queued(s.acquisition(long))
	first.stop()
	s.finished(first)
	s.release(h)
	s.served(second)
}

func waitNotHeld(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	w := s.queued(s.acquisition(long))
	other, earlier := h, h
	other.Owner, earlier.Fence = s.owner(), h.Fence-1
	s.lost(s.driver.Release(s.ctx, other))
	s.lost(s.driver.Release(s.ctx, earlier))
	s.release(h)
	s.release(s.served(w))
}

// The key is released and its waiter gives up at the same time, over and over: either the waiter
// was granted the key, or nothing is left of it.
func waitLate(s *fixture) {
	for i := range 30 {
		_, h := s.acquire(s.acquisition(long))
		w := s.queued(s.acquisition(long))
		acts := []func(){func() { s.release(h) }, w.stop}
		acts[i%2]()
		if i%3 == 0 {
			<-time.After(time.Duration(i) * 20 * time.Microsecond)
		}
		acts[1-i%2]()
		s.finished(w)
		if w.err == nil {
			s.release(s.served(w))
		}
		equal(s, "the key", s.inspect("key"), driver.KeyState{})
	}
}

func waitEnded(s *fixture) {
	ctx, stop := context.WithCancel(s.ctx)
	stop()
	if _, err := s.driver.(driver.Waiter).Wait(ctx, s.acquisition(long)); !errors.Is(err, context.Canceled) {
		s.Fatalf("the error is %v, want context.Canceled", err)
	}
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
}

func waitArguments(s *fixture) {
	for argument, a := range map[string]driver.Acquisition{
		"key":   {Owner: "a/1", TTL: long},
		"owner": {Key: "key", TTL: long},
		"TTL":   {Key: "key", Owner: "a/1", TTL: short - 1},
	} {
		_, err := s.front().Wait(s.ctx, a)
		if e, ok := errors.AsType[*driver.ArgumentError](err); !ok || e.Argument != argument {
			s.Errorf("the error is %v, want one that names %s", err, argument)
		}
	}
}
