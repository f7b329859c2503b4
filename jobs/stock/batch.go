package stock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// A batch is the set of orders and totals that a run of settleOrders reads, writes and marks
// together.
type batch struct {
	mark      int64            // number of the settlement
	totals    []total          // changed totals of products, as they were when it got its number
	restocked int64            // number of products whose total has changed
	found     int              // number of orders in the batch
	records   []Record         // as the store had them when they were read
	lost      []string         // ids of orders without a record in the store
	unread    map[string]error // by id: the record cannot be read
	bad       map[string]error // by product: the total cannot be read
	seen      changeCounts     // the shelf, as this process knows it
	skus      []string         // products whose totals are written; none: all

	numbered bool // the totals are written already: it needs no number
}

// A total is the quantity of a product that was ever put in, and its offer.
type total struct {
	sku   string
	put   int64
	offer Offer
	text  string // both in the store's format
}

// parseTotal parses the store's format: total price currency.
func parseTotal(sku, text string) (t total, err error) {
	digits, offer, _ := strings.Cut(text, " ")
	t.sku, t.text = sku, text
	if t.put, err = strconv.ParseInt(digits, 10, 64); err == nil {
		t.offer, err = parseOffer(offer)
	}
	if err == nil && (t.put < 0 || t.put > maxTotal) { // the database would refuse the whole batch
		err = &FieldError{"total", digits, fmt.Sprintf("0 to %d", int64(maxTotal))}
	}
	if err == nil {
		err = checkSKU("sku", sku)
	}
	if err != nil {
		return total{}, fmt.Errorf("total of %s: %w", format.Quote(sku), err)
	}
	return t, nil
}

// readBatch reads up to n unsettled orders, without those that are kept back, and the number of changed totals. It
// removes nothing: an order that is not marked as settled is read again by the next run.
func (s *Sale) readBatch(ctx context.Context, fence int64, n int, kept map[string]bool) (got batch, err error) {
	keys := s.keys(keyFence+settling, keyUnsettled, keyFresh, keyRestocked)
	answer, err := s.fenced(ctx, takeScript, keys, fence, n+len(kept))
	if err == nil && (len(answer) < 1 || parseNumbers(answer[:1], &got.restocked) != nil) {
		err = unknownAnswer(answer)
	}
	if err == nil {
		ids := slices.DeleteFunc(answer[1:], func(id string) bool { return kept[id] })
		ids = ids[:min(n, len(ids))]
		got.found = len(ids)
		err = s.readRecords(ctx, ids, &got)
	}
	if err != nil {
		return batch{}, fmt.Errorf("stock: take unsettled orders: %w", err)
	}
	return got, nil
}

// parseTotals parses sku and total of each product.
func (b *batch) parseTotals(lines []string) {
	b.totals, b.bad = nil, map[string]error{}
	for pair := range slices.Chunk(lines, 2) {
		t, err := parseTotal(pair[0], pair[len(pair)-1])
		if err != nil {
			b.bad[pair[0]] = err
			continue
		}
		b.totals = append(b.totals, t)
	}
}

// readRecords reads the records of ids into a batch.
func (s *Sale) readRecords(ctx context.Context, ids []string, got *batch) error {
	if len(ids) == 0 {
		return nil
	}
	lines, err := s.lines(ctx, ids)
	if err != nil {
		return err
	}
	got.records, got.unread = make([]Record, 0, len(ids)), map[string]error{}
	for i, line := range lines {
		text, ok := line.(string)
		if !ok {
			got.lost = append(got.lost, ids[i])
			continue
		}
		r, err := parseRecord(ids[i], text)
		if err != nil {
			got.unread[ids[i]] = err
			continue
		}
		got.records = append(got.records, r)
	}
	return nil
}

// members calls f with the members of a set, up to maxBatch at a time. It finds all that are in the
// set from the beginning to the end, and may find one twice.
func (s *Sale) members(ctx context.Context, set string, f func(ids []string) error) error {
	for cursor := uint64(0); ; {
		some, err := repeat(ctx, func() (some []string, err error) {
			some, cursor, err = s.client.ZScan(ctx, s.key(set), cursor, "", maxBatch).Result()
			return some, err
		})
		if err != nil {
			return fmt.Errorf("read the orders of %s: %w", set, err)
		}
		var ids []string
		for one := range slices.Chunk(some, 2) { // with its score
			ids = append(ids, one[0])
		}
		for few := range slices.Chunk(ids, maxBatch) {
			if err := f(few); err != nil {
				return err
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// lines reads the records of ids as stored; nil for an id without a record.
func (s *Sale) lines(ctx context.Context, ids []string) ([]any, error) {
	lines, err := repeat(ctx, func() ([]any, error) { return s.client.MGet(ctx, s.orderKeys(ids)...).Result() })
	if err == nil && len(lines) != len(ids) {
		err = fmt.Errorf("%d answers to %d orders", len(lines), len(ids))
	}
	return lines, err
}

// A settlement is the result of one order: the database has it, or refuses it.
type settlement struct {
	id      string
	stamp   string // stamp of the record that was written; empty: the store had no record
	instead string // state and time of the database's order, for which it refuses this one; empty: it has this one
}

// settled marks orders as settled and returns their number. The store forgets an order that the
// database refuses, and puts its items back in stock. An order that has changed since it was read
// stays unsettled. It may be called again.
func (s *Sale) settled(ctx context.Context, fence int64, done []settlement) (moved int, err error) {
	for len(done) > 0 {
		some := done[:min(maxBatch, len(done))]
		done = done[len(some):]
		ids := make([]string, len(some))
		args := make([]any, 0, 1+3*len(some))
		args = append(args, s.options.Retention.Milliseconds())
		for i, d := range some {
			ids[i] = d.id
			args = append(args, d.id, d.stamp, d.instead)
		}
		keys := s.orderKeys(ids, keyFence+settling, keyUnsettled, keyFresh, keyDue, keyMarks, keyStock, keyReserved, keySold, keyBought)
		n, err := number(s.fenced(ctx, settledScript, keys, fence, args...))
		if err != nil {
			return moved, fmt.Errorf("stock: mark settled orders: %w", err)
		}
		moved += n
	}
	return moved, nil
}

// number parses an answer of one number.
func number(answer []string, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if len(answer) != 1 {
		return 0, unknownAnswer(answer)
	}
	return strconv.Atoi(answer[0])
}

// stocked marks the totals of a settlement as being in the database. Mark is the number of the
// settlement.
func (s *Sale) stocked(ctx context.Context, fence, mark int64, totals []total) error {
	if len(totals) == 0 {
		return nil
	}
	args := []any{mark}
	for _, t := range totals {
		args = append(args, t.sku, t.text)
	}
	if _, err := s.fenced(ctx, stockedScript, s.keys(keyFence+settling, keyRestocked, keyShelf), fence, args...); err != nil {
		return fmt.Errorf("stock: mark settled products: %w", err)
	}
	return nil
}
