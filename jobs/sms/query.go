package sms

import (
	"cmp"
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

// List reads up to limit messages: of the state, or of all states if it is empty.
// What is queued comes by due time, what was refused before after the rest; what ended
// comes by when it ended, latest first. A message that cannot be read is Broken and
// hides no other. Each state is read in one step, all states are not.
func (o *Outbox) List(ctx context.Context, state State, limit int) ([]Record, error) {
	if limit < 1 {
		return nil, fmt.Errorf("sms: list: %w", &FieldError{"limit", strconv.Itoa(limit), "1 or more"})
	}
	states := States()
	if state != "" {
		if _, err := ParseState(string(state)); err != nil {
			return nil, fmt.Errorf("sms: list: %w", err)
		}
		states = []State{state}
	}
	var all []Record
	for _, s := range states {
		sets := []string{string(s)}
		if s == Queued {
			sets = lanes(1)
		}
		for _, set := range sets {
			if limit == len(all) {
				return all, nil
			}
			got, err := o.list(ctx, set, limit-len(all))
			if err != nil {
				return all, fmt.Errorf("sms: list %s: %w", s, err)
			}
			all = append(all, got...)
		}
	}
	return all, nil
}

// Broken reads up to limit messages that were put aside because they cannot be read, the
// latest first: Record.Broken says why.
func (o *Outbox) Broken(ctx context.Context, limit int) ([]Record, error) {
	if limit < 1 {
		return nil, fmt.Errorf("sms: list broken: %w", &FieldError{"limit", strconv.Itoa(limit), "1 or more"})
	}
	got, err := o.list(ctx, keyBroken, limit)
	if err != nil {
		return nil, fmt.Errorf("sms: list broken: %w", err)
	}
	for i := range got {
		got[i].Broken = cmp.Or(got[i].Broken, "its status was not that of a message that waits")
	}
	return got, nil
}

func (o *Outbox) list(ctx context.Context, set string, limit int) ([]Record, error) {
	order := "ZRANGE"
	if set == keySent || set == keyFailed || set == keyExpired || set == keyBroken || set == keyCancelled {
		order = "ZREVRANGE"
	}
	flat, err := listScript.Run(ctx, o.client, o.keys(keyBody, keyStatus, set), limit, order).StringSlice()
	if err != nil {
		return nil, err
	}
	got, err := parseRecords(flat)
	records := make([]Record, len(got))
	for i := range got {
		records[i] = got[i].Record
	}
	return records, err
}

// Counts says how many messages the outbox has in each state. It is read in one
// step.
type Counts struct {
	Queued    int `json:"queued"`    // wait, with those that are due
	Due       int `json:"due"`       // could be taken now
	Taken     int `json:"taken"`     // a run has them
	Sent      int `json:"sent"`      // the gateway accepted them: Once and Repeated
	Once      int `json:"once"`      // of them, those that took one request
	Repeated  int `json:"repeated"`  // of them, those that may have been sent more than once, under the same key
	Failed    int `json:"failed"`    // will not be sent
	Expired   int `json:"expired"`   // will not be sent, as Message.Until came before that
	Cancelled int `json:"cancelled"` // will not be sent: see Cancel
	Broken    int `json:"broken"`    // put aside, as they cannot be read
}

// Counts counts the messages that the outbox has now: those that ended longer ago
// than is kept are not among them.
func (o *Outbox) Counts(ctx context.Context) (Counts, error) {
	keys := o.keys(keyTaken, keySent, keyFailed, keyRepeated, keyBroken, keyCancelled, keyExpired, keyQueued, keyUrgent, keyLow, keyRetry)
	n, err := countsScript.Run(ctx, o.client, keys).Int64Slice()
	if err == nil && len(n) != 9 {
		err = fmt.Errorf("%d numbers, want 9", len(n))
	}
	if err != nil {
		return Counts{}, fmt.Errorf("sms: counts: %w", err)
	}
	c := Counts{Queued: int(n[0]), Due: int(n[1]), Taken: int(n[2]), Sent: int(n[3]), Failed: int(n[4]), Repeated: int(n[5]), Broken: int(n[6]), Cancelled: int(n[7]), Expired: int(n[8])}
	c.Once = c.Sent - c.Repeated
	return c, nil
}

// Trim forgets messages that ended longer ago than is kept, up to 800, and
// returns how many. The job calls it with each run.
func (o *Outbox) Trim(ctx context.Context) (int, error) {
	keys := o.keys(keyBody, keyStatus, keyRepeated, keySent, keyFailed, keyExpired, keyCancelled)
	n, err := trimScript.Run(ctx, o.client, keys, o.retention.Milliseconds(), trimAtOnce).Int()
	if err != nil {
		return 0, fmt.Errorf("sms: trim: %w", err)
	}
	return n, nil
}
