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

// A cursor is how far a target is.
type cursor struct {
	since   int64         // the number of the last event before the target was there
	seq     int64         // the number of the last event that it has
	tries   int64         // how often the next event could not be delivered
	passed  int64         // how often of these later events got through
	failing time.Duration // since the first of these
	wait    time.Duration // for which it is left alone
	seen    time.Duration // since a node had it in its configuration

	troubled bool  // something is written down about why it is, or was, left alone
	skipped  int64 // the event behind which all up to seq were skipped; -1: none was
}

// seenEvery is how often it is written down that a target is still there.
const seenEvery = time.Minute

// cursor reads how far a target is: sql.ErrNoRows if it was not there before.
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

// enrol returns how far a target is. One that was not there before begins now: from here on
// events are written, and it gets those. That it is still there is written down each minute.
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

// An advance is what became of some events.
type advance struct {
	from  int64 // where the run has found the cursor
	seq   int64 // the target has all up to this one, or has refused them
	aside []Refusal
	kept  []int64       // events that the target has not done with
	err   error         // why it does not have the next one; nil: nothing is wrong
	later int64         // 1 if later events got through, else 0
	wait  time.Duration // for which it is left alone
	other bool          // err is about another event than the next one
	has   bool          // the target itself has the event seq, or has lost it
}

// advance moves the cursor of a target on, or back when the target has lost something. A run
// that a later one has come after, or after an operator has skipped an event, is refused.
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
		case a.err != nil: // MySQL writes one column after the other, and reads what it has written
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

// maxTrouble is how many characters of an error are kept.
const maxTrouble = 300

// trouble is an error as it is kept: cut, and on one line.
func trouble(err error) string {
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error()))
	return string(text[:min(maxTrouble, len(text))])
}
