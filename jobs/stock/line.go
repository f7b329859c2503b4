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

// An unreadLine is what waits in the store for the book, a total or what was added, and cannot be read.
type unreadLine struct {
	list  string // keyRestocked or keySupplied
	field string
	text  string
	err   error
}

// sku is the product of the line.
func (l unreadLine) sku() string {
	sku, _, _ := strings.Cut(l.field, " ") // the field of a total has none
	return sku
}

// readable sorts what was put in: totals and supplies, and the lines that cannot be read. Nothing of the products
// of such lines goes to the book: one that had a delivery without its total, or a total without its
// delivery, would count it twice after a rebuild.
func readable(totals, supplies [][2]string) (h haul) {
	for _, line := range totals {
		t, err := parseTotal(line[0], line[1])
		if err != nil {
			h.lines = append(h.lines, unreadLine{keyRestocked, line[0], line[1], err})
			continue
		}
		h.totals = append(h.totals, t)
	}
	for _, line := range supplies {
		a, err := parseSupply(line[0], line[1])
		if err != nil {
			h.lines = append(h.lines, unreadLine{keySupplied, line[0], line[1], err})
			continue
		}
		h.supplies = append(h.supplies, a)
	}
	if len(h.lines) == 0 {
		return h
	}
	bad := map[string]bool{}
	for _, l := range h.lines {
		bad[l.sku()] = true
	}
	h.totals = slices.DeleteFunc(h.totals, func(t total) bool { return bad[t.sku] })
	h.supplies = slices.DeleteFunc(h.supplies, func(a supply) bool { return bad[a.sku] })
	return h
}

// keepLines keeps back what cannot be read of what was put in, and names each product once.
func (s *settler) keepLines(lines []unreadLine) {
	for _, l := range lines {
		if _, known := s.unread[l.sku()]; known {
			continue
		}
		s.unread[l.sku()] = l.err
		if len(s.unread) <= maxTold {
			s.work.log.Error("product kept back", slog.String("sku", l.sku()), slog.Any("error", l.err))
		}
	}
}

// waits reports whether an order has a product that is kept back: the book may lack its total.
func (s *settler) waits(r Record) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool { return s.unread[i.SKU] != nil })
}

// unreadError names the first of the products that are kept back.
func (s *settler) unreadError() error {
	if len(s.unread) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(s.unread)))
	return fmt.Errorf("stock: settle: what was put in of %d products cannot be read, the first: %w", len(s.unread), s.unread[first])
}

// auditLines finds what waits in the store for the book and cannot be read.
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
			d.SKU = quote(d.SKU) // it is recorded
		}
		found = append(found, d)
	}
	return found, nil
}

// rewrite writes lines that cannot be read once more, from what the store has of the products and the references.
// It removes those of which it has nothing. A line that has changed since stays: each change of a product writes it.
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

// written is the line as it must be; empty: there is nothing that it could be of.
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

// sum adds counts up; empty: one of them cannot be read.
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
