package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Bounds of the orders that a run keeps back.
const (
	maxKept   = 100    // refused by the database; if it refuses more, the fault is not in the orders
	maxUnread = 10_000 // with unreadable records
)

// keep excludes an order from the run, so that the others are settled. The next run tries it again.
func (s *settler) keep(id string, err error) {
	if s.problem == nil {
		s.problem = err
	}
	s.kept[id] = true
	if len(s.kept) <= maxLogged {
		s.work.log.Error("order kept back", slog.String("order", id), slog.Any("error", err))
	}
}

// write writes a batch to the database. If the database refuses the batch but takes its totals, the
// orders are written in halves until each refused order is alone; those are kept back.
func (s *settler) write(ctx context.Context, got *batch) ([]settlement, error) {
	if err := s.work.may(ctx, "write"); err != nil {
		return nil, err
	}
	done, later, err := s.sale.settle(ctx, s.work.fence, got)
	s.keepProducts(got.bad)
	for _, t := range got.totals {
		delete(s.later, t.sku)
	}
	for _, sku := range later {
		s.later[sku] = true
	}
	if err == nil || len(got.records) == 0 || errors.Is(err, ErrFenced) || errors.Is(err, ErrStockUnknown) {
		return done, err
	}
	records := got.records
	got.records = nil
	if _, trouble := s.write(ctx, got); trouble != nil {
		return nil, trouble
	}
	got.records = records
	if len(records) > 1 {
		return s.halves(ctx, got)
	}
	first := records[0]
	if slices.ContainsFunc(first.Items, func(i Item) bool { return s.unread[i.SKU] != nil }) {
		s.keep(first.ID, err) // the reason is a product that is kept back, so that the book may lack its total
		return nil, nil
	}
	if s.refused++; s.refused > maxKept {
		return nil, err
	}
	if sku, is := unbalanced(err); is && sku != "" {
		s.halted[sku] = true
	}
	s.keep(first.ID, err)
	return nil, nil
}

// halves writes the orders of a batch in two halves. Its totals are already written.
func (s *settler) halves(ctx context.Context, got *batch) (done []settlement, err error) {
	for half := range slices.Chunk(got.records, (len(got.records)+1)/2) {
		some, err := s.write(ctx, &batch{records: half, seen: got.seen, numbered: true})
		if err != nil {
			return nil, err // the next run finds and marks the orders that were written
		}
		done = append(done, some...)
	}
	return done, nil
}

// keepProducts keeps back the products whose totals cannot be read, and logs each product once.
func (s *settler) keepProducts(bad map[string]error) {
	for _, sku := range slices.Sorted(maps.Keys(bad)) {
		if _, known := s.unread[sku]; known {
			continue
		}
		s.unread[sku] = bad[sku]
		if len(s.unread) <= maxLogged {
			s.work.log.Error("product kept back", slog.String("sku", sku), slog.Any("error", bad[sku]))
		}
	}
}

// unreadError returns an error that names the first product that is kept back.
func (s *settler) unreadError() error {
	if len(s.unread) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(s.unread)))
	return fmt.Errorf("stock: settle: the totals of %d products cannot be read, the first: %w", len(s.unread), s.unread[first])
}
