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
	mark     int64        // its number; 0: it has none
	left     int64        // how many orders are unsettled, those of the haul among them
	totals   []total      // what was put in since
	supplies []supply     // what was added to it since, and is in the totals
	found    int          // how many orders the haul is of
	records  []Record     // as they were when they were read
	lost     []string     // ids of which the store has no record
	unread   []unread     // whose records cannot be read
	lines    []unreadLine // of what was put in, that cannot be read
	epoch    string       // of the shelf that it is of; empty: the sale keeps no book
	ahead    bool         // the book may be ahead of the records: see Options.Settled

	// number gives it its number, and reads what was put in until then: see Sale.number. Nil: it has none.
	number func(ctx context.Context, at position, h *haul) (position, error)
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
	if err == nil && (t.put < 0 || t.put > MaxTotal) { // the database would refuse all that is written with it
		err = &FieldError{"total", digits, fmt.Sprintf("0 to %d", int64(MaxTotal))}
	}
	if err == nil {
		err = checkSKU("sku", sku)
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
	keys := s.keys(keyFence+settling, keyUnsettled, keyFresh, keyRestocked, keySupplied)
	answer, err := s.fenced(ctx, takeScript, keys, fence, n+len(kept))
	if err == nil && len(answer) == 0 {
		err = strange(answer)
	}
	if err == nil {
		err = parseNumbers(answer[:1], &h.left)
	}
	if err == nil {
		answer, err = h.parsePutIn(answer[1:])
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

// parsePutIn reads the number of products, sku, total, …, the number of supplies, sku
// and reference, quantity, …, and returns what follows. It leaves out what cannot be read: see readable.
func (h *haul) parsePutIn(answer []string) (rest []string, err error) {
	totals, rest, err := parsePairs(answer)
	if err != nil {
		return nil, err
	}
	supplies, rest, err := parsePairs(rest)
	if err != nil {
		return nil, err
	}
	put := readable(totals, supplies)
	h.totals, h.supplies, h.lines = put.totals, put.supplies, put.lines
	return rest, nil
}

// parsePairs reads how many pairs there are, the pairs, and returns what follows.
func parsePairs(answer []string) (pairs [][2]string, rest []string, err error) {
	if len(answer) == 0 {
		return nil, nil, strange(answer)
	}
	n, err := strconv.Atoi(answer[0])
	answer = answer[1:]
	if err != nil || n < 0 || len(answer) < 2*n {
		return nil, nil, strange(answer)
	}
	for pair := range slices.Chunk(answer[:2*n], 2) {
		pairs = append(pairs, [2]string(pair))
	}
	return pairs, answer[2*n:], nil
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
// does, and reads what was put in until then. Its transaction has locked the book, which is at the
// position given, and is to come to the one returned: no other writes totals in between.
func (s *Sale) number(ctx context.Context, fence int64, at position, h *haul) (position, error) {
	ctx, stop := context.WithTimeout(ctx, lockedTime)
	defer stop()
	answer, err := s.fenced(ctx, markScript, s.keys(keyFence+settling, keyShelf, keyRestocked, keySupplied), fence, at.epoch, at.mark)
	if err == nil && len(answer) < 2 {
		err = strange(answer)
	}
	if err == nil {
		err = parseNumbers(answer[:2], &at.mark, &at.changes)
	}
	if err == nil {
		h.mark = at.mark
		_, err = h.parsePutIn(answer[2:])
	}
	if err != nil {
		return position{}, fmt.Errorf("number the settlement: %w", err)
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

// stocked marks totals that a settlement has read, with its number, as being in the database.
func (s *Sale) stocked(ctx context.Context, fence, mark int64, totals []total) error {
	if len(totals) == 0 {
		return nil
	}
	args := make([]any, 1, 1+2*len(totals))
	if args[0] = ""; mark != 0 {
		args[0] = mark
	}
	for _, t := range totals {
		args = append(args, t.sku, t.text)
	}
	if _, err := s.fenced(ctx, stockedScript, s.keys(keyFence+settling, keyRestocked, keyShelf), fence, args...); err != nil {
		return fmt.Errorf("stock: mark settled products: %w", err)
	}
	return nil
}
