package oversell

import "context"

// A Shelf is where the stock of one product and its orders are kept.
type Shelf interface {
	// Fill puts the stock in, and forgets all orders.
	Fill(ctx context.Context, stock int) error
	// Left is how many items the shelf says are left.
	Left(ctx context.Context) (int, error)
	// Orders is how many orders there are.
	Orders(ctx context.Context) (int, error)
}

// A GuardedShelf refuses, with guard.ErrStale, a fence that is lower than one that
// it has seen.
type GuardedShelf interface {
	// ReadLeft is Left, and remembers the fence: from now on no lower one sells. To
	// bring the fence with the write alone would be too late: a holder that was
	// stopped could write between this read and this holder's own write.
	ReadLeft(ctx context.Context, fence int64) (int, error)
	// Sell writes what is left now, and the order.
	Sell(ctx context.Context, fence int64, left int, order string) error
}
