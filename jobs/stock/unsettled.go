package stock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A haul is what a run has found to settle.
type haul struct {
	mark     int64    // the number of the last settlement when it was read
	left     int64    // how many orders are unsettled, those of the haul among them
	totals   []total  // what was put in since
	supplies []supply // what was added to it since, and is in the totals
	found    int      // how many orders the haul is of
	records  []Record // as they were when they were read
	lost     []string // ids of which the store has no record
	unread   []unread // whose records cannot be read
	at       position // where in the book it goes
	ahead    bool     // the book may be ahead of the records: see Options.Settled
}

// An unread order is one whose record cannot be read.
type unread struct {
	id  string
	err error
}

// A total is what was put in of a product, in all, and how it is sold.
type total struct {
	sku   string
	put   int64
	offer Offer
	text  string // total and offer as the store has them
}

// parseTotal reads total and offer as the store has them: total price currency.
func parseTotal(sku, text string) (t total, err error) {
	digits, offer, _ := strings.Cut(text, " ")
	t.sku, t.text = sku, text
	if t.put, err = strconv.ParseInt(digits, 10, 64); err == nil {
		t.offer, err = parseOffer(offer)
	}
	if err != nil {
		return total{}, fmt.Errorf("total of %s: %w", quote(sku), err)
	}
	return t, nil
}

// take reads up to n orders that are to be settled, but for those that are kept
// back, and all such totals. Nothing is taken away: what is not marked as settled
// is found again.
func (s *Sale) take(ctx context.Context, fence int64, n int, kept map[string]bool) (h haul, err error) {
	keys := s.keys(keyFence+settling, keyUnsettled, keyFresh, keyRestocked, keySupplied, keyShelf)
	answer, err := s.fenced(ctx, takeScript, keys, fence, n+len(kept))
	if err == nil {
		h, answer, err = parseHaul(answer)
	}
	if err == nil {
		ids := slices.DeleteFunc(answer, func(id string) bool { return kept[id] })
		ids = ids[:min(n, len(ids))]
		h.found = len(ids)
		err = s.readRecords(ctx, ids, &h)
	}
	if err != nil {
		return haul{}, fmt.Errorf("stock: take unsettled orders: %w", err)
	}
	return h, nil
}

// parseHaul reads mark, left, the number of products, sku, total, …, the number of supplies, sku
// and reference, quantity, …, and returns what follows: the ids.
func parseHaul(answer []string) (h haul, ids []string, err error) {
	if len(answer) < 3 {
		return haul{}, nil, strange(answer)
	}
	if err := parseNumbers(answer[:2], &h.mark, &h.left); err != nil {
		return haul{}, nil, err
	}
	products, err := strconv.Atoi(answer[2])
	answer = answer[3:]
	if err != nil || products < 0 || len(answer) < 2*products {
		return haul{}, nil, strange(answer)
	}
	for i := range products {
		t, err := parseTotal(answer[2*i], answer[2*i+1])
		if err != nil {
			return haul{}, nil, err
		}
		h.totals = append(h.totals, t)
	}
	h.supplies, ids, err = parseSupplies(answer[2*products:])
	return h, ids, err
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
			h.unread = append(h.unread, unread{ids[i], err})
			continue
		}
		h.records = append(h.records, r)
	}
	return nil
}

// idsOf reads up to maxBatch ids of a set, those behind the first so many.
func (s *Sale) idsOf(ctx context.Context, set string, behind int64) ([]string, error) {
	return again(ctx, func() ([]string, error) { return s.client.ZRange(ctx, s.key(set), behind, behind+maxBatch-1).Result() })
}

// lines reads the records of ids as they are stored, nil for those without one.
func (s *Sale) lines(ctx context.Context, ids []string) ([]any, error) {
	lines, err := again(ctx, func() ([]any, error) { return s.client.MGet(ctx, s.orderKeys(ids)...).Result() })
	if err == nil && len(lines) != len(ids) {
		err = fmt.Errorf("%d answers to %d orders", len(lines), len(ids))
	}
	return lines, err
}

// number gives a settlement its number, which the store has before the database
// does, and with it its position in the book, which is at the one given. It is errOvertaken when
// another settlement has had a number since the one that was the last when it was read.
func (s *Sale) number(ctx context.Context, fence int64, at position, last int64) (position, error) {
	answer, err := s.fenced(ctx, markScript, s.keys(keyFence+settling, keyShelf), fence, at.epoch, at.mark, last)
	if err == nil && len(answer) == 2 && answer[0] == "" {
		err = errOvertaken
	}
	if err == nil && len(answer) != 2 {
		err = strange(answer)
	}
	if err == nil {
		err = parseNumbers(answer, &at.mark, &at.changes)
	}
	if err != nil {
		return position{}, fmt.Errorf("stock: number the settlement: %w", err)
	}
	return at, nil
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
		keys := s.orderKeys(ids, keyFence+settling, keyUnsettled, keyFresh, keyDue, keySettled, keyRecent, keyDisputed, keyMarks, keyRestored)
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
		args = append(args, t.sku, t.text)
	}
	if _, err := s.fenced(ctx, stockedScript, s.keys(keyFence+settling, keyRestocked), fence, args...); err != nil {
		return fmt.Errorf("stock: mark settled products: %w", err)
	}
	return nil
}
