package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Pay makes what an order reserved sold. An order that is paid already stays as it
// is and is no error. One that is past its time is expired, whether or not a run
// has noticed: that, and an order that was cancelled, is an ErrClosed. An id that
// is not known is an ErrUnknownOrder. For doubt see Reserve: Pay may be called
// again.
func (s *Sale) Pay(ctx context.Context, id string) (Record, error) {
	return s.close(ctx, "pay", id, Paid, payScript, keyStock, keyReserved, keySold, keyFresh, keyDue, keyUnsettled)
}

// Cancel gives back what an order reserved. An order that is cancelled already
// stays as it is and is no error; one that is paid or expired is an ErrClosed. An
// id that is not known is an ErrUnknownOrder. For doubt see Reserve: Cancel may be
// called again.
func (s *Sale) Cancel(ctx context.Context, id string) (Record, error) {
	return s.close(ctx, "cancel", id, Cancelled, cancelScript, keyStock, keyReserved, keyFresh, keyDue, keyUnsettled)
}

// close brings an order into a last state.
func (s *Sale) close(ctx context.Context, what, id string, into State, script *redis.Script, names ...string) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, fmt.Errorf("stock: %s: %w", what, err)
	}
	answer, at, err := s.change(ctx, script, append(s.keys(keyOrder+id), s.keys(names...)...), id)
	var r Record
	if err == nil {
		r, err = closed(id, answer)
	}
	switch {
	case err == nil:
		err = s.settle(ctx, at, r)
	case errors.Is(err, ErrUnknownOrder):
		if r, err = s.booked(ctx, at.epoch, id); err == nil && r.State != into {
			err = &ClosedError{ID: id, State: r.State}
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("stock: %s %q: %w", what, id, err)
	}
	s.remember(at.epoch, r)
	return r, nil
}

func closed(id string, answer []string) (Record, error) {
	switch {
	case is(answer, "ok", 2):
		return parseRecord(id, answer[1])
	case is(answer, "closed", 2):
		r, err := parseRecord(id, answer[1])
		if err == nil {
			err = &ClosedError{ID: id, State: r.State}
		}
		return Record{}, err
	case is(answer, "unknown", 1):
		return Record{}, ErrUnknownOrder
	}
	return Record{}, strange(answer)
}

// Order returns an order by its id, or ErrUnknownOrder.
func (s *Sale) Order(ctx context.Context, id string) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, fmt.Errorf("stock: order: %w", err)
	}
	line, err := again(ctx, func() (string, error) { return s.client.Get(ctx, s.key(keyOrder+id)).Result() })
	var r Record
	switch {
	case errors.Is(err, redis.Nil):
		r, err = s.booked(ctx, s.epoch(), id)
	case err == nil:
		r, err = parseRecord(id, line)
	}
	if err != nil {
		return Record{}, fmt.Errorf("stock: order %q: %w", id, err)
	}
	return r, nil
}
