package stock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An Action is the kind of a decision.
type Action string

// The actions.
const (
	DropEvent Action = "drop event" // a refused event was given up
	SkipEvent Action = "skip event" // the next event of a target was put aside
)

// A Decision is an action of an operator, as recorded in the table stock_decision.
type Decision struct {
	Action Action
	Order  string // the id, or empty
	By     string // the operator: 1 to 200 characters
	Reason string // 1 to 500 characters
	Made   time.Time

	storeHas, bookHas string
}

// The longest By and Reason of a Decision, in characters.
const (
	MaxBy     = 200
	MaxReason = 500
)

func (d *Decision) faults() error {
	var faults []error
	for _, f := range []struct {
		name, text string
		most       int
	}{{"by", d.By, MaxBy}, {"reason", d.Reason, MaxReason}} {
		if n := utf8.RuneCountInString(f.text); strings.TrimSpace(f.text) == "" || n > f.most || !utf8.ValidString(f.text) || strings.ContainsRune(f.text, 0) {
			faults = append(faults, &FieldError{f.name, quote(f.text), fmt.Sprintf("1 to %d characters", f.most)})
		}
	}
	return errors.Join(faults...)
}

// Decisions returns the latest n decisions of operators, newest first. It needs Options.Book.
func (s *Sale) Decisions(ctx context.Context, n int) ([]Decision, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: decisions: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := b.dialect.Bind("SELECT action, order_id, made_by, reason, made_at FROM stock_decision WHERE sale = ?" +
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
		if err := rows.Scan(&d.Action, &d.Order, &d.By, &d.Reason, &made); err != nil {
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
	t.Add(rand.Text(), d.By, string(d.Action), d.Order, "", "", d.storeHas, d.bookHas, d.Reason)
	if err := tx.write(ctx, &t, ""); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	return nil
}
