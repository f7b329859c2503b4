package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// MaxRead is how many orders ReadOrders reads at once.
const MaxRead = 100

// A Reading is what was read of some orders, each in the order of the ids.
type Reading struct {
	Orders     []Record
	Unknown    []string // the ids of which there is no order
	Unreadable []string // the ids of those whose records cannot be read; the error of [Sale.Order] says why
}

// ReadOrders reads the orders with these ids, 1 to MaxRead, each once. Each is as [Sale.Order] would
// return it. It is refused with a *FieldError for each id that is not allowed.
func (s *Sale) ReadOrders(ctx context.Context, ids []string) (Reading, error) {
	var all Reading
	err := checkIDs(ids)
	if err == nil {
		all, err = s.readOrders(ctx, ids)
	}
	if err != nil {
		return Reading{}, fmt.Errorf("stock: read orders: %w", err)
	}
	return all, nil
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
func (s *Sale) readOrders(ctx context.Context, ids []string) (all Reading, err error) {
	epoch := s.epoch()
	lines, at, err := s.readLines(ctx, ids)
	if err != nil {
		return all, err
	}
	var lacking []string
	for i, line := range lines {
		if line == "" {
			lacking = append(lacking, ids[i])
		}
	}
	found, err := s.booked(ctx, epoch, lacking)
	if err != nil {
		return all, err
	}
	for i, id := range ids {
		r, known := found[id]
		if lines[i] != "" {
			if r, err = parseRecord(id, lines[i]); err != nil {
				all.Unreadable = append(all.Unreadable, id)
				continue
			}
			known = true
		}
		if known {
			all.Orders = append(all.Orders, r.by(at))
		} else {
			all.Unknown = append(all.Unknown, id)
		}
	}
	return all, nil
}
