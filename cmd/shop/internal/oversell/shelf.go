package oversell

import "context"

// A Shelf holds the stock of one product and its orders.
type Shelf interface {
	// Fill sets the stock, and removes all orders.
	Fill(ctx context.Context, stock int) error
	// Left returns the number of items left.
	Left(ctx context.Context) (int, error)
	// Orders returns the number of orders.
	Orders(ctx context.Context) (int, error)
}

// A GuardedShelf refuses a fence that is lower than one it has seen, with guard.ErrStale.
type GuardedShelf interface {
	// ReadLeft is Left, and stores the fence: from now on no lower fence can sell. Storing the fence
	// with the write alone would be too late: a stopped holder could write between this read and
	// this holder's write.
	ReadLeft(ctx context.Context, fence int64) (int, error)
	// Sell writes the number of items left, and the order.
	Sell(ctx context.Context, fence int64, left int, order string) error
}
