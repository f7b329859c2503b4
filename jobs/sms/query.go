package sms

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnknown is returned for an id that is not in the outbox.
var ErrUnknown = errors.New("no such message in the outbox")

// Get reads one message. ErrUnknown: it was never in the outbox, or it ended longer ago than
// Options.Retention.
func (o *Outbox) Get(ctx context.Context, id string) (Record, error) {
	flat, err := getScript.Run(ctx, o.client, o.keys(keyBody, keyStatus), id).StringSlice()
	if err == nil && len(flat) == 0 {
		err = ErrUnknown
	}
	var records []status
	if err == nil {
		records, err = parseRecords(flat)
	}
	if err != nil {
		return Record{}, fmt.Errorf("sms: get %s: %w", quote(id), err)
	}
	return records[0].Record, nil
}

// Counts are the numbers of messages by state, read in one step.
type Counts struct {
	Queued      int `json:"queued"`      // waiting, including due ones
	Due         int `json:"due"`         // of these, due now
	Taken       int `json:"taken"`       // held by a run
	Sent        int `json:"sent"`        // accepted by the gateway: Once and Repeated
	Once        int `json:"once"`        // of these, sent with one request
	Repeated    int `json:"repeated"`    // of these, possibly sent more than once, under the same key
	Failed      int `json:"failed"`      // will not be sent
	Expired     int `json:"expired"`     // will not be sent, because Message.Until is over
	Delivered   int `json:"delivered"`   // sent, and delivered according to the receipt
	Undelivered int `json:"undelivered"` // sent, and not delivered according to the receipt
	Broken      int `json:"broken"`      // put aside, because they cannot be read
}

// Counts counts the messages in the outbox, without those that were deleted after
// Options.Retention.
func (o *Outbox) Counts(ctx context.Context) (Counts, error) {
	keys := o.keys(keyTaken, keySent, keyFailed, keyRepeated, keyBroken, keyExpired, keyDelivered, keyUndelivered, keyQueued, keyRetry)
	n, err := countsScript.Run(ctx, o.client, keys).Int64Slice()
	if err == nil && len(n) != 10 {
		err = fmt.Errorf("%d numbers, want 10", len(n))
	}
	if err != nil {
		return Counts{}, fmt.Errorf("sms: counts: %w", err)
	}
	c := Counts{Queued: int(n[0]), Due: int(n[1]), Taken: int(n[2]), Sent: int(n[3]), Failed: int(n[4]), Repeated: int(n[5]), Broken: int(n[6]), Expired: int(n[7]),
		Delivered: int(n[8]), Undelivered: int(n[9])}
	c.Once = c.Sent - c.Repeated
	return c, nil
}

// Trim deletes up to 300 messages that ended longer ago than Options.Retention, and returns their
// number. Each run of the job calls it.
func (o *Outbox) Trim(ctx context.Context) (int, error) {
	keys := o.keys(keyBody, keyStatus, keyRepeated, keyDelivered, keyUndelivered, keySent, keyFailed, keyExpired)
	n, err := trimScript.Run(ctx, o.client, keys, o.retention.Milliseconds(), trimAtOnce).Int()
	if err != nil {
		return 0, fmt.Errorf("sms: trim: %w", err)
	}
	return n, nil
}
