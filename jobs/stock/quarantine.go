package stock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
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
	done, later, err := s.database.settle(ctx, s.sale.ID(), s.work.fence, got)
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
	if s.waits(records[0]) {
		s.keep(records[0].ID, err) // the reason is the product that is kept back
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

// halves writes the orders of a batch in two halves. Its totals are already written.
func (s *settler) halves(ctx context.Context, got *batch) (done []settlement, err error) {
	for half := range slices.Chunk(got.records, (len(got.records)+1)/2) {
		some, err := s.write(ctx, &batch{records: half, epoch: got.epoch, ahead: got.ahead})
		if err != nil {
			return nil, err // the next run finds and marks the orders that were written
		}
		done = append(done, some...)
	}
	return done, nil
}

// An unreadLine is a total or a delivery that waits in the store for the book and cannot be read.
type unreadLine struct {
	list  string // keyRestocked or keySupplied
	field string
	text  string
	err   error
}

// sku returns the product of the line.
func (l unreadLine) sku() string {
	sku, _, _ := strings.Cut(l.field, " ") // the field of a total has no space
	return sku
}

// readable separates totals and deliveries from unreadable lines. If a product has an unreadable
// line, none of its lines goes to the book: a delivery without its total, or a total without its
// delivery, would be counted twice after a rebuild.
func readable(totals, supplies [][2]string) (got batch) {
	for _, line := range totals {
		t, err := parseTotal(line[0], line[1])
		if err != nil {
			got.lines = append(got.lines, unreadLine{keyRestocked, line[0], line[1], err})
			continue
		}
		got.totals = append(got.totals, t)
	}
	for _, line := range supplies {
		a, err := parseSupply(line[0], line[1])
		if err != nil {
			got.lines = append(got.lines, unreadLine{keySupplied, line[0], line[1], err})
			continue
		}
		got.supplies = append(got.supplies, a)
	}
	if len(got.lines) == 0 {
		return got
	}
	bad := map[string]bool{}
	for _, l := range got.lines {
		bad[l.sku()] = true
	}
	got.totals = slices.DeleteFunc(got.totals, func(t total) bool { return bad[t.sku] })
	got.supplies = slices.DeleteFunc(got.supplies, func(a supply) bool { return bad[a.sku] })
	return got
}

// keepLines keeps back the products with unreadable lines, and logs each product once.
func (s *settler) keepLines(lines []unreadLine) {
	for _, l := range lines {
		if _, known := s.unread[l.sku()]; known {
			continue
		}
		s.unread[l.sku()] = l.err
		if len(s.unread) <= maxLogged {
			s.work.log.Error("product kept back", slog.String("sku", l.sku()), slog.Any("error", l.err))
		}
	}
}

// waits reports whether an order has a product that is kept back, so that the book may lack its
// total.
func (s *settler) waits(r Record) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool { return s.unread[i.SKU] != nil })
}

// unreadError returns an error that names the first product that is kept back.
func (s *settler) unreadError() error {
	if len(s.unread) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(s.unread)))
	return fmt.Errorf("stock: settle: what was put in of %d products cannot be read, the first: %w", len(s.unread), s.unread[first])
}

// auditLines returns the unreadable totals and deliveries that wait for the book.
func (s *Sale) auditLines(ctx context.Context, b *Database) (found []Difference, err error) {
	var lists [2][][2]string
	for i, list := range []string{keyRestocked, keySupplied} {
		all, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(list)).Result() })
		if err != nil {
			return nil, fmt.Errorf("read what was put in: %w", err)
		}
		for _, field := range slices.Sorted(maps.Keys(all)) {
			lists[i] = append(lists[i], [2]string{field, all[field]})
		}
	}
	lines := readable(lists[0], lists[1]).lines
	if len(lines) == 0 {
		return nil, nil
	}
	products, err := b.products(ctx, s.ID())
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		d := Difference{SKU: l.sku(), Store: "a total that cannot be read (" + quote(l.text) + ")", Book: "nothing", Mend: Restock, line: &l}
		if l.list == keySupplied {
			d.Store = "a delivery that cannot be read (" + quote(l.field) + ", " + quote(l.text) + ")"
		}
		if p, known := products[d.SKU]; known {
			d.Book = fmt.Sprintf("%d put in", p.Put)
		}
		if checkSKU("sku", d.SKU) != nil {
			d.SKU = quote(d.SKU) // the repair records it
		}
		found = append(found, d)
	}
	return found, nil
}

// rewrite replaces unreadable lines by the store's counts and references. It removes a line for
// which the store has no data. A line that has changed since it was read stays, because each change
// of a product writes it anew.
func (s *Sale) rewrite(ctx context.Context, found []Difference) (n int, err error) {
	for _, d := range found {
		if d.line == nil {
			continue
		}
		text, err := s.written(ctx, *d.line)
		if err != nil {
			return n, fmt.Errorf("read what was put in: %w", err)
		}
		done, err := number(s.ask(ctx, rewriteScript, s.keys(d.line.list), d.line.field, d.line.text, text))
		if err != nil {
			return n, fmt.Errorf("write what was put in again: %w", err)
		}
		n += done
	}
	return n, nil
}

// written returns the correct line; empty if the store has no data for it.
func (s *Sale) written(ctx context.Context, l unreadLine) (string, error) {
	if l.list == keySupplied {
		sku, reference, _ := strings.Cut(l.field, " ")
		quantity, err := again(ctx, func() (string, error) {
			return s.client.Get(ctx, s.supplyKeys([]supply{{sku: sku, reference: reference}})[0]).Result()
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return "", err
		}
		if _, err := parseSupply(l.field, quantity); err != nil {
			return "", nil
		}
		return quantity, nil
	}
	var counts []string
	for _, key := range []string{keyPut, keyOffer, keyStock, keyReserved, keySold} {
		text, err := again(ctx, func() (string, error) { return s.client.HGet(ctx, s.key(key), l.field).Result() })
		if err != nil && !errors.Is(err, redis.Nil) {
			return "", err
		}
		counts = append(counts, text)
	}
	put := counts[0]
	if _, err := parseTotal(l.field, put); err != nil {
		put = sum(counts[2:])
	}
	for _, text := range []string{strings.TrimSpace(put + " " + counts[1]), put} {
		if _, err := parseTotal(l.field, text); err == nil {
			return text, nil
		}
	}
	return "", nil
}

// sum adds up counts; empty if one of them cannot be read.
func sum(counts []string) string {
	all := int64(0)
	for _, text := range counts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return ""
		}
		all += n
	}
	return strconv.FormatInt(all, 10)
}
