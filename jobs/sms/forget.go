package sms

import (
	"context"
	"fmt"
	"strings"
)

// scanLength is the approximate number of messages that one script reads.
const scanLength = 500

// Forgotten is the result of Forget.
type Forgotten struct {
	Deleted int // messages
	Busy    int // messages that a run has: repeat the call
}

// Forget deletes all messages of a person, in every state, with their ids: a message with such an id
// is new again. Recipient is a number (+12025550123) or a Message.Person. Messages that are accepted
// meanwhile may remain. It reads all messages, a few hundred per step. After an error some messages may
// be deleted: repeat the call.
func (o *Outbox) Forget(ctx context.Context, recipient string) (Forgotten, error) {
	var f Forgotten
	if !numberPattern.MatchString(recipient) && !idPattern.MatchString(recipient) {
		return f, fmt.Errorf("sms: forget: %w", &FieldError{"person", quoteNumber(recipient), "a number such as +12025550123, or 1 to 64 of A-Z a-z 0-9 . _ -"})
	}
	for cursor := "0"; ; {
		flat, err := scanScript.Run(ctx, o.client, o.keys(keyBody), cursor, scanLength, recipient).StringSlice()
		if err == nil && len(flat)%2 != 1 {
			err = fmt.Errorf("%d values in an answer of a cursor and pairs", len(flat))
		}
		if err == nil {
			err = o.forget(ctx, recipient, flat[1:], &f)
		}
		if err != nil {
			return f, fmt.Errorf("sms: forget: %w", err)
		}
		if cursor = flat[0]; cursor == "0" {
			return f, nil
		}
	}
}

// forget deletes the messages of a person from a list of id and body. An unreadable body that contains
// the person's identifier counts as theirs.
func (o *Outbox) forget(ctx context.Context, recipient string, flat []string, f *Forgotten) error {
	var theirs []any
	for i := 0; i < len(flat); i += 2 {
		m, err := decode(flat[i], flat[i+1])
		if m.To == recipient || m.Person == recipient || err != nil && strings.Contains(flat[i+1], recipient) {
			theirs = append(theirs, flat[i], flat[i+1])
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	keys := o.keys(keyBody, keyStatus, keyTaken, keyQueued, keyRetry, keySent, keyFailed, keyExpired,
		keyBroken, keyRepeated, keyDelivered, keyUndelivered)
	codes, err := forgetScript.Run(ctx, o.client, keys, theirs...).StringSlice()
	if err == nil && len(codes) != len(theirs)/2 {
		err = fmt.Errorf("%d answers to %d messages", len(codes), len(theirs)/2)
	}
	for _, code := range codes {
		switch code {
		case "ok":
			f.Deleted++
		case "taken":
			f.Busy++
		}
	}
	return err
}
