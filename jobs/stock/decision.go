package stock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// Decisions returns the latest n decisions of operators, newest first. It needs Options.Book.
func (s *Sale) Decisions(ctx context.Context, n int) ([]Decision, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: decisions: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := b.dialect.Bind("SELECT action, order_id, sku, new_id, made_by, reason, made_at FROM stock_decision WHERE sale = ?" +
		" ORDER BY made_at DESC, id LIMIT " + strconv.Itoa(max(0, n)))
	rows, err := b.db.QueryContext(ctx, query, s.ID())
	if err != nil {
		return nil, fmt.Errorf("stock: read the decisions: %w", err)
	}
	defer rows.Close()
	var all []Decision
	for rows.Next() {
		var d Decision
		var made int64
		if err := rows.Scan(&d.Action, &d.Order, &d.SKU, &d.NewID, &d.By, &d.Reason, &made); err != nil {
			return nil, fmt.Errorf("stock: read the decisions: %w", err)
		}
		d.Made = time.UnixMilli(made).UTC()
		all = append(all, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("stock: read the decisions: %w", err)
	}
	return all, nil
}

// record stores a decision.
func (tx *transaction) record(ctx context.Context, d Decision) error {
	t := sqltext.Table{Name: "stock_decision", Clock: "made_at", Columns: []sqltext.Column{
		{Name: "id"}, {Name: "made_by"}, {Name: "action"}, {Name: "order_id"}, {Name: "sku"}, {Name: "new_id"},
		{Name: "store_has"}, {Name: "book_has"}, {Name: "reason"},
	}}
	t.Add(rand.Text(), d.By, string(d.Action), d.Order, d.SKU, d.NewID, d.storeHas, d.bookHas, d.Reason)
	if err := tx.write(ctx, &t, ""); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	return nil
}

// decided records the decision about a dispute and removes the dispute.
func (b *Database) decided(ctx context.Context, sale string, d Decision, placed int64) error {
	return b.transact(ctx, sale, func(tx *transaction) error {
		query := tx.dialect.Bind("DELETE FROM stock_dispute WHERE sale = ? AND order_id = ? AND placed_at = ?")
		done, err := tx.tx.ExecContext(ctx, query, sale, d.Order, placed)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err // another call has recorded the decision
		}
		return tx.record(ctx, d)
	})
}

// writeDisputes stores disputed orders in their current state, and removes disputes whose order has
// ended and holds nothing any more.
func (tx *transaction) writeDisputes(ctx context.Context, p planned) error {
	t := sqltext.Table{Name: "stock_dispute", Clock: "found_at", Columns: []sqltext.Column{
		{Name: "order_id"}, {Name: "placed_at"}, {Name: "state"}, {Name: "record"}, {Name: "book_has"},
	}}
	for _, d := range p.disputes {
		line, err := booked{Record: d.record}.line()
		if err != nil {
			return err
		}
		t.Add(d.record.ID, d.record.Placed.UnixMilli(), string(d.record.State), line, d.instead)
	}
	if err := tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_dispute", "sale, order_id, placed_at", []string{"state", "record", "book_has"}, nil)); err != nil {
		return err
	}
	query := tx.dialect.Bind("DELETE FROM stock_dispute WHERE sale = ? AND order_id = ? AND placed_at = ?")
	for _, r := range p.ended {
		if _, err := tx.tx.ExecContext(ctx, query, tx.sale, r.ID, r.Placed.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// endDisputes removes disputes about orders that the book lacked and now has: a later rebuild found
// room for the order, or it was refunded or returned on the shelf.
func (tx *transaction) endDisputes(ctx context.Context) error {
	query := "DELETE FROM stock_dispute WHERE sale = ? AND book_has = '' AND EXISTS (SELECT 1 FROM orders o" +
		" WHERE o.sale = stock_dispute.sale AND o.id = stock_dispute.order_id AND o.placed_at = stock_dispute.placed_at)"
	_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(query), tx.sale)
	return err
}
