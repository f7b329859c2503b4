package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A lossError is the cause of the end of a lease whose trust has ended. It is
// ErrLost, and says why no renewal has moved that end.
type lossError struct {
	fixed    bool
	answered bool          // a renewal was answered, too late
	since    time.Duration // from the sending of the last renewal that counts, or of the request for the lease, to the end of trust
	late     time.Duration // from the end of trust until the answer came, or until this process noticed the end; negative: the wall clock says so alone
	doubt    error         // of the last renewal; nil: none has failed
}

// noticed is how late the end of trust may be noticed without a mention in the error.
const noticed = time.Second

func (e *lossError) Error() string {
	text := ErrLost.Error()
	switch {
	case e.fixed:
		text += ": its time is over, and it is not renewed"
	case e.late < 0:
		return text + ": this machine was suspended, or its clock was put forward"
	case e.answered:
		return text + fmt.Sprintf(": a renewal was answered %v too late", e.late.Round(time.Millisecond))
	default:
		text += fmt.Sprintf(": no renewal was answered within %v", e.since.Round(time.Millisecond))
	}
	if e.doubt != nil {
		text += ": " + cut(e.doubt.Error(), maxCause)
	}
	if e.late > noticed {
		text += fmt.Sprintf("; this process noticed it %v late", e.late.Round(time.Millisecond))
	}
	return text
}

func (e *lossError) Unwrap() error { return ErrLost }

// maxCause bounds, in bytes, the text of a driver's error.
const maxCause = 512

// loss is why the lease is lost now that its trust has ended.
func (s *Lease) loss() error {
	k := &s.locker.renewer
	k.mu.Lock()
	defer k.mu.Unlock()
	return s.lossAt(k.now(), false)
}

// lossAt is loss at a time on the renewer's clock; answered: because an answer has
// come at that time. The renewer's mutex is held.
func (s *Lease) lossAt(now int64, answered bool) error {
	return &lossError{
		fixed: s.fixed, answered: answered, doubt: s.doubt,
		since: s.span - margin(s.span), // which the trust is counted from
		late:  time.Duration(now - s.trust.Load()),
	}
}

// A renewal is the answer to the renewal of a lease.
type renewal struct {
	series.RenewAnswer
	lost error // of a plain lease that is not alive: the driver's answer
}

// newRenewal returns what a driver's answer to the renewal of a plain lease says.
func newRenewal(g driver.Grant, err error) renewal {
	if doubtful(err) {
		return renewal{RenewAnswer: series.RenewAnswer{Err: err}}
	}
	return renewal{RenewAnswer: series.RenewAnswer{Alive: err == nil, Left: g.Left}, lost: err}
}

// taken is why a lease is not alive though its time is not over: what the store knows
// of that, or else that it forgot the lease.
func (r *renewal) taken() error {
	if wasTaken(r.lost) {
		return r.lost
	}
	return ErrForgotten
}

// wasTaken reports whether an answer says that a lease was taken from its owner.
func wasTaken(err error) bool { return errors.Is(err, ErrForced) }

// cut returns at most the first n bytes of a text, without half a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
