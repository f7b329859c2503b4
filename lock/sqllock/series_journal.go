package sqllock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// write adds the lines of a record to the lines that are to be written, and counts them.
func (b *batch) write(r *record, lines *rows) error {
	if r.folded {
		r.bytes += r.grown
		text, err := encodeLine(&r.newest)
		if err != nil {
			return err
		}
		lines.add(b.driver.ns, r.key, r.next-1, text)
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

// forgo drops the text of an error that was added to the newest line of the table, if all journals
// together are too large and this journal has no two older lines to remove for it.
func (d *Driver) forgo(r *record) {
	if r.grown > 0 && d.maintenance.full.Load() && r.next-r.first <= 2 {
		r.newest.Error, r.grown = "", 0
	}
}

// cut drops the oldest lines of a journal that is too long. If all journals together are too large,
// it drops two lines for each new line, but never the newest. It reports whether there are lines to
// delete. The text of an error counts as a line.
func (d *Driver) cut(r *record) bool {
	fresh := int64(len(r.written))
	if r.grown > 0 {
		fresh++
	}
	count := r.next - r.first
	drop := int64(0)
	if fresh > 0 && d.maintenance.full.Load() {
		drop = min(2*fresh, count-1)
	}
	if most := int64(d.lines); count-drop > most {
		drop = count - most + most/16 // so that not every line costs a statement
	}
	if drop == 0 {
		return false
	}
	r.first += drop
	r.bytes = r.bytes * (count - drop) / count
	return true
}

// Journal returns the newest n lines of a series, oldest first, and the revisions that were seen.
// It takes two statements.
func (d *Driver) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	j, err := withSession(ctx, d, func(s session) (series.Journal, error) { return d.journal(ctx, s, key, n) })
	return j, failed("journal", err)
}

func (d *Driver) journal(ctx context.Context, s session, key string, n int) (series.Journal, error) {
	if n <= 0 {
		n = 1 << 30
	}
	j := series.Journal{Key: key}
	texts, err := column(ctx, s, d.texts.lines, d.ns, key, n)
	if err != nil {
		return j, err
	}
	for _, text := range slices.Backward(texts) {
		line, err := readLine(key, text)
		if err != nil {
			line = series.UnreadableLine(text)
		}
		j.Lines = append(j.Lines, line)
	}
	j.Truncated = len(j.Lines) > 0 && j.Lines[0].Verdict != series.VerdictOpened
	revisions, err := column(ctx, s, d.texts.revisions, d.ns, key)
	if err != nil || len(revisions) == 0 {
		return j, err
	}
	seen, err := readSightings(key, revisions[0])
	if err != nil {
		j.Faults = append(j.Faults, driver.Quote(revisions[0]))
	}
	j.Revisions = seen
	return j, nil
}

// Keys lists the series of the namespace, sorted.
func (d *Driver) Keys(ctx context.Context) ([]string, error) {
	keys, err := withSession(ctx, d, func(s session) ([]string, error) { return column(ctx, s, d.texts.keys, d.ns) })
	slices.Sort(keys)
	return keys, failed("keys", err)
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
