package stock

import (
	"context"
	"fmt"
	"time"
)

// Order returns an order by its id, or ErrUnknownOrder. One that is past its time is
// expired, also before releaseExpired has closed it.
func (s *Sale) Order(ctx context.Context, id string) (Record, error) {
	r, at, err := s.stored(ctx, id)
	if err != nil {
		return Record{}, fmt.Errorf("stock: order: %w", err)
	}
	return r.by(at), nil
}

// stored reads an order as the store has it, or the book, and when that was.
func (s *Sale) stored(ctx context.Context, id string) (r Record, at time.Time, err error) {
	if err := checkID(id); err != nil {
		return Record{}, at, err
	}
	lines, at, err := s.readLines(ctx, []string{id})
	switch {
	case err != nil:
	case lines[0] == "":
		r, err = s.bookedOrder(ctx, s.epoch(), id)
	default:
		r, err = parseRecord(id, lines[0])
	}
	if err != nil {
		return Record{}, at, fmt.Errorf("%s: %w", quote(id), err)
	}
	return r, at, nil
}

// readLines reads the records of up to MaxRead ids as they are stored, empty for those without one,
// and when that was by the store's clock.
func (s *Sale) readLines(ctx context.Context, ids []string) (lines []string, at time.Time, err error) {
	answer, err := s.ask(ctx, recordsScript, s.orderKeys(ids))
	if err == nil && len(answer) != 1+len(ids) {
		err = strange(answer)
	}
	if err != nil {
		return nil, at, err
	}
	at, err = parseTime(answer[0])
	return answer[1:], at, err
}

// by is what an order is at a time: one whose time is over can become nothing but expired.
func (r Record) by(at time.Time) Record {
	if r.State.open() && !at.Before(r.Due) {
		r.State, r.Changed = Expired, r.Due
	}
	return r
}
