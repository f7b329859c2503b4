package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	lines, at, err := s.readLines(ctx, []string{id})
	switch {
	case err != nil:
	case lines[0] == "":
		r, err = s.bookedOrder(ctx, s.epoch(), id)
	default:
		r, err = parseRecord(id, lines[0])
	}
	if err != nil {
		return Record{}, at, fmt.Errorf("%s: %w", format.Quote(id), err)
	}
	return r, at, nil
}

// readLines reads the stored records of up to 100 ids (empty for an id without a record), and
// the store's time of the read.
func (s *Sale) readLines(ctx context.Context, ids []string) (lines []string, at time.Time, err error) {
	answer, err := s.ask(ctx, recordsScript, s.orderKeys(ids, keyFresh, keyDue, keyUnsettled), argsOf(ids)...)
	if err == nil && len(answer) != 1+len(ids) {
		err = unknownAnswer(answer)
	}
	if err != nil {
		return nil, at, err
	}
	at, err = parseTime(answer[0])
	return answer[1:], at, err
}

// by returns the order as of a time: an open order past its time is expired.
func (r Record) by(at time.Time) Record {
	if r.State.open() && !at.Before(r.Due) {
		r.State, r.Changed = Expired, r.Due
	}
	return r
}

// maxRead bounds the orders of one ReadOrders.
const maxRead = 100

// A Reading is the result of ReadOrders. Each list is in the order of the ids.
type Reading struct {
	Orders     []Record
	Unknown    []string // ids without an order
	Unreadable []string // ids whose records cannot be read; [Sale.Order] returns the reason
}

// ReadOrders reads the orders with the given 1 to 100 different ids, each as [Sale.Order]
// returns it. It refuses with a *FieldError for each id that is not allowed.
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
	if len(ids) < 1 || len(ids) > maxRead {
		return &FieldError{"ids", "a list of " + strconv.Itoa(len(ids)), fmt.Sprintf("1 to %d of them", maxRead)}
	}
	var faults []error
	seen := map[string]bool{}
	for i, id := range ids {
		field := "ids[" + strconv.Itoa(i) + "]"
		if err := checkID(id); err != nil {
			faults = append(faults, &FieldError{field, format.Quote(id), "1 to 64 of A-Z a-z 0-9 . _ -, and neither . nor .."})
		} else if seen[id] {
			faults = append(faults, &FieldError{field, format.Quote(id) + " again", "each once"})
		}
		seen[id] = true
	}
	return errors.Join(faults...)
}

// readOrders reads orders from the store, and those that it lacks from the book in one query.
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
