package sms

import (
	"context"
	"errors"
	"fmt"
)

// ErrState is returned for a message whose state does not allow what was asked: a run has
// it, it was sent, it has expired, or it cannot be read.
var ErrState = errors.New("its state does not allow it")

// Retry queues a message again that has failed or was cancelled, with all its attempts,
// and makes one that waits after a refusal due at once. One that was never refused waits
// as before, and is no error. ErrUnknown, ErrState; after any other error it is not known
// whether it is queued: ask again.
func (o *Outbox) Retry(ctx context.Context, id string) error {
	codes, err := o.retry(ctx, []any{id})
	if err == nil {
		err = allowed(codes[0], "queued")
	}
	if err != nil {
		return fmt.Errorf("sms: retry %s: %w", quote(id), err)
	}
	return nil
}

// RetryFailed queues again what has failed, and returns how many messages that were. An
// error leaves the rest failed. Those that cannot be read stay.
func (o *Outbox) RetryFailed(ctx context.Context) (int, error) {
	queued := 0
	for from := (place{}); ; { // from the latest on: it ends while others fail
		records, last, err := o.step(ctx, keyFailed, from, stepLength)
		if err == nil && len(records) == 0 {
			return queued, nil
		}
		ids := make([]any, len(records))
		for i := range records {
			ids[i] = records[i].Message.ID
		}
		var codes []string
		if err == nil {
			codes, err = o.retry(ctx, ids)
		}
		if err != nil {
			return queued, fmt.Errorf("sms: retry failed: %w", err)
		}
		for _, code := range codes {
			if code == "ok" {
				queued++
			}
		}
		from = last
	}
}

func (o *Outbox) retry(ctx context.Context, ids []any) ([]string, error) {
	keys := o.keys(keyBody, keyStatus, keyRetry, keyFailed, keyCancelled, keyBroken)
	codes, err := retryScript.Run(ctx, o.client, keys, ids...).StringSlice()
	if err == nil && len(codes) != len(ids) {
		err = fmt.Errorf("%d answers to %d messages", len(codes), len(ids))
	}
	return codes, err
}

// Cancel ends a message that waits, has failed, or was put aside: it is not sent, and its
// id stays known for as long as that of one that was sent. Cancelled again it stays so.
// ErrUnknown; ErrState if a run has it, it was sent or has expired; after any other error it is not
// known whether it is cancelled: ask again.
func (o *Outbox) Cancel(ctx context.Context, id string) error {
	keys := o.keys(keyBody, keyStatus, keyBroken, keyCancelled, keyQueued, keyUrgent, keyLow, keyRetry, keyFailed)
	codes, err := cancelScript.Run(ctx, o.client, keys, id).StringSlice()
	if err == nil && len(codes) != 1 {
		err = fmt.Errorf("%d answers, want 1", len(codes))
	}
	if err == nil {
		err = allowed(codes[0], "cancelled")
	}
	if err != nil {
		return fmt.Errorf("sms: cancel %s: %w", quote(id), err)
	}
	return nil
}

// allowed makes an error of the code that a message got; already is one that is none.
func allowed(code, already string) error {
	switch code {
	case "ok", already:
		return nil
	case "unknown":
		return ErrUnknown
	case "taken":
		return fmt.Errorf("a run has it: %w", ErrState)
	case "sent":
		return fmt.Errorf("it was sent: %w", ErrState)
	case "expired":
		return fmt.Errorf("it has expired: %w", ErrState)
	case "broken":
		return fmt.Errorf("it cannot be read: %w", ErrState)
	}
	return fmt.Errorf("unknown answer %s", quote(code))
}
