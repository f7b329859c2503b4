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

// An AsideEvent is an event that a target has refused for what it is.
type AsideEvent struct {
	Event
	Target string
	Reason string
	Aside  time.Time // when it was put aside
	Again  bool      // it is tried again with the target's next run
}

// putAside keeps events that a target has refused.
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

// countAside counts the events that a target has refused.
func (b *Database) countAside(ctx context.Context, sale, target string) (n int, err error) {
	err = b.db.QueryRowContext(ctx, b.dialect.Bind("SELECT COUNT(*) FROM stock_event_aside WHERE sale = ? AND target = ?"), sale, target).Scan(&n)
	return n, err
}

// ErrNotAside is that of an event that was not put aside, or no longer is.
var ErrNotAside = errors.New("the event is not put aside")

// TryAside has an event that a target has refused delivered again, with the target's next run;
// seq 0: all of the target. It returns how many there are. It may be called again, and is an
// ErrNotAside when there is none. It needs Options.Book.
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

// DropAside gives up an event that a target has refused, and records it with the By and Reason of
// the decision; its other fields are not read. It is refused with ErrNotAside, or a *FieldError
// for each field that is not allowed, joined. It needs Options.Book.
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

// onAside does f in a transaction.
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

// maxAgain is how many events that were put aside one run tries again.
const maxAgain = 100

// asideAgain reads the events of a target that are to be tried again.
func (b *Database) asideAgain(ctx context.Context, sale, target string) ([]Event, error) {
	query := b.dialect.Bind("SELECT " + eventColumns + " FROM stock_event_aside WHERE sale = ? AND target = ? AND again ORDER BY seq LIMIT " + strconv.Itoa(maxAgain))
	return b.readEvents(ctx, sale, query, sale, target)
}

// triedAgain records what became of an event that was tried again: delivered, or refused with
// a reason.
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

// tryAgain delivers events that were put aside and are to be tried again, each by itself, after
// all others: one that fails again keeps none of them. It is put aside again then, unless the target
// says when it takes events again, and has taken none in this run.
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

// busy leaves the target alone as long as it says about an event that was tried again, and is the error
// of the run. Events that come meanwhile wait, too: not for long, since it may be about this one alone. It
// says nothing of the next one, which has not failed by it.
func (c *deliveryRun) busy(ctx context.Context, seq int64, d Delivery) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // it is not the target's
	}
	return c.leave(ctx, seq, advance{seq: c.at.seq, err: d.Err, wait: min(d.After, longWait), other: true})
}
