package sqllock

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// write adds the lines of a record to the lines that are to be written, and counts their bytes.
func (b *batch) write(r *record, lines *rows) error {
	if r.folded {
		before, err := encodeLine(r.stored)
		if err != nil {
			return err
		}
		text, err := encodeLine(&r.newest)
		if err != nil {
			return err
		}
		lines.add(b.driver.ns, r.key, r.next-1, text)
		r.bytes += int64(len(text) - len(before))
	}
	for i := range r.written {
		text, err := encodeLine(&r.written[i])
		if err != nil {
			return err
		}
		lines.add(b.driver.ns, r.key, r.next, text)
		r.next++
		r.bytes += int64(len(text))
	}
	return nil
}

// size returns how many lines and exceptions a journal has.
func (r *record) size() int64 { return r.exceptions + r.next - r.first }

// dropExtras drops the text of an error, or the sheet, that was added to the newest line of the table, if all journals
// together are too large and this journal has no two older lines to remove for it.
func (d *Driver) dropExtras(r *record) {
	if r.grown > 0 && d.maintenance.full.Load() && r.size() <= 2 {
		r.newest.Error, r.newest.Sheet, r.grown = "", "", 0
	}
}

// excess returns how many lines a journal has too many. If all journals together are too large, each
// new line costs two, but never the newest. The text of an error counts as a line, and so does a sheet.
func (d *Driver) excess(r *record) int64 {
	fresh := int64(len(r.written))
	if r.grown > 0 {
		fresh++
	}
	if fresh == 0 {
		return 0
	}
	drop := int64(0)
	if d.maintenance.full.Load() {
		drop = min(2*fresh, r.size()-1)
	}
	if most := int64(d.lines); r.size()-drop > most {
		drop = r.size() - most + most/16 // so that not every line costs a statement
	}
	return drop
}

// cut deletes the oldest lines of a journal that is too long. Exceptions among them stay before the
// first line, until they are more than series.MostExceptions allows: then the oldest go. A text that
// cannot be read goes as well. The lines of the step are in the table before.
func (d *Driver) cut(ctx context.Context, s session, r *record) error {
	drop := d.excess(r)
	if drop <= 0 {
		return nil
	}
	want := r.size() - drop
	most := int64(series.MostExceptions(int(want)))
	var stay, gone []entry
	unknown := false // a text that cannot be read, which may have been an exception, goes
	from, end := int64(0), r.first+max(0, drop-max(0, r.exceptions-most))
	for {
		older, err := entries(ctx, s, d.texts.older, d.ns, r.key, from, end-1)
		if err != nil {
			return err
		}
		for _, e := range older {
			line, err := readLine(r.key, e.text)
			if err == nil && line.Exception() {
				e.at = line.At
				stay = append(stay, e)
				continue
			}
			gone = append(gone, e)
			unknown = unknown || err != nil
		}
		r.exceptions = min(most, int64(len(stay)))
		over := r.exceptions + r.next - end - want
		if over <= 0 {
			break
		}
		from, end = end, end+over
	}
	r.first = end
	if oldest := stay[:len(stay)-int(r.exceptions)]; len(oldest) > 0 {
		gone = append(gone, oldest...)
		r.since = oldest[len(oldest)-1].at
	}
	if unknown {
		r.since = r.last().At
	}
	return d.delete(ctx, s, r, gone)
}

// delete deletes lines that are older than the first line of a journal.
func (d *Driver) delete(ctx context.Context, s session, r *record, gone []entry) error {
	var numbers []any
	for _, e := range gone {
		r.bytes = max(0, r.bytes-int64(len(e.text)))
		numbers = append(numbers, e.n)
	}
	if r.exceptions == 0 {
		_, err := exec(ctx, s, d.texts.cutLines, d.ns, r.key, r.first)
		return err
	}
	for some := range slices.Chunk(numbers, maxRows) {
		if err := d.remove(ctx, s, "cronce_journal WHERE ns = ? AND name = ? AND n", some, r.key); err != nil {
			return err
		}
	}
	return nil
}

// Journal returns the newest n lines of a series, oldest first, and the revisions that were seen.
// It takes two statements.
func (d *Driver) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	j, err := withSession(ctx, d, func(s session) (series.Journal, error) { return d.journal(ctx, s, key, n) })
	return j, failed("journal", err)
}

func (d *Driver) journal(ctx context.Context, s session, key string, n int) (series.Journal, error) {
	j := series.Journal{Key: key}
	most := n
	if n <= 0 {
		most = 1 << 30
	}
	all, err := entries(ctx, s, d.texts.lines, d.ns, key, most)
	if err != nil {
		return j, err
	}
	for _, e := range slices.Backward(all) {
		line, err := readLine(key, e.text)
		if err != nil {
			line = series.UnreadableLine(e.text)
		}
		switch {
		case e.n >= 0:
			j.Lines = append(j.Lines, line)
		case n <= 0:
			j.Exceptions = append(j.Exceptions, line)
		}
	}
	j.Truncated = len(j.Exceptions) > 0 || len(j.Lines) > 0 && j.Lines[0].Verdict != series.VerdictOpened
	// If lines are deleted between the two statements, the exceptions are complete since earlier than j says.
	var revisions, state string
	err = s.QueryRowContext(ctx, d.texts.revisions, d.ns, key).Scan(&revisions, &state)
	if err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return j, err
	}
	if j.Revisions, err = readSightings(key, revisions); err != nil {
		j.Faults = append(j.Faults, driver.Quote(revisions))
	}
	r := record{key: key, text: state}
	if r.read(format); r.err != nil {
		j.Faults = append(j.Faults, driver.Quote(state))
	}
	if n <= 0 {
		j.ExceptionsSince = r.since
	}
	return j, nil
}

// Keys lists the series of the namespace, sorted.
func (d *Driver) Keys(ctx context.Context) ([]string, error) {
	keys, err := withSession(ctx, d, func(s session) ([]string, error) { return column(ctx, s, d.texts.keys, d.ns) })
	slices.Sort(keys)
	return keys, failed("keys", err)
}

// An entry is a row of a journal.
type entry struct {
	n    int64 // its number or, in Journal, its distance from the first line; negative: it is an exception before that line
	text string
	at   int64 // of an exception, when it was written, Unix ms
}

// entries returns the rows of a query with two columns, for n and text.
func entries(ctx context.Context, s session, text string, args ...any) (all []entry, err error) {
	rows, err := s.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.n, &e.text); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

// column returns the values of the only column of a query.
func column(ctx context.Context, s session, text string, args ...any) (all []string, err error) {
	rows, err := s.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

func encodeLine(l *series.Line) (string, error) {
	text, err := json.Marshal(l)
	return string(text), err
}

// readLine reads a line. A line that cannot be read is an error: its content is not known.
func readLine(key, text string) (line series.Line, err error) {
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		return series.Line{}, fmt.Errorf("a line of %q cannot be read: %w", key, err)
	}
	return line, nil
}

// readSightings reads the revisions of a series that were seen.
func readSightings(key, text string) (seen series.Sightings, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		return nil, fmt.Errorf("the revisions of %q cannot be read: %w", key, err)
	}
	return seen, nil
}
