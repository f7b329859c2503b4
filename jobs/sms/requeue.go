package sms

import (
	"context"
	"errors"
	"fmt"
)

// ErrState is returned for a message whose state does not allow the call: a run has it, it was
// sent, it has expired, or it cannot be read.
var ErrState = errors.New("its state does not allow it")

// Retry queues a failed message again, with all its attempts, and makes a message that waits after
// a refusal due at once. It changes nothing, and returns nil, for a message that waits and was never
// refused. It returns ErrUnknown or ErrState; after any other error it is unknown whether the
// message is queued: repeat the call.
func (o *Outbox) Retry(ctx context.Context, id string) error {
	code, err := retryScript.Run(ctx, o.client, o.keys(keyBody, keyStatus, keyRetry, keyFailed), id).Text()
	if err == nil {
		err = retried(code)
	}
	if err != nil {
		return fmt.Errorf("sms: retry %s: %w", quote(id), err)
	}
	return nil
}

// retried returns the error for an answer of the script.
func retried(code string) error {
	switch code {
	case "ok", "queued":
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
