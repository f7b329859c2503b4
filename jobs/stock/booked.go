package stock

import (
	"context"
	"fmt"
)

// bookedOrder is what the book has of an order that the store does not have, or
// ErrUnknownOrder: see booked.
func (s *Sale) bookedOrder(ctx context.Context, epoch, id string) (Record, error) {
	found, err := s.booked(ctx, epoch, []string{id})
	if err != nil {
		return Record{}, err
	}
	r, known := found[id]
	if !known {
		return Record{}, ErrUnknownOrder
	}
	return r, nil
}

// booked is what the book has of up to MaxPage orders that the store does not have, on the shelf
// of an epoch; those that are not known are left out. In a last state they may have been
// forgotten, after Options.Retention, or lost. Open ones the store never forgets: the
// shelf has lost them, and is closed. While the book does not answer, the store's word counts,
// unless Options.Settled promises more.
func (s *Sale) booked(ctx context.Context, epoch string, ids []string) (map[string]Record, error) {
	if len(ids) == 0 {
		return nil, nil // the store has them all, and is read also while it is closed
	}
	if err := s.forgotten(nil); err != nil || s.options.Book == nil {
		return nil, err
	}
	bounded, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	orders, err := s.options.Book.readThese(bounded, s.ID(), "", ids)
	if err != nil && s.options.Settled {
		return nil, fmt.Errorf("read the book: %w", err)
	}
	found, open := map[string]Record{}, []string(nil)
	for _, o := range orders {
		if o.State.open() {
			open = append(open, o.ID)
		} else {
			found[o.ID] = o.Record
		}
	}
	if len(open) > 0 { // an order that came, or a shelf that was closed, in between: as it was when it was asked for
		missing, err := s.missing(ctx, epoch, open)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return nil, closedShelf("behind")
		}
	}
	return found, nil
}

// missing returns which orders, of those that the book has as open, the store does
// not have, and closes the shelf then: it has lost them.
func (s *Sale) missing(ctx context.Context, epoch string, ids []string) ([]string, error) {
	missing, err := s.ask(ctx, missingScript, s.orderKeys(ids, keyShelf, keyFresh, keyDue), argsOf(ids, epoch)...)
	if err != nil {
		return nil, fmt.Errorf("stock: find orders: %w", err)
	}
	return missing, nil
}
