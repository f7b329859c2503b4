package sms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/cronce/cronce/internal/panictext"
)

// Bounds of the requests for a message in one run, and of its marks.
const (
	requests    = 3                      // for one message in one run
	firstPause  = 200 * time.Millisecond // between two of them, doubling
	sendTime    = 15 * time.Second       // for one message in one run; a longer Retry-After waits for a later run
	markTime    = 5 * time.Second        // for the marks, even after the run's context has ended
	firstDelay  = 5 * time.Second        // before a later run tries a message again, doubling
	longDelay   = 15 * time.Minute       // up to this
	maxAttempts = 1 << 20

	routeAttempts = 3 // of a message whose refusal may concern the URL, while others get through
)

// An exchange is the result of the requests for one piece in one run.
type exchange struct {
	made    int   // requests
	unsure  int   // of these, failed requests that may have been accepted
	err     error // error of the last request; nil: accepted, or none made
	expired bool  // no further request was made because Message.Until may be over
}

// expired reports whether a message may have expired by the store's clock: no message is sent then.
func expired(m Message, c clock) bool { return !m.Until.IsZero() && !c.latest().Before(m.Until) }

// errNoMore ends the requests for a piece when no further one may be made.
var errNoMore = errors.New("no request may be made any more")

// send makes the requests for one piece, at the rate of the gateway. Before each request it checks
// that the run still has its lease, and that the message may be sent.
func (s *sender) send(ctx context.Context, f *flow, p Piece, c clock, tries uint) exchange {
	var x exchange
	once := func() (struct{}, error) {
		if f.stopped.Load() || s.pace.Wait(ctx) != nil || f.stopped.Load() {
			return struct{}{}, backoff.Permanent(errNoMore)
		}
		if x.expired = expired(p.Message, c); x.expired {
			return struct{}{}, backoff.Permanent(errNoMore)
		}
		if err := f.work.may(ctx); err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		x.made++
		x.err = safely(ctx, s.gateway, p.Message)
		return struct{}{}, x.next()
	}
	// The error repeats the last request's error, which x has, or is a lost lease.
	_, _ = backoff.Retry(ctx, once, backoff.WithBackOff(pauses()), backoff.WithMaxTries(tries),
		backoff.WithMaxElapsedTime(within(ctx, sendTime)))
	return x
}

// next counts the last request and returns its error, which decides whether another follows.
func (x *exchange) next() error {
	if x.err == nil {
		return nil
	}
	e, ok := errors.AsType[*GatewayError](x.err)
	if !ok {
		e = &GatewayError{Unsure: true}
	}
	if e.Unsure {
		x.unsure++
	}
	switch {
	case e.Permanent, e.Route:
		return backoff.Permanent(x.err)
	case e.Pause && e.After == 0:
		return backoff.Permanent(x.err)
	case e.After > 0:
		return errors.Join(x.err, &backoff.RetryAfterError{Duration: e.After})
	}
	return x.err
}

// pauses start at firstPause and double.
func pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier = firstPause, 2
	return b
}

// within returns d, or the rest of the context's time if that is less.
func within(ctx context.Context, d time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, min(d, time.Until(deadline)))
	}
	return d
}

// safely makes one request. A panic of the gateway, or of the error that it returns, becomes an
// error: outside the job's own goroutine it would end the process. Only safely reads the error; it
// returns its text and the GatewayError in it, with a bounded After.
func safely(ctx context.Context, g Gateway, m Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the gateway panicked: " + panictext.Of(r))
		}
	}()
	err = g.Send(ctx, m)
	if err == nil {
		return nil
	}
	said := &said{text: err.Error()}
	if e, ok := errors.AsType[*GatewayError](err); ok {
		said.GatewayError = &GatewayError{Status: e.Status, Permanent: e.Permanent, Pause: e.Pause, Route: e.Route, Unsure: e.Unsure,
			After: min(e.After, longestPause)}
	}
	return said
}

// said is the text of a gateway's error.
type said struct {
	*GatewayError // nil: the error contained none
	text          string
}

func (s *said) Error() string { return s.text }

func (s *said) Unwrap() error {
	if s.GatewayError == nil {
		return nil
	}
	return s.GatewayError
}

// refusal returns the last error of the gateway: nil if the message was accepted or finally
// refused, or if no request was made.
func (x *exchange) refusal() *GatewayError {
	if x.made == 0 || x.err == nil {
		return nil
	}
	e, ok := errors.AsType[*GatewayError](x.err)
	switch {
	case !ok:
		return &GatewayError{Unsure: true}
	case e.Permanent:
		return nil
	}
	return e
}

// mark returns the mark for an exchange. Up reports that another message got through since this one
// was taken; pause is the pause of the gateway if none does.
func (s *sender) mark(p Piece, x exchange, up bool, pause time.Duration) Mark {
	e := x.refusal()
	switch {
	case x.expired:
		return p.Expired(x.unsure)
	case x.made == 0:
		return p.Back()
	case x.err == nil:
		return p.Sent(x.unsure)
	case e == nil:
		return p.Failed(x.unsure, x.err.Error())
	case e.Pause:
		return p.Wait(max(e.After, pause), x.unsure, x.err.Error())
	case !up && x.unsure > 0: // it may have been accepted, so each message gets fewer requests
		return p.Wait(max(e.After, pause, delay(p.takes())), x.unsure, x.err.Error())
	case !up:
		return p.Wait(max(e.After, pause), x.unsure, x.err.Error())
	case x.unsure == 0 && !e.Route:
		return p.Wait(max(e.After, delay(p.takes())), 0, x.err.Error())
	case p.Attempt >= s.attempts || e.Route && p.Attempt >= routeAttempts:
		return p.Failed(x.unsure, fmt.Sprintf("given up after %d attempts: %v", p.Attempt, x.err))
	}
	return p.Retry(max(e.After, delay(p.Attempt)), x.unsure, x.err.Error())
}

// takes returns how often runs have taken the piece, including those that counted no attempt.
func (p Piece) takes() int { return int(min(p.take, maxAttempts)) }

// delay returns how long a message waits after its n-th attempt.
func delay(n int) time.Duration {
	return min(longDelay, firstDelay<<min(max(0, n-1), 10))
}
