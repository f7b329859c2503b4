package stock

import (
	"context"
	"errors"
	"log/slog"
	"slices"
)

// How many orders a run keeps back at most.
const (
	maxKept   = 100    // that the database refuses: of more it is not the orders that something is wrong with
	maxUnread = 10_000 // whose records cannot be read
)

// keep keeps an order back until the next run, so that the others go on.
func (s *settler) keep(id string, err error) {
	if s.problem == nil {
		s.problem = err
	}
	s.kept[id] = true
	if len(s.kept) <= maxTold {
		s.work.log.Error("order kept back", slog.String("order", id), slog.Any("error", err))
	}
}

// write writes a haul to the database. One that it refuses, while it takes the
// same haul without the orders, is written in halves, until the orders that are
// refused stand alone: they are kept back.
func (s *settler) write(ctx context.Context, h *haul) ([]settlement, error) {
	if err := s.work.may(ctx, "write"); err != nil {
		return nil, err
	}
	done, later, err := s.database.settle(ctx, s.sale.ID(), s.work.fence, h)
	for _, t := range h.totals {
		delete(s.later, t.sku)
	}
	for _, sku := range later {
		s.later[sku] = true
	}
	if err == nil || len(h.records) == 0 || errors.Is(err, ErrFenced) || errors.Is(err, ErrStockUnknown) {
		return done, err
	}
	records := h.records
	h.records = nil
	if _, trouble := s.write(ctx, h); trouble != nil {
		return nil, trouble
	}
	h.records = records
	if len(records) > 1 {
		return s.halves(ctx, h)
	}
	if s.waits(records[0]) {
		s.keep(records[0].ID, err) // the product that is kept back explains it
		return nil, nil
	}
	if s.refused++; s.refused > maxKept {
		return nil, err
	}
	if sku, is := unbalanced(err); is && sku != "" {
		s.halted[sku] = true
	}
	s.keep(records[0].ID, err)
	return nil, nil
}

// halves writes the orders of a haul. What was put in is written already.
func (s *settler) halves(ctx context.Context, h *haul) (done []settlement, err error) {
	for half := range slices.Chunk(h.records, (len(h.records)+1)/2) {
		some, err := s.write(ctx, &haul{records: half, epoch: h.epoch, ahead: h.ahead})
		if err != nil {
			return nil, err // what was written is found again, and marked then
		}
		done = append(done, some...)
	}
	return done, nil
}
