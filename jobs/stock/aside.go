package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// An AsideEvent is an event that a target has refused because of its content.
type AsideEvent struct {
	Event
	Target string
	Reason string
	Aside  time.Time // when it was put aside
	Again  bool      // the target's next run delivers it again
}

// putAside stores events that a target has refused.
func (tx *transaction) putAside(ctx context.Context, target string, refused []Refusal) error {
	t := sqltext.Table{Name: "stock_event_aside", Clock: "aside_at", Columns: []sqltext.Column{{Name: "target"}, {Name: "seq"}, {Name: "order_id"},
		{Name: "placed_at"}, {Name: "kind"}, {Name: "at"}, {Name: "payload"}, {Name: "reason"}}}
	for i := range refused {
		e := &refused[i].Event
		t.Add(target, e.Seq, e.Order, e.Placed.UnixMilli(), string(e.Kind), e.At.UnixMilli(), string(e.Payload), trouble(errors.New(refused[i].Reason)))
	}
	if err := tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_event_aside", "sale, target, seq", []string{"reason"}, nil)); err != nil {
		return fmt.Errorf("put events aside: %w", err)
	}
	return nil
}

// Aside returns the first n events that targets have refused, the oldest first. It needs
// Options.Book.
func (s *Sale) Aside(ctx context.Context, n int) ([]AsideEvent, error) {
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: events put aside: %w", errNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	query := b.dialect.Bind("SELECT target, seq, order_id, placed_at, kind, at, payload, reason, aside_at, again FROM stock_event_aside WHERE sale = ? ORDER BY seq, target LIMIT " + strconv.Itoa(max(0, n)))
	rows, err := b.db.QueryContext(ctx, query, s.ID())
	if err != nil {
		return nil, fmt.Errorf("stock: read events put aside: %w", err)
	}
	defer rows.Close()
	var all []AsideEvent
	for rows.Next() {
		e := AsideEvent{Event: Event{sale: s.ID()}}
		var placed, at, aside int64
		if err := rows.Scan(&e.Target, &e.Seq, &e.Order, &placed, &e.Kind, &at, &e.Payload, &e.Reason, &aside, &e.Again); err != nil {
			return nil, fmt.Errorf("stock: read events put aside: %w", err)
		}
		e.Placed, e.At, e.Aside = time.UnixMilli(placed).UTC(), time.UnixMilli(at).UTC(), time.UnixMilli(aside).UTC()
		all = append(all, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("stock: read events put aside: %w", err)
	}
	return all, nil
}

// countAside returns the number of events that a target has refused.
func (b *Database) countAside(ctx context.Context, sale, target string) (n int, err error) {
	err = b.db.QueryRowContext(ctx, b.dialect.Bind("SELECT COUNT(*) FROM stock_event_aside WHERE sale = ? AND target = ?"), sale, target).Scan(&n)
	return n, err
}

// ErrNotAside is returned for an event that was never put aside, or no longer is.
var ErrNotAside = errors.New("the event is not put aside")

// TryAside marks an event that a target has refused for delivery by the target's next run. With seq
// 0 it marks all refused events of the target. It returns their number, or ErrNotAside if there is
// none. It may be called again. It needs Options.Book.
func (s *Sale) TryAside(ctx context.Context, target string, seq int64) (n int, err error) {
	err = s.onAside(ctx, func(tx *transaction) error {
		where, args := asideWhere(tx.sale, target, seq)
		if err := tx.tx.QueryRowContext(ctx, tx.dialect.Bind("SELECT COUNT(*) FROM stock_event_aside WHERE "+where), args...).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return ErrNotAside
		}
		_, err1 := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_event_aside SET again = TRUE WHERE "+where), args...)
		_, err2 := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_cursor SET next_at = 0 WHERE sale = ? AND target = ?"), tx.sale, target)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return 0, fmt.Errorf("stock: try event %d of %s again: %w", seq, quote(target), err)
	}
	return n, nil
}

// DropAside gives up an event that a target has refused, and records the decision with its By and
// Reason; other fields of d are not read. It refuses with ErrNotAside, or with a joined *FieldError
// for each field that is not allowed. It needs Options.Book.
func (s *Sale) DropAside(ctx context.Context, target string, seq int64, d Decision) error {
	err := d.faults()
	if err == nil {
		err = s.onAside(ctx, func(tx *transaction) error {
			where, args := asideWhere(tx.sale, target, seq)
			var order, payload string
			query := tx.dialect.Bind("SELECT order_id, payload FROM stock_event_aside WHERE seq = ? AND " + where)
			err := tx.tx.QueryRowContext(ctx, query, append([]any{seq}, args...)...).Scan(&order, &payload)
			if errors.Is(err, sql.ErrNoRows) {
				return ErrNotAside
			}
			if err != nil {
				return err
			}
			if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_event_aside WHERE "+where), args...); err != nil {
				return err
			}
			return tx.record(ctx, Decision{Action: DropEvent, Order: order, By: d.By, Reason: d.Reason, storeHas: target, bookHas: payload})
		})
	}
	if err != nil {
		return fmt.Errorf("stock: drop event %d of %s: %w", seq, quote(target), err)
	}
	return nil
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

func asideWhere(sale, target string, seq int64) (where string, args []any) {
	where, args = "sale = ? AND target = ?", []any{sale, target}
	if seq != 0 {
		where, args = where+" AND seq = ?", append(args, seq)
	}
	return where, args
}

// maxAgain bounds how many of a target's refused events one run tries again.
const maxAgain = 100

// asideAgain reads the refused events of a target that were marked to be tried again.
func (b *Database) asideAgain(ctx context.Context, sale, target string) ([]Event, error) {
	query := b.dialect.Bind("SELECT " + eventColumns + " FROM stock_event_aside WHERE sale = ? AND target = ? AND again ORDER BY seq LIMIT " + strconv.Itoa(maxAgain))
	return b.readEvents(ctx, sale, query, sale, target)
}

// triedAgain records the result of a repeated delivery: the event was delivered (refused is empty),
// or refused again with a reason.
func (b *Database) triedAgain(ctx context.Context, sale, target string, fence, seq int64, refused string, kept []int64) error {
	err := b.transact(ctx, sale, func(tx *transaction) error {
		if err := tx.enter(ctx, delivering+target, fence); err != nil {
			return err
		}
		if err := tx.keepTexts(ctx, target, kept); err != nil {
			return err
		}
		where, args := asideWhere(sale, target, seq)
		if refused == "" {
			_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_event_aside WHERE "+where), args...)
			return err
		}
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_event_aside SET again = FALSE, reason = ? WHERE "+where), append([]any{trouble(errors.New(refused))}, args...)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("record event %d of %s: %w", seq, target, err)
	}
	return nil
}

// tryAgain delivers the refused events that were marked to be tried again, one by one, after all
// other events. An event that fails again does not delay the others: it is put aside again. It
// stays marked if the target has named a time to retry and has taken no event in this run.
func (c *deliveryRun) tryAgain(ctx context.Context) error {
	sale, target := c.sale.ID(), c.target.Name()
	events, err := c.book.asideAgain(ctx, sale, target)
	if err != nil {
		return err
	}
	for i := range events {
		if err := c.work.may(ctx, "try again"); err != nil {
			return err
		}
		seq, refused := events[i].Seq, ""
		d := c.deliver(ctx, events[i:i+1])
		failed := len(d.Refused) == 0 && d.Done == 0
		switch {
		case failed && (d.After > 0 && c.done == 0 || ctx.Err() != nil):
			return c.busy(ctx, seq, d)
		case failed:
			refused = d.Err.Error()
		case len(d.Refused) > 0:
			refused = d.Refused[0].Reason
		default:
			c.done++
		}
		if err := c.book.triedAgain(ctx, sale, target, c.work.fence, seq, refused, d.kept); err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("event %d is put aside again: %w", seq, d.Err)
		}
	}
	return nil
}

// busy stores how long the target asked to be left alone when an event was tried again, and returns
// the error of the run. New events wait for that time as well, but no longer than longWait, since
// the reply may concern this event alone. The tries of the next event are not counted, because it
// has not failed.
func (c *deliveryRun) busy(ctx context.Context, seq int64, d Delivery) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // the run was ended, the target has not failed
	}
	return c.leave(ctx, seq, advance{seq: c.at.seq, err: d.Err, wait: min(d.After, longWait), other: true})
}

// ErrNotNext is returned for an event that is not the next one of a target.
var ErrNotNext = errors.New("the event is not the next one of the target")

// SkipEvent puts the next event of a target aside, as if the target had refused it, so that the
// events behind it can be delivered. It records the decision with its By and Reason; other fields
// of d are not read. A run that is delivering the event ends with ErrFenced, and the target may
// have the event. It refuses with ErrNotNext, or with a joined *FieldError for each field that is
// not allowed. It needs Options.Book.
func (s *Sale) SkipEvent(ctx context.Context, target string, seq int64, d Decision) error {
	err := d.faults()
	if err == nil {
		err = s.onAside(ctx, func(tx *transaction) error { return tx.skip(ctx, target, seq, d) })
	}
	if err != nil {
		return fmt.Errorf("stock: skip event %d of %s: %w", seq, quote(target), err)
	}
	return nil
}

func (tx *transaction) skip(ctx context.Context, target string, seq int64, d Decision) error {
	// A run locks the row of the fence before it reads the cursor. The same lock comes first here,
	// so that the cursor cannot move meanwhile.
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_fence SET fence = fence WHERE sale = ? AND job = ?"), tx.sale, delivering+target); err != nil {
		return err
	}
	var has int64
	err := tx.tx.QueryRowContext(ctx, tx.dialect.Bind("SELECT seq FROM stock_cursor WHERE sale = ? AND target = ?"), tx.sale, target).Scan(&has)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("there is no such target: %w", ErrNotNext)
	case err != nil:
		return err
	case seq != has+1:
		return fmt.Errorf("that is %d: %w", has+1, ErrNotNext)
	}
	e, err := tx.event(ctx, seq)
	if err != nil {
		return err
	}
	if err := tx.putAside(ctx, target, []Refusal{{e, "skipped: " + d.Reason}}); err != nil {
		return err
	}
	moved := "UPDATE stock_cursor SET seq = ?, next_at = 0, tries = 0, passed = 0, failing_at = 0, trouble = ''," +
		" skipped_after = CASE WHEN skipped_after < 0 THEN ? ELSE skipped_after END WHERE sale = ? AND target = ?"
	if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(moved), seq, has, tx.sale, target); err != nil {
		return err
	}
	return tx.record(ctx, Decision{Action: SkipEvent, Order: e.Order, By: d.By, Reason: d.Reason, storeHas: target, bookHas: string(e.Payload)})
}

// event reads one event.
func (tx *transaction) event(ctx context.Context, seq int64) (Event, error) {
	rows, err := tx.tx.QueryContext(ctx, tx.dialect.Bind("SELECT "+eventColumns+" FROM stock_event WHERE sale = ? AND seq = ?"), tx.sale, seq)
	if err != nil {
		return Event{}, err
	}
	events, err := scanEvents(rows, tx.sale)
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("there is none yet: %w", ErrNotNext)
	}
	if err != nil {
		return Event{}, err
	}
	return events[0], nil
}
