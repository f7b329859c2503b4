package sms

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Look returns where messages are, up to 500, and in the same step the place of a list: what
// its caller has written down last with SetPlace. The place is empty where there is none, and so
// is the state of an id that the outbox does not know: the message never was accepted, or it ended
// longer ago than is kept, or it was forgotten. A place that is gone, or is an older
// one, shows that the store has lost data.
func (o *Outbox) Look(ctx context.Context, list string, ids ...string) (place string, states []State, err error) {
	if len(ids) > maxBatch {
		return "", nil, fmt.Errorf("sms: look: %w", &FieldError{"ids", strconv.Itoa(len(ids)), "up to 500"})
	}
	args := make([]any, 0, 1+len(ids))
	args = append(args, list)
	for _, id := range ids {
		args = append(args, id)
	}
	answer, err := o.ask(ctx, lookScript, o.keys(keyStatus, keyPlaces), args...)
	if err == nil && len(answer) != len(args) {
		err = fmt.Errorf("%d answers to %d questions", len(answer), len(args))
	}
	if err != nil {
		return "", nil, fmt.Errorf("sms: look: %w", err)
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
