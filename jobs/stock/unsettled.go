package stock

import (
	"context"
	"fmt"
	"strconv"
)

// A haul is what a run has found to settle.
type haul struct {
	left     int64    // how many orders are unsettled, those of the haul among them
	totals   []total  // what was put in since
	records  []Record // as they were when they were read
	lost     []string // ids of which the store has no record
	problems []error  // with records that cannot be read
}

// A total is what was put in of a product, in all.
type total struct {
	sku string
	put int64
}

// take reads up to n orders that are to be settled, and all such totals. Nothing
// is taken away: what is not marked as settled is found again.
func (s *Sale) take(ctx context.Context, fence int64, n int) (haul, error) {
	answer, err := s.fenced(ctx, takeScript, s.keys(keyFence+settling, keyUnsettled, keyFresh, keyRestocked), fence, n)
	var h haul
	if err == nil {
		h, err = s.read(ctx, answer)
	}
	if err != nil {
		return haul{}, fmt.Errorf("stock: take unsettled orders: %w", err)
	}
	return h, nil
}

// read reads left, the number of products, sku, total, …, id, …, and the records
// of the ids.
func (s *Sale) read(ctx context.Context, answer []string) (h haul, err error) {
	if len(answer) < 2 {
		return haul{}, strange(answer)
	}
	if h.left, err = strconv.ParseInt(answer[0], 10, 64); err != nil {
		return haul{}, err
	}
	products, err := strconv.Atoi(answer[1])
	answer = answer[2:]
	if err != nil || products < 0 || len(answer) < 2*products {
		return haul{}, strange(answer)
	}
	for i := range products {
		put, err := strconv.ParseInt(answer[2*i+1], 10, 64)
		if err != nil {
			return haul{}, fmt.Errorf("total of %q: %w", answer[2*i], err)
		}
		h.totals = append(h.totals, total{answer[2*i], put})
	}
	return h, s.readRecords(ctx, answer[2*products:], &h)
}

// readRecords reads the records of ids into a haul.
func (s *Sale) readRecords(ctx context.Context, ids []string, h *haul) error {
	if len(ids) == 0 {
		return nil
	}
	lines, err := s.lines(ctx, ids)
	if err != nil {
		return err
	}
	h.records = make([]Record, 0, len(ids))
	for i, line := range lines {
		text, ok := line.(string)
		if !ok {
			h.lost = append(h.lost, ids[i])
			continue
		}
		r, err := parseRecord(ids[i], text)
		if err != nil {
			h.problems = append(h.problems, err)
			continue
		}
		h.records = append(h.records, r)
	}
	return nil
}

// lines reads the records of ids as they are stored, nil for those without one.
func (s *Sale) lines(ctx context.Context, ids []string) ([]any, error) {
	lines, err := again(ctx, func() ([]any, error) { return s.client.MGet(ctx, s.orderKeys(ids)...).Result() })
	if err == nil && len(lines) != len(ids) {
		err = fmt.Errorf("%d answers to %d orders", len(lines), len(ids))
	}
	return lines, err
}

// A settlement is an order that the database has, or has otherwise.
type settlement struct {
	id      string
	stamp   string // of the record that was written; empty: the store had none
	instead string // what the database has, which is not this; empty: it took the order
}

// settled marks orders as settled and returns how many it did. What has changed
// since it was read stays unsettled. It may be called again.
func (s *Sale) settled(ctx context.Context, fence int64, done []settlement) (moved int, err error) {
	for len(done) > 0 {
		batch := done[:min(maxBatch, len(done))]
		done = done[len(batch):]
		ids := make([]string, len(batch))
		args := make([]any, 0, 1+3*len(batch))
		args = append(args, s.options.Retention.Milliseconds())
		for i, d := range batch {
			ids[i] = d.id
			args = append(args, d.id, d.stamp, d.instead)
		}
		keys := s.orderKeys(ids, keyFence+settling, keyUnsettled, keyFresh, keyDue, keySettled, keyRecent, keyDisputed, keyMarks)
		n, err := number(s.fenced(ctx, settledScript, keys, fence, args...))
		if err != nil {
			return moved, fmt.Errorf("stock: mark settled orders: %w", err)
		}
		moved += n
	}
	return moved, nil
}

// number reads an answer of one number.
func number(answer []string, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if len(answer) != 1 {
		return 0, strange(answer)
	}
	return strconv.Atoi(answer[0])
}

// stocked marks totals as being in the database.
func (s *Sale) stocked(ctx context.Context, fence int64, totals []total) error {
	if len(totals) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(totals))
	for _, t := range totals {
		args = append(args, t.sku, t.put)
	}
	if _, err := s.fenced(ctx, stockedScript, s.keys(keyFence+settling, keyRestocked), fence, args...); err != nil {
		return fmt.Errorf("stock: mark settled products: %w", err)
	}
	return nil
}
