package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// DropLost is the action that removes an order from the list of lost orders, on an operator's request.
const DropLost Action = "drop lost"

// ErrNotLost is returned for an order that is not listed as lost.
var ErrNotLost = errors.New("the order is not listed as lost")

// A LostOrder is an accepted order of which the acknowledged state is neither in the store nor in
// the book. It is listed until the book has that state, an operator has decided a dispute about its
// id, or an operator drops it from the list.
type LostOrder struct {
	ID string
	// Acknowledged reports whether a shop acknowledged the order, in State. Otherwise a rebuild
	// found the order in the store or in an append log, in State; empty: its record cannot be read.
	Acknowledged bool
	State        State
	Reason       string    // why a rebuild did not take the order over, or that a shop no longer found it
	BookHas      State     // state of the book's order with this id; empty: none
	Found        time.Time // when the loss was found
}

// The sources of lost orders.
const (
	fromShop    = "shop"
	fromRebuild = "rebuild"
)

// reasonGone is the reason for an acknowledged order that a shop no longer finds.
const reasonGone = "neither the store nor the database has it as it was acknowledged"

// LostOrders returns up to n lost orders, oldest first: acknowledged orders that a shop no longer
// found after a rebuild (see Watch), and orders that a rebuild could not take over. An order that
// both reported is there twice. It needs Options.Book.
func (s *Sale) LostOrders(ctx context.Context, n int) ([]LostOrder, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: lost orders: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := "SELECT l.order_id, l.source, l.state, l.reason, COALESCE(o.status, ''), l.found_at" + lostRows + " ORDER BY l.found_at, l.order_id, l.source LIMIT " + strconv.Itoa(max(0, n))
	var all []LostOrder
	err := eachRow(ctx, b.db, b.dialect, query, []any{s.ID()}, func(row *sql.Rows) error {
		var l LostOrder
		var source string
		var found int64
		err := row.Scan(&l.ID, &source, &l.State, &l.Reason, &l.BookHas, &found)
		l.Acknowledged, l.Found = source == fromShop, time.UnixMilli(found).UTC()
		all = append(all, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stock: read the lost orders: %w", err)
	}
	return all, nil
}

// CountLost counts the orders of LostOrders, each once. A scrape may call it: it creates no tables
// and returns when ctx ends. It needs Options.Book.
func (s *Sale) CountLost(ctx context.Context) (n int64, err error) {
	b := s.options.Book
	if b == nil {
		return 0, fmt.Errorf("stock: count the lost orders: %w", errNoBook)
	}
	err = b.db.QueryRowContext(ctx, b.dialect.Bind("SELECT COUNT(DISTINCT l.order_id)"+lostRows), s.ID()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("stock: count the lost orders: %w", err)
	}
	return n, nil
}

// lostRows selects the lost orders whose acknowledged state the book still lacks.
var lostRows = " FROM stock_lost l LEFT JOIN orders o ON o.sale = l.sale AND o.id = l.order_id WHERE l.sale = ? AND (o.status IS NULL OR NOT (" + fulfilled() + "))"

// fulfilled is State.fulfils as an SQL condition on the book's row.
func fulfilled() string {
	var b strings.Builder
	for i, acknowledged := range []State{Reserved, Paying, Paid, Cancelled, Expired, Returned, Refunded} {
		if i > 0 {
			b.WriteString(" OR ")
		}
		states := append([]State{acknowledged}, after[acknowledged]...)
		fmt.Fprintf(&b, "l.state = '%s' AND o.status IN ('", acknowledged)
		for i, state := range states {
			if i > 0 {
				b.WriteString("', '")
			}
			b.WriteString(string(state))
		}
		b.WriteString("')")
	}
	return b.String()
}

// DropLost removes an order from the list of lost orders because an operator has handled it; with
// an empty order it removes all. It returns their number. It records the decision with its By and
// Reason; other fields of d are not read. It refuses with ErrNotLost, or with a joined *FieldError
// for each field that is not allowed. It needs Options.Book.
func (s *Sale) DropLost(ctx context.Context, order string, d Decision) (n int, err error) {
	errs := []error{d.faults()}
	if order != "" {
		errs = append(errs, checkID(order))
	}
	if err = errors.Join(errs...); err == nil {
		err = s.onAside(ctx, func(tx *transaction) error {
			n, err = tx.dropLost(ctx, order)
			if err != nil {
				return err
			}
			return tx.record(ctx, Decision{Action: DropLost, Order: order, By: d.By, Reason: d.Reason, storeHas: strconv.Itoa(n) + " orders"})
		})
	}
	if err != nil {
		return 0, fmt.Errorf("stock: drop lost order %s: %w", quote(order), err)
	}
	return n, nil
}

func (tx *transaction) dropLost(ctx context.Context, order string) (n int, err error) {
	where, args := " WHERE sale = ?", []any{tx.sale}
	if order != "" {
		where, args = where+" AND order_id = ?", append(args, order)
	}
	err = tx.tx.QueryRowContext(ctx, tx.dialect.Bind("SELECT COUNT(DISTINCT order_id) FROM stock_lost"+where), args...).Scan(&n)
	if err == nil && n == 0 {
		err = ErrNotLost
	}
	if err == nil {
		_, err = tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_lost"+where), args...)
	}
	return n, err
}

// writeLost stores orders in the list of lost orders.
func (tx *transaction) writeLost(ctx context.Context, source string, losses []Loss) error {
	t := sqltext.Table{Name: "stock_lost", Clock: "found_at", Columns: []sqltext.Column{{Name: "order_id"}, {Name: "source"}, {Name: "state"}, {Name: "reason"}}}
	seen := map[string]bool{"": true} // a loss of a product
	for _, l := range losses {
		if !seen[l.ID] && checkID(l.ID) == nil { // an unreadable id is only logged
			t.Add(l.ID, source, string(l.State), trouble(errors.New(l.Reason)))
		}
		seen[l.ID] = true
	}
	if err := tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_lost", "sale, order_id, source", []string{"state", "reason", "found_at"}, nil)); err != nil {
		return fmt.Errorf("list lost orders: %w", err)
	}
	return nil
}

// listGone lists orders that this process acknowledged and no longer finds.
func (s *Sale) listGone(ctx context.Context, lost []string, acknowledged map[string]State) error {
	if len(lost) == 0 {
		return nil
	}
	losses := make([]Loss, len(lost))
	for i, id := range lost {
		losses[i] = Loss{ID: id, State: acknowledged[id], Reason: reasonGone}
	}
	slices.SortFunc(losses, func(a, b Loss) int { return strings.Compare(a.ID, b.ID) })
	return s.onAside(ctx, func(tx *transaction) error { return tx.writeLost(ctx, fromShop, losses) })
}

// onAside calls f in a transaction of the book.
func (s *Sale) onAside(ctx context.Context, f func(tx *transaction) error) error {
	b := s.options.Book
	if b == nil {
		return errNoBook
	}
	if err := b.Migrate(ctx); err != nil {
		return err
	}
	return b.transact(ctx, s.ID(), f)
}

// maxTrouble bounds the characters of a stored error text.
const maxTrouble = 300

// trouble returns the text of an error as it is stored: cut, on one line, with unprintable
// characters replaced.
func trouble(err error) string {
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error()))
	return string(text[:min(maxTrouble, len(text))])
}
