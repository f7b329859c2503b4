package sms

import (
	"context"
	"errors"
	"fmt"
)

// ErrState is returned for a message whose state does not allow the call: a run has it, it was
// sent, it has expired, or it cannot be read.
var ErrState = errors.New("its state does not allow it")

// Retry queues a failed or cancelled message again, with all its attempts, and makes a message that
// waits after a refusal due at once. It changes nothing, and returns nil, for a message that waits
// and was never refused. It returns ErrUnknown or ErrState; after any other error it is unknown
// whether the message is queued: repeat the call.
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

// RetryFailed queues all failed messages again, except unreadable ones, and returns their number.
// After an error the rest stays failed.
func (o *Outbox) RetryFailed(ctx context.Context) (int, error) {
	queued := 0
	for from := (place{}); ; { // newest first, so that the loop ends even while messages fail
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

// Cancel ends a message that waits, has failed, or was put aside. It is not sent, and its id stays
// known as long as that of a sent message. A repeated call changes nothing. It returns ErrUnknown,
// or ErrState if a run has the message, or if it was sent or has expired. After any other error it
// is unknown whether the message is cancelled: repeat the call.
func (o *Outbox) Cancel(ctx context.Context, id string) error {
	keys := o.keys(keyBody, keyStatus, keyBroken, keyCancelled, keyQueued, keyRetry, keyFailed)
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

// allowed returns the error for the code of a message; the code already is no error.
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
