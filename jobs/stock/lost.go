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

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// DropLost is the action of an operator that takes a lost order off the list.
const DropLost Action = "drop lost"

// ErrNotLost is that of an order that is not listed as lost.
var ErrNotLost = errors.New("the order is not listed as lost")

// A LostOrder is an order that was accepted, and that neither the store nor the book has as far. It stays listed until
// the book has it, an operator has decided about a dispute under its id, or drops it from the list.
type LostOrder struct {
	ID string
	// Acknowledged is whether a shop has answered that it has the order, and State what it has answered. Otherwise a
	// rebuild has found it in the store, or an append log, in this state; empty: without a record that can be read.
	Acknowledged bool
	State        State
	Reason       string    // why a rebuild did not take it over, or that a shop did not find it any more
	BookHas      State     // what the book has under its id; empty: nothing
	Found        time.Time // when
}

// The sources of lost orders.
const (
	fromShop    = "shop"
	fromRebuild = "rebuild"
)

// reasonGone is that of an order that a shop has acknowledged, and does not find any more.
const reasonGone = "neither the store nor the database has it as it was acknowledged"

// LostOrders returns up to n lost orders, the oldest first: those that shops have acknowledged themselves and did not find after a
// rebuild (see Watch), and those that a rebuild could not take over. An order that both have found is there twice. It
// needs Options.Book.
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

// CountLost counts the orders of LostOrders, each once. It makes no tables, so that it is for a scrape: it returns when ctx
// ends. It needs Options.Book.
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

// lostRows are the rows of lost orders that the book still does not have as far.
var lostRows = " FROM stock_lost l LEFT JOIN orders o ON o.sale = l.sale AND o.id = l.order_id WHERE l.sale = ? AND (o.status IS NULL OR NOT (" + fulfilled() + "))"

// fulfilled is State.fulfils of what the book has.
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

// DropLost takes an order off the list of lost orders, since an operator has dealt with it, or all of them, with the order "",
// and returns how many that were. It records the By and Reason of the decision; its other fields are not read. It is refused with
// ErrNotLost, or a *FieldError for each field that is not allowed, joined. It needs Options.Book.
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

// writeLost lists orders as lost.
func (tx *transaction) writeLost(ctx context.Context, source string, losses []Loss) error {
	t := sqltext.Table{Name: "stock_lost", Clock: "found_at", Columns: []sqltext.Column{{Name: "order_id"}, {Name: "source"}, {Name: "state"}, {Name: "reason"}}}
	seen := map[string]bool{"": true} // a product, not an order
	for _, l := range losses {
		if !seen[l.ID] && checkID(l.ID) == nil { // an id that cannot be read is in the log alone
			t.Add(l.ID, source, string(l.State), trouble(errors.New(l.Reason)))
		}
		seen[l.ID] = true
	}
	if err := tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_lost", "sale, order_id, source", []string{"state", "reason", "found_at"}, nil)); err != nil {
		return fmt.Errorf("list lost orders: %w", err)
	}
	return nil
}

// listGone lists orders that this process has acknowledged, and does not find any more.
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
