package stock

import (
	"context"
	"errors"
	"fmt"
)

// booked is what the book has of an order that the store does not have, on the shelf of
// an epoch. In a last state it may have been forgotten, after Options.Retention, or lost.
// An open one the store never forgets: the shelf has lost it, and is closed. While the
// book does not answer, the store's word counts, unless Options.Settled promises more.
func (s *Sale) booked(ctx context.Context, epoch, id string) (Record, error) {
	if err := s.forgotten(ErrUnknownOrder); s.options.Book == nil || !errors.Is(err, ErrUnknownOrder) {
		return Record{}, err
	}
	bounded, stop := context.WithTimeout(ctx, within(ctx, askTime))
	defer stop()
	o, err := s.options.Book.order(bounded, s.ID(), id)
	switch {
	case err != nil && s.options.Settled:
		return Record{}, fmt.Errorf("look into the book: %w", err)
	case err != nil || o.State == "":
		return Record{}, ErrUnknownOrder
	case !o.State.open():
		return o.Record, nil
	}
	missing, err := s.missing(ctx, epoch, []string{id})
	if err != nil {
		return Record{}, err
	}
	if len(missing) > 0 {
		return Record{}, closedShelf("behind")
	}
	return Record{}, ErrUnknownOrder // it came, or the shelf was closed, in between: as it was when it was asked for
}

// missing returns which orders, of those that the book has as open, the store does
// not have, and closes the shelf then: it has lost them.
func (s *Sale) missing(ctx context.Context, epoch string, ids []string) ([]string, error) {
	args := make([]any, 0, 1+len(ids))
	args = append(args, epoch)
	for _, id := range ids {
		args = append(args, id)
	}
	missing, err := s.ask(ctx, missingScript, s.orderKeys(ids, keyShelf, keyFresh, keyDue), args...)
	if err != nil {
		return nil, fmt.Errorf("stock: look for orders: %w", err)
	}
	return missing, nil
}
