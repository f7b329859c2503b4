package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A person is the one that an order is for.
type person struct {
	placed          time.Time // the order, whose id may have been used before
	receiver, phone string
}

// people reads the receivers of the orders of events, by their ids: no event has them.
func (s *Sale) people(ctx context.Context, events []Event) (map[string]person, error) {
	ids := make([]string, len(events))
	for i := range events {
		ids[i] = events[i].Order
	}
	slices.Sort(ids)
	people := map[string]person{}
	for some := range slices.Chunk(slices.Compact(ids), maxBatch) {
		if err := s.options.Book.people(ctx, s.ID(), some, people); err != nil {
			return nil, fmt.Errorf("read the receivers of orders: %w", err)
		}
	}
	return people, nil
}

func (b *Database) people(ctx context.Context, sale string, ids []string, people map[string]person) error {
	args := []any{sale}
	for _, id := range ids {
		args = append(args, id)
	}
	query := b.dialect.Bind("SELECT id, placed_at, receiver, phone FROM orders WHERE sale = ? AND id IN (" + marks(len(ids)) + ")")
	return b.transact(ctx, sale, func(tx *transaction) error { // which finds them by their keys
		rows, err := tx.tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var placed int64
			var p person
			if err := rows.Scan(&id, &placed, &p.receiver, &p.phone); err != nil {
				return err
			}
			p.placed = time.UnixMilli(placed).UTC()
			people[id] = p
		}
		return errors.Join(rows.Err(), rows.Close())
	})
}
