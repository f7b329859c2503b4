package oversell

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// A Strategy sells single items of one product to concurrent buyers.
type Strategy interface {
	// Buy sells one item under an order's id. It returns ErrSoldOut if none is left; after any
	// other error it is unknown whether the order exists.
	Buy(ctx context.Context, order string) error
}

// ErrSoldOut is returned when no item is left.
var ErrSoldOut = errors.New("sold out")

// Work is the work of a shop between reading the stock and writing it, such as computing the price.
// It returns early when ctx ends.
type Work func(ctx context.Context) error

// Wait returns work that takes d.
func Wait(d time.Duration) Work {
	return func(ctx context.Context) error { return wait.Sleep(ctx, d) }
}
