package sms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/cronce/cronce/internal/panictext"
)

// How a message is tried again inside one run, and how marks are.
const (
	requests    = 3                      // for one message in one run
	firstPause  = 200 * time.Millisecond // between two of them, doubling
	sendTime    = 15 * time.Second       // for one message in one run; a longer Retry-After waits for a later run
	markTime    = 5 * time.Second        // for the marks, also after the run's context has ended
	firstDelay  = 5 * time.Second        // before the next run tries a message again, doubling
	longDelay   = 15 * time.Minute       // up to this
	maxAttempts = 1 << 20
)

// An exchange is what the requests for one piece in one run came to.
type exchange struct {
	made   int   // requests
	unsure int   // of them, those that may have been accepted although they failed
	err    error // of the last; nil: accepted, or none made
}

// send makes the requests for one piece. Before each it makes sure that the run
// still has its lease.
func (s *sender) send(ctx context.Context, w work, p Piece) exchange {
	var x exchange
	once := func() (struct{}, error) {
		if err := w.may(ctx); err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		x.made++
		x.err = safely(ctx, s.gateway, p.Message)
		return struct{}{}, x.next()
	}
	// Its error is that of the last request, which x has, or a lost lease.
	_, _ = backoff.Retry(ctx, once, backoff.WithBackOff(pauses()), backoff.WithMaxTries(requests),
		backoff.WithMaxElapsedTime(within(ctx, sendTime)))
	return x
}

// next counts the last request and says to the retrier what follows it.
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
	case e.Permanent:
		return backoff.Permanent(x.err)
	case e.After > 0:
		return errors.Join(x.err, &backoff.RetryAfterError{Duration: e.After})
	}
	return x.err
}

// within is d, or what the context has left if that is less.
func within(ctx context.Context, d time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, min(d, time.Until(deadline)))
	}
	return d
}

// safely sends once. A panic of the gateway, or of the error that it returns, becomes
// an error: outside the job's own goroutine it would end the process. The error is
// looked at here alone; what is returned is only its text, and the GatewayError in it.
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
		said.GatewayError = &GatewayError{Status: e.Status, Permanent: e.Permanent, Unsure: e.Unsure, After: e.After}
	}
	return said
}

// said is what a gateway's error said.
type said struct {
	*GatewayError // nil: there was none in it
	text          string
}

func (s *said) Error() string { return s.text }

func (s *said) Unwrap() error {
	if s.GatewayError == nil {
		return nil
	}
	return s.GatewayError
}

// mark makes of an exchange what the outbox is told.
func (s *sender) mark(p Piece, x exchange) Mark {
	switch e, _ := errors.AsType[*GatewayError](x.err); {
	case x.made == 0:
		return p.Back()
	case x.err == nil:
		return p.Sent(x.unsure)
	case e != nil && e.Permanent:
		return p.Failed(x.unsure, x.err.Error())
	case p.Attempt >= s.attempts:
		return p.Failed(x.unsure, fmt.Sprintf("given up after %d attempts: %v", p.Attempt, x.err))
	case e != nil:
		return p.Retry(max(e.After, delay(p.Attempt)), x.unsure, x.err.Error())
	}
	return p.Retry(delay(p.Attempt), x.unsure, x.err.Error())
}

// delay is how long a message waits after its n-th attempt.
func delay(n int) time.Duration {
	return min(longDelay, firstDelay<<min(max(0, n-1), 10))
}
