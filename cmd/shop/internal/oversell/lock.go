package oversell

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock"
)

// Lock reads, checks and writes while it holds a lock of package lock, and passes the lease's fence
// to the shelf with the read and with the write. The lock keeps buyers apart. The fence stops a
// buyer that was paused beyond its lease. The strategies lock, redlock, sql-lease and zookeeper are
// this strategy on different stores.
type Lock struct {
	Locker *lock.Locker
	Key    string
	Shelf  GuardedShelf
	Work   Work

	line
}

// Buy implements [Strategy].
func (s *Lock) Buy(ctx context.Context, order string) error {
	waiting, stop := s.waiting(ctx)
	defer stop()
	lease, err := s.Locker.Acquire(waiting, s.Key, lock.Options{Context: ctx})
	if err != nil {
		return soldOut(err)
	}
	defer release(ctx, lease)
	if err := s.turn(); err != nil {
		return err
	}
	return s.ended(s.sell(lease.Context(), lease, order)) // the waits end before the lock is released
}

// soldOut returns err, or ErrSoldOut alone if it ended the wait.
func soldOut(err error) error {
	if errors.Is(err, ErrSoldOut) {
		return ErrSoldOut
	}
	return err
}

// sell reads, checks and writes.
func (s *Lock) sell(ctx context.Context, lease *lock.Lease, order string) error {
	left, err := s.Shelf.ReadLeft(ctx, lease.Fence())
	if err != nil {
		return err
	}
	if left < 1 {
		return ErrSoldOut
	}
	if err := s.Work(ctx); err != nil {
		return err
	}
	return s.Shelf.Sell(ctx, lease.Fence(), left-1, order)
}

// release releases the lock. If that fails the lock ends with its TTL, and the order stays valid.
func release(ctx context.Context, lease *lock.Lease) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	_ = lease.Release(ctx)
}
