package sms

import (
	"context"
	"errors"
	"fmt"
)

// A Receipt is what a gateway says of a message after it has accepted it.
type Receipt struct {
	ID        string // of the message
	Delivered bool   // it has reached its recipient; else it has not, and will not
	Reason    string // why not; cut and made one line
}

// Receive notes a receipt. It may come again, and before the run that sent the message has
// marked it; once delivered a message stays delivered. A message that was delivered is not
// sent again, also if the gateway's answer to its request was lost. ErrUnknown: no message
// with this id may have been sent, or it ended longer ago than is kept.
func (o *Outbox) Receive(ctx context.Context, r Receipt) error {
	if !idPattern.MatchString(r.ID) {
		return fmt.Errorf("sms: receive: %w", &FieldError{"id", quote(r.ID), "1 to 64 of A-Z a-z 0-9 . _ -"})
	}
	outcome := keyUndelivered
	if r.Delivered {
		outcome = keyDelivered
	}
	keys := o.keys(keyStatus, keySent, keyRepeated, keyDelivered, keyUndelivered,
		keyQueued, keyUrgent, keyLow, keyRetry, keyFailed, keyExpired, keyCancelled)
	answer, err := receiptScript.Run(ctx, o.client, keys, r.ID, outcome, clean(r.Reason, "")).StringSlice()
	switch {
	case err != nil:
	case len(answer) == 1 && answer[0] == "ok":
		return nil
	case len(answer) == 1 && answer[0] == "unknown":
		err = ErrUnknown
	default:
		err = errors.New("unknown answer")
	}
	return fmt.Errorf("sms: receive %s: %w", quote(r.ID), err)
}
