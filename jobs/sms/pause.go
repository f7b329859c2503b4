package sms

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// The pauses of the gateway after a refusal, doubling.
const (
	firstPauseOfAll = 5 * time.Second
	longPauseOfAll  = time.Minute     // up to this
	longDoubt       = 5 * time.Minute // up to this while refused messages may have been accepted
	longestPause    = time.Hour       // bound for Retry-After
	maxPauses       = 1000
)

// A PausedError is returned when messages are due and the gateway is paused. It has refused the
// sender, or it has let no message through and each due message was refused before. No message
// loses an attempt.
type PausedError struct {
	Left   time.Duration // time until the next request
	Pauses int           // number of pauses since a message got through, including this one
	Reason string        // the gateway's last error
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("the gateway is paused for another %v (pause %d): %s", e.Left.Round(time.Millisecond), e.Pauses, e.Reason)
}

// pauseAfter returns the length of the pause after n pauses in which no message got through. After
// is the gateway's Retry-After, which the first pause follows even if it is short.
func pauseAfter(n int, after time.Duration, unsure bool) time.Duration {
	if n == 0 && after > 0 {
		return min(longestPause, after)
	}
	most := longPauseOfAll
	if unsure {
		most = longDoubt
	}
	return min(longestPause, max(after, wait.Backoff{First: firstPauseOfAll, Longest: most}.After(n+1)))
}

// pausesOf parses a number of pauses; an invalid number counts as none.
func pausesOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxPauses)
}

// pause pauses the gateway or, if n is 0, ends its pauses. A pause is in doubt if the refused
// messages may be the reason, and not the gateway: each run then tries a message that was never
// refused.
func (o *Outbox) pause(ctx context.Context, h Holder, d time.Duration, n int, reason string, doubt bool) error {
	answer, err := o.runScript(ctx, pauseScript, o.keys(keyFence), h.Fence, h.Run, d.Milliseconds(), min(n, maxPauses), reason, doubt)
	if err == nil {
		_, err = granted(h, answer)
	}
	if err != nil {
		return fmt.Errorf("sms: pause: %w", err)
	}
	return nil
}

// A Pause is the state of the gateway in the outbox. The zero value is no pause.
type Pause struct {
	Until  time.Time `json:"until"` // by the store's clock
	Pauses int       `json:"pauses"`
	Reason string    `json:"reason"`
}

// Paused reads the latest pause of the gateway, which may be over. The next run then sends again,
// and removes the pause when a message gets through.
func (o *Outbox) Paused(ctx context.Context) (Pause, error) {
	answer, err := pausedScript.Run(ctx, o.client, o.keys(keyFence)).StringSlice()
	if err == nil && len(answer) != 3 {
		err = fmt.Errorf("%d values, want 3", len(answer))
	}
	if err != nil {
		return Pause{}, fmt.Errorf("sms: paused: %w", err)
	}
	until, err := strconv.ParseInt(answer[0], 10, 64)
	if err != nil || pausesOf(answer[1]) == 0 {
		return Pause{}, nil // there is none, or an invalid one, which take ignores as well
	}
	return Pause{time.UnixMilli(until).UTC(), pausesOf(answer[1]), clean(answer[2], "")}, nil
}
