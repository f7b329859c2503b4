package lock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// An inline request is sent by the goroutine of its caller. It saves the two hand-offs of callUntilDone,
// which cost about as much as the request itself if the store is near.
const (
	inlineTime = 25 * time.Millisecond // how long a caller whose context has ended may wait for an inline request
	inlineSlow = 5 * time.Millisecond  // a request that takes longer shows a store that is far or busy
	inlineRest = 16                    // how many calls then go through callUntilDone before an inline request is tried again
	inlineMost = 2                     // at once: requests of many callers share round trips, which a request with a short deadline cannot
)

// inline decides which calls begin with an inline request. The zero value sends none.
type inline struct {
	allowed bool         // the driver is Prompt
	rest    atomic.Int32 // how many more calls go through callUntilDone
	sent    atomic.Int32 // inline requests without an answer
}

// may reports whether a call that acquires a, within ctx, begins with an inline request. If it
// does, the caller must call askInline.
func (i *inline) may(ctx context.Context, a *driver.Acquisition) bool {
	if !i.allowed || ctx.Err() != nil || a.Replicas > 0 {
		return false
	}
	if i.rest.Load() > 0 && i.rest.Add(-1) >= 0 {
		return false
	}
	if i.sent.Add(1) > inlineMost {
		i.sent.Add(-1)
		return false
	}
	return true
}

// postpone lets the next inlineRest calls go through callUntilDone.
func (i *inline) postpone() { i.rest.Store(inlineRest) }

// askInline sends one request on the goroutine of the caller, and returns within inlineTime if ctx
// can end. After doubt, givenUp is the time of the request, and otherwise it is zero: the same owner then
// repeats the request, which changes nothing if the first one was granted.
func (l *Locker) askInline(ctx context.Context, a *driver.Acquisition, o *Options, send asking) (lease *Lease, givenUp time.Time, err error) {
	defer l.inline.sent.Add(-1)
	bound := ctx
	if ctx.Done() != nil {
		var stop context.CancelFunc
		bound, stop = context.WithTimeout(ctx, inlineTime)
		defer stop()
	}
	began := time.Now()
	lease, err = l.request(ctx, bound, a, o, send)
	doubt := doubtful(err)
	if doubt || time.Since(began) > inlineSlow {
		l.inline.postpone()
	}
	if doubt {
		givenUp = began
	}
	return lease, givenUp, err
}

// lateTime is how long a request that was given up may be on its way: a lost packet is sent again after 200 ms, and after 400 ms more
// (RFC 6298, with the shortest timeout of Linux).
const lateTime = time.Second

// repeated notes in a lease, if there is one, when a request for it was given up.
func (s *Lease) repeated(givenUp time.Time) *Lease {
	if s != nil {
		s.givenUp = givenUp
	}
	return s
}

// releaseLate releases the lease once more, without its fence, when a request for it that was given up has arrived. If the network
// delayed the request for longer than the life of the lease, the store granted the key to an owner that no longer exists.
func (s *Lease) releaseLate() {
	left := lateTime - time.Since(s.givenUp)
	if left <= 0 { // so it is if no request was given up
		return
	}
	h := s.ref
	h.Fence = 0
	s.locker.background.later(left, func(ctx context.Context) { _ = s.locker.driver.Release(ctx, h) }) // its TTL ends it otherwise
}
