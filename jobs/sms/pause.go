package sms

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// How long the gateway is left alone after it has refused us, doubling.
const (
	firstPauseOfAll = 5 * time.Second
	longPauseOfAll  = time.Minute     // up to this
	longDoubt       = 5 * time.Minute // up to this while what it refuses may have been accepted
	longestPause    = time.Hour       // whatever Retry-After says: then it is asked again
	maxPauses       = 1000
)

// A PausedError says that messages are due and that the gateway is left alone for a
// while, because it has refused us and not a message, or because it has let nothing through
// and each message that is due was refused before. No message loses an attempt.
type PausedError struct {
	Left   time.Duration // until the gateway is asked again
	Pauses int           // since a message got through, with this one
	Reason string        // what the gateway said last
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("the gateway is paused for another %v (pause %d): %s", e.Left.Round(time.Millisecond), e.Pauses, e.Reason)
}

// pauseAfter is how long the gateway is left alone after n pauses without a message
// that got through; after is its Retry-After.
func pauseAfter(n int, after time.Duration, unsure bool) time.Duration {
	most := longPauseOfAll
	if unsure {
		most = longDoubt
	}
	return min(longestPause, max(after, min(most, firstPauseOfAll<<min(max(0, n), 10))))
}

// pausesOf reads a number of pauses; what is none counts as none.
func pausesOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxPauses)
}

// pause leaves the gateway alone for a while, or ends its pauses if n is 0. A pause is in
// doubt when the messages that were refused may be the reason, and not the gateway: each run
// then tries a message that was never refused.
func (o *Outbox) pause(ctx context.Context, h Holder, d time.Duration, n int, reason string, doubt bool) error {
	answer, err := o.ask(ctx, pauseScript, o.keys(keyFence), h.Fence, h.Run, d.Milliseconds(), min(n, maxPauses), reason, doubt)
	if err == nil {
		_, err = granted(h, answer)
	}
	if err != nil {
		return fmt.Errorf("sms: pause: %w", err)
	}
	return nil
}

// A Pause is what the outbox knows of the gateway: the zero value is no pause.
type Pause struct {
	Until  time.Time `json:"until"` // by the store's clock
	Pauses int       `json:"pauses"`
	Reason string    `json:"reason"`
}

// Paused reads the latest pause of the gateway. It may be over: the next run asks the
// gateway then, and forgets the pause when a message gets through.
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
		return Pause{}, nil // none, or one that take does not believe either
	}
	return Pause{time.UnixMilli(until).UTC(), pausesOf(answer[1]), clean(answer[2], "")}, nil
}
