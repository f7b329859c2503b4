package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A cursor is the position of a target in the events of a sale.
type cursor struct {
	since   int64         // number of the last event before the target was added
	seq     int64         // number of the last event that the target has
	tries   int64         // failed deliveries of the next event
	passed  int64         // of these, the deliveries at which later events succeeded
	failing time.Duration // time since the first failure
	wait    time.Duration // until the next delivery
	seen    time.Duration // time since a node had the target in its configuration

	troubled bool  // the row has an error text
	skipped  int64 // all events behind this one, up to seq, were skipped; -1: none
}

// seenEvery is the interval at which a node records that a target is still configured.
const seenEvery = time.Minute

// cursor reads the position of a target; sql.ErrNoRows if the target is new.
func (b *Database) cursor(ctx context.Context, sale, target string) (c cursor, err error) {
	now := b.dialect.Now()
	query := b.dialect.Bind("SELECT since, seq, tries, passed, CASE WHEN tries > 0 AND failing_at > 0 THEN " + now + " - failing_at ELSE 0 END, next_at - " + now + ", " + now +
		" - seen_at, trouble, skipped_after FROM stock_cursor WHERE sale = ? AND target = ?")
	var failing, wait, seen int64
	var trouble string
	err = b.db.QueryRowContext(ctx, query, sale, target).Scan(&c.since, &c.seq, &c.tries, &c.passed, &failing, &wait, &seen, &trouble, &c.skipped)
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	c.failing, c.wait, c.seen, c.troubled = ms(failing), ms(wait), ms(seen), trouble != ""
	return c, err
}

// enrol returns the position of a target. A new target begins at the last event, and from then on
// events are written. Once a minute enrol records that the target is still configured.
func (b *Database) enrol(ctx context.Context, sale, target string, fence int64) (c cursor, err error) {
	if c, err = b.cursor(ctx, sale, target); err == nil && c.seen < seenEvery {
		return c, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c, fmt.Errorf("read the cursor of %s: %w", target, err)
	}
	if _, err := b.book(ctx, sale); err != nil { // there is one then
		return c, err
	}
	err = b.transact(ctx, sale, func(tx *transaction) error {
		if _, err := tx.lockBook(ctx); err != nil {
			return err
		}
		if err := tx.enter(ctx, delivering+target, fence); err != nil {
			return err
		}
		now := tx.dialect.Now()
		done, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_cursor SET seen_at = "+now+" WHERE sale = ? AND target = ?"), sale, target)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		insert := "INSERT INTO stock_cursor (sale, target, since, seq, seen_at, next_at, tries, trouble) VALUES (?, ?, ?, ?, " + now + ", 0, 0, '')"
		if _, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(insert), sale, target, tx.events.seq, tx.events.seq); err != nil {
			return err
		}
		_, err = tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_book SET events = TRUE WHERE sale = ?"), sale)
		return err
	})
	if err == nil {
		c, err = b.cursor(ctx, sale, target)
	}
	if err != nil {
		return c, fmt.Errorf("enrol %s: %w", target, err)
	}
	return c, nil
}

// An advance is the result of a delivery.
type advance struct {
	from  int64 // position at which the run found the cursor
	seq   int64 // the target has accepted or refused all events up to this one
	aside []Refusal
	kept  []int64       // events whose texts wait in an outbox
	err   error         // why the next event was not delivered; nil: no error
	later int64         // 1 if later events succeeded, else 0
	wait  time.Duration // until the next delivery
	other bool          // err concerns another event than the next one
	has   bool          // the target itself has the event seq, or has lost it: the position is not the result of a skip
}

// advance moves the cursor of a target forward, or back if the target has lost events. It refuses
// with ErrFenced if a later run has begun, or if an operator has skipped an event since.
func (b *Database) advance(ctx context.Context, sale, target string, fence int64, a advance) error {
	err := b.transact(ctx, sale, func(tx *transaction) error {
		if err := tx.enter(ctx, delivering+target, fence); err != nil {
			return err
		}
		var at int64
		if err := tx.tx.QueryRowContext(ctx, tx.dialect.Bind("SELECT seq FROM stock_cursor WHERE sale = ? AND target = ?"), sale, target).Scan(&at); err != nil {
			return err
		}
		if at != a.from {
			return fmt.Errorf("it is at %d, and was at %d: %w", at, a.from, ErrFenced)
		}
		if err := tx.putAside(ctx, target, a.aside); err != nil {
			return err
		}
		if err := tx.keepTexts(ctx, target, a.kept); err != nil {
			return err
		}
		sets, args := "seq = ?, next_at = 0, tries = 0, passed = 0, failing_at = 0, trouble = ''", []any{a.seq}
		switch {
		case a.other:
			sets = "seq = ?, next_at = " + tx.dialect.Now() + " + ?, tries = 0, passed = 0, failing_at = 0, trouble = ?"
			args = append(args, a.wait.Milliseconds(), trouble(a.err))
		case a.err != nil: // MySQL assigns columns in order, and later expressions read the new values
			sets = "passed = CASE WHEN seq = ? THEN passed ELSE 0 END + ?, failing_at = CASE WHEN seq = ? AND tries > 0 AND failing_at > 0 THEN failing_at ELSE " + tx.dialect.Now() +
				" END, tries = CASE WHEN seq = ? THEN tries + 1 ELSE 1 END, seq = ?, next_at = " + tx.dialect.Now() + " + ?, trouble = ?"
			args = []any{a.seq, a.later, a.seq, a.seq, a.seq, a.wait.Milliseconds(), trouble(a.err)}
		}
		if a.has {
			sets += ", skipped_after = -1"
		}
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("UPDATE stock_cursor SET "+sets+" WHERE sale = ? AND target = ?"), append(args, sale, target)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("move the cursor of %s: %w", target, err)
	}
	return nil
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
