package locktest

import (
	"context"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// late is a store whose answers come when no caller waits for them any more.
type late struct {
	driver.Driver
	asked  chan struct{} // one for each request
	answer chan struct{} // closed when requests may go on
}

func (l late) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	l.asked <- struct{}{}
	<-l.answer
	return l.Driver.Acquire(context.WithoutCancel(ctx), a)
}

// Wait may only be called if the store is a driver.Waiter: a Locker does not call it otherwise.
func (l late) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	l.asked <- struct{}{}
	<-l.answer
	return l.Driver.(driver.Waiter).Wait(context.WithoutCancel(ctx), a)
}

// polled hides that a store can wait.
type polled struct{ driver.Driver }

func plainLeft(s *fixture) {
	store := late{s.driver, make(chan struct{}, 1), make(chan struct{})}
	l := lock.New(polled{store}, "a")
	s.leaves(&store, l, l.TryAcquire)
}

func waitLeft(s *fixture) {
	store := late{s.driver, make(chan struct{}, 1), make(chan struct{})}
	l := lock.New(store, "a")
	s.leaves(&store, l, l.Acquire)
}

// leaves cancels a request that the store has not answered, lets the store grant it
// then, and fails the test unless the key is free after that.
func (s *fixture) leaves(store *late, l *lock.Locker, acquire func(context.Context, string, lock.Options) (*lock.Lease, error)) {
	s.Helper()
	ctx, stop := context.WithCancel(s.ctx)
	answer := make(chan error, 1)
	go func() {
		_, err := acquire(ctx, "key", lock.Options{TTL: long})
		answer <- err
	}()
	<-store.asked
	stop()
	if err := <-answer; err == nil {
		s.Fatalf("it was granted by a store that has not answered")
	}
	close(store.answer)
	if err := l.Wait(s.ctx); err != nil {
		s.Fatalf("what goes on behind did not end: %v", err)
	}
	s.acquire(s.acquisition(long))
}
