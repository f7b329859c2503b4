package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// MaxRead is how many orders ReadOrders reads at once.
const MaxRead = 100

// ReadOrders returns the orders with these ids, 1 to MaxRead, each once, in their order, and the
// ids of those that are not known. Each is as [Sale.Order] would return it. It is refused
// with a *FieldError for each id that is not allowed.
func (s *Sale) ReadOrders(ctx context.Context, ids []string) (orders []Record, unknown []string, err error) {
	if err = checkIDs(ids); err == nil {
		orders, unknown, err = s.readOrders(ctx, ids)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("stock: read orders: %w", err)
	}
	return orders, unknown, nil
}

func checkIDs(ids []string) error {
	if len(ids) < 1 || len(ids) > MaxRead {
		return &FieldError{"ids", "a list of " + strconv.Itoa(len(ids)), fmt.Sprintf("1 to %d of them", MaxRead)}
	}
	var faults []error
	seen := map[string]bool{}
	for i, id := range ids {
		field := "ids[" + strconv.Itoa(i) + "]"
		if err := checkID(id); err != nil {
			faults = append(faults, &FieldError{field, quote(id), "1 to 64 of A-Z a-z 0-9 . _ -, and neither . nor .."})
		} else if seen[id] {
			faults = append(faults, &FieldError{field, quote(id) + " again", "each once"})
		}
		seen[id] = true
	}
	return errors.Join(faults...)
}

// readOrders reads orders from the store, and those that it lacks from the book, at once.
func (s *Sale) readOrders(ctx context.Context, ids []string) (orders []Record, unknown []string, err error) {
	epoch := s.epoch()
	lines, err := s.lines(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	var lacking []string
	for i, line := range lines {
		if line == nil {
			lacking = append(lacking, ids[i])
		}
	}
	found, err := s.booked(ctx, epoch, lacking)
	if err != nil {
		return nil, nil, err
	}
	for i, line := range lines {
		r, known := found[ids[i]]
		if text, ok := line.(string); ok {
			if r, err = parseRecord(ids[i], text); err != nil {
				return nil, nil, fmt.Errorf("order %q: %w", ids[i], err)
			}
			known = true
		}
		if known {
			orders = append(orders, r)
		} else {
			unknown = append(unknown, ids[i])
		}
	}
	return orders, unknown, nil
}
