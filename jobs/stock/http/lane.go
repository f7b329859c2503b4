package stockhttp

import (
	"context"
	"net/http"
	"time"
)

// The lanes. Each kind of requests has places of its own, so that one kind cannot use up the places
// of another.
const (
	laneOrders   = iota // requests of buyers
	laneReads           // requests that change nothing
	lanePayments        // payments and requests of sellers
	lanes
)

// lane returns the lane of a route's requests.
func (r route) lane() int {
	switch {
	case r.method == http.MethodGet:
		return laneReads
	case r.roles[0] == Buyer:
		return laneOrders
	}
	return lanePayments
}

// A lane has a place for each of its requests that is being served: a value in the channel.
type lane chan struct{}

// enter gets a place, and reports whether one was free in time. A place that is free at once is
// taken, however long this goroutine has waited for a processor. The caller returns the place with leave.
func (l lane) enter(ctx context.Context, wait time.Duration) bool {
	select {
	case l <- struct{}{}:
		return true
	default:
	}
	select {
	case l <- struct{}{}:
		return true
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return false
}

func (l lane) leave() { <-l }
