package sms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/internal/wait"
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

// send makes up to tries requests for one piece, at the rate of the gateway. Before each request it
// checks that the run still has its lease, and that the message may be sent.
func (s *sender) send(ctx context.Context, f *flow, p Piece, c clock, tries int) exchange {
	var x exchange
	pauses := wait.Backoff{First: firstPause, Longest: sendTime, Spread: true}
	limit, began := within(ctx, sendTime), time.Now()
	for failed := 1; s.may(ctx, f, p, c, &x); failed++ {
		x.made++
		x.err = safely(ctx, s.gateway, p.Message)
		after, again := x.next()
		if !again || x.made == tries {
			break
		}
		pause := pauses.After(failed)
		if after > 0 {
			pause, failed = after, 0
		}
		if time.Since(began)+pause > limit || wait.Sleep(ctx, pause) != nil {
			break
		}
	}
	return x
}

// may waits for the rate of the gateway, and reports whether a request for the piece may be made then.
func (s *sender) may(ctx context.Context, f *flow, p Piece, c clock, x *exchange) bool {
	if f.stopped.Load() || s.pace.Wait(ctx) != nil || f.stopped.Load() {
		return false
	}
	x.expired = expired(p.Message, c)
	return !x.expired && f.work.may(ctx) == nil
}

// next counts the last request. It reports whether another may follow, and how long the gateway
// wants to wait before it; 0 means that it did not say so.
func (x *exchange) next() (after time.Duration, again bool) {
	if x.err == nil {
		return 0, false
	}
	e, ok := errors.AsType[*GatewayError](x.err)
	if !ok {
		e = &GatewayError{Unsure: true}
	}
	if e.Unsure {
		x.unsure++
	}
	return e.After, !e.Permanent && !e.Route && (!e.Pause || e.After > 0)
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
	kept := &textError{text: err.Error()}
	if e, ok := errors.AsType[*GatewayError](err); ok {
		kept.GatewayError = &GatewayError{Status: e.Status, Permanent: e.Permanent, Pause: e.Pause, Route: e.Route, Unsure: e.Unsure,
			After: min(e.After, longestPause)}
	}
	return kept
}

// A textError is the text of a gateway's error.
type textError struct {
	*GatewayError // nil: the error contained none
	text          string
}

func (s *textError) Error() string { return s.text }

func (s *textError) Unwrap() error {
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
	return wait.Backoff{First: firstDelay, Longest: longDelay}.After(n)
}
