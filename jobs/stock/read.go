package stock

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// Order returns an order by its id, or ErrUnknownOrder. An order past its time is returned as
// expired, even before releaseExpired has closed it.
func (s *Sale) Order(ctx context.Context, id string) (Record, error) {
	r, at, err := s.stored(ctx, id)
	if err != nil {
		return Record{}, fmt.Errorf("stock: order: %w", err)
	}
	return r.by(at), nil
}

// stored reads an order from the store or else the book, with the time of the read.
func (s *Sale) stored(ctx context.Context, id string) (r Record, at time.Time, err error) {
	if err := checkID(id); err != nil {
		return Record{}, at, err
	}
	epoch := s.epoch()
	answer, err := s.runScript(ctx, recordScript, s.keys(keyFresh, keyDue, keyUnsettled, keyOrder+id), id)
	if err == nil && len(answer) != 2 {
		err = unknownAnswer(answer)
	}
	if err == nil {
		at, err = parseTime(answer[0])
	}
	switch {
	case err != nil:
	case answer[1] == "":
		r, err = s.bookedOrder(ctx, epoch, id)
	default:
		r, err = parseRecord(id, answer[1])
	}
	if err != nil {
		return Record{}, at, fmt.Errorf("%s: %w", format.Quote(id), err)
	}
	return r, at, nil
}

// by returns the order as of a time: an open order past its time is expired.
func (r Record) by(at time.Time) Record {
	if r.State.open() && !at.Before(r.Due) {
		r.State, r.Changed = Expired, r.Due
	}
	return r
}
