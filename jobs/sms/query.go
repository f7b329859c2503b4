package sms

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// ErrUnknown is returned for an id that is not in the outbox.
var ErrUnknown = errors.New("no such message in the outbox")

// Get reads one message. ErrUnknown: it never was in the outbox, or it ended
// longer ago than is kept.
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

// Counts says how many messages the outbox has in each state. It is read in one
// step.
type Counts struct {
	Queued      int `json:"queued"`      // wait, with those that are due
	Due         int `json:"due"`         // could be taken now
	Taken       int `json:"taken"`       // a run has them
	Sent        int `json:"sent"`        // the gateway accepted them: Once and Repeated
	Once        int `json:"once"`        // of them, those that took one request
	Repeated    int `json:"repeated"`    // of them, those that may have been sent more than once, under the same key
	Failed      int `json:"failed"`      // will not be sent
	Expired     int `json:"expired"`     // will not be sent, as Message.Until came before that
	Cancelled   int `json:"cancelled"`   // will not be sent: see Cancel
	Delivered   int `json:"delivered"`   // of those sent: by their receipts
	Undelivered int `json:"undelivered"` // of those sent: by their receipts
	Broken      int `json:"broken"`      // put aside, as they cannot be read
}

// Counts counts the messages that the outbox has now: those that ended longer ago
// than is kept are not among them.
func (o *Outbox) Counts(ctx context.Context) (Counts, error) {
	keys := o.keys(keyTaken, keySent, keyFailed, keyRepeated, keyBroken, keyCancelled, keyExpired, keyDelivered, keyUndelivered, keyQueued, keyUrgent, keyLow, keyRetry)
	n, err := countsScript.Run(ctx, o.client, keys).Int64Slice()
	if err == nil && len(n) != 11 {
		err = fmt.Errorf("%d numbers, want 11", len(n))
	}
	if err != nil {
		return Counts{}, fmt.Errorf("sms: counts: %w", err)
	}
	c := Counts{Queued: int(n[0]), Due: int(n[1]), Taken: int(n[2]), Sent: int(n[3]), Failed: int(n[4]), Repeated: int(n[5]), Broken: int(n[6]), Cancelled: int(n[7]), Expired: int(n[8]),
		Delivered: int(n[9]), Undelivered: int(n[10])}
	c.Once = c.Sent - c.Repeated
	return c, nil
}

// Trim forgets messages that ended longer ago than is kept, up to 400, and
// returns how many. The job calls it with each run.
func (o *Outbox) Trim(ctx context.Context) (int, error) {
	keys := o.keys(keyBody, keyStatus, keyRepeated, keyDelivered, keyUndelivered, keySent, keyFailed, keyExpired, keyCancelled)
	n, err := trimScript.Run(ctx, o.client, keys, o.retention.Milliseconds(), trimAtOnce).Int()
	if err != nil {
		return 0, fmt.Errorf("sms: trim: %w", err)
	}
	return n, nil
}

// ReadStates returns where messages are, up to 500, and in the same step the place of a list: what
// its caller has written down last with SetPlace. The place is empty where there is none, and so
// is the state of an id that the outbox does not know: the message never was accepted, or it ended
// longer ago than is kept, or it was forgotten. A place that is gone, or is an older
// one, shows that the store has lost data.
func (o *Outbox) ReadStates(ctx context.Context, list string, ids ...string) (place string, states []State, err error) {
	if len(ids) > maxBatch {
		return "", nil, fmt.Errorf("sms: read states: %w", &FieldError{"ids", strconv.Itoa(len(ids)), "up to 500"})
	}
	args := make([]any, 0, 1+len(ids))
	args = append(args, list)
	for _, id := range ids {
		args = append(args, id)
	}
	answer, err := o.ask(ctx, statesScript, o.keys(keyStatus, keyPlaces), args...)
	if err == nil && len(answer) != len(args) {
		err = fmt.Errorf("%d answers to %d questions", len(answer), len(args))
	}
	if err != nil {
		return "", nil, fmt.Errorf("sms: read states: %w", err)
	}
	for _, state := range answer[1:] {
		states = append(states, State(state))
	}
	return answer[0], states, nil
}

// SetPlace writes down the place of a list, if it is still the one that the caller has read,
// and reports whether it is written. It is in the store of the messages, and lost with them.
func (o *Outbox) SetPlace(ctx context.Context, list, from, to string) (bool, error) {
	answer, err := o.ask(ctx, placeScript, o.keys(keyPlaces), list, from, to)
	switch {
	case err != nil:
	case len(answer) == 1 && answer[0] == "ok":
		return true, nil
	case len(answer) == 2 && answer[0] == "other":
		return false, nil
	default:
		err = errors.New("unknown answer")
	}
	return false, fmt.Errorf("sms: set a place: %w", err)
}
