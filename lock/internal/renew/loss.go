package renew

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A lossError is the cause of the end of a lease whose trust has ended. It is a driver.ErrLost, and says
// why no renewal has moved the end of trust.
type lossError struct {
	fixed    bool
	answered bool          // a renewal was answered, too late
	since    time.Duration // from the sending of the last renewal that counts, or of the acquisition, to the end of trust
	late     time.Duration // from the end of trust to the answer, or until this process noticed the end; negative: only the wall clock shows the end
	doubt    error         // of the last renewal; nil: none has failed
}

// noticed is how late the end of trust may be noticed before the error mentions it.
const noticed = time.Second

func (e *lossError) Error() string {
	text := driver.ErrLost.Error()
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

func (e *lossError) Unwrap() error { return driver.ErrLost }

// maxCause bounds, in bytes, the text of a driver's error.
const maxCause = 512

// loss returns why the lease, whose trust has ended, is lost.
func (s *Lease[R]) loss() error {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	return s.lossAt(k.Now(), false)
}

// lossAt is loss at a time on the keeper's clock. Answered reports that a renewal was answered at
// that time. The keeper's mutex is held.
func (s *Lease[R]) lossAt(now int64, answered bool) error {
	return &lossError{
		fixed: s.fixed, answered: answered, doubt: s.doubt,
		since: trust(s.span), // the trust was counted from there
		late:  time.Duration(now - s.trust.Load()),
	}
}

// cut returns at most the first n bytes of s, without a partial character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
