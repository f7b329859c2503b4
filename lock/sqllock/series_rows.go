package sqllock

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A batch holds the rows of several series, as they were at one instant.
type batch struct {
	driver  *Driver
	us      int64 // the database's clock
	records map[string]*record
}

// A rowAccess is how rows of series are read.
type rowAccess uint8

const (
	reading rowAccess = iota // without locking them
	locking
	opening // locking them, and with their revisions
)

func (m rowAccess) columns() string {
	if m == opening {
		return seriesColumns + ", revisions"
	}
	return seriesColumns
}

const seriesColumns = "name, format, state, first_line, next_line, bytes"

// record returns the record of a key. The rules write nothing to a series that was never opened.
func (b *batch) record(key string) *record {
	r := b.records[key]
	if r == nil {
		r = &record{key: key}
		b.records[key] = r
	}
	return r
}

// lockSeries locks the rows of several series. If opens is true, it creates the missing rows.
func (d *Driver) lockSeries(ctx context.Context, s session, keys []string, opens bool) (*batch, error) {
	if !opens {
		return d.read(ctx, s, locking, keys)
	}
	b, err := d.read(ctx, s, opening, keys)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return b.records[key] != nil })
	if len(missing) == 0 {
		return b, nil
	}
	slices.Sort(missing)
	for _, key := range slices.Compact(missing) {
		if _, err := exec(ctx, s, d.texts.insertSeries, d.ns, key, 1); err != nil {
			return nil, err
		}
	}
	return d.read(ctx, s, opening, keys)
}

// read reads the rows of several series, and then the clock.
func (d *Driver) read(ctx context.Context, s session, m rowAccess, keys []string) (*batch, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	b := &batch{driver: d, records: make(map[string]*record, len(keys))}
	text, args := d.query(m, keys)
	rows, err := s.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := new(record)
		var kept, us int64
		fields := []any{&r.key, &kept, &r.text, &r.first, &r.next, &r.bytes}
		if m == opening {
			fields = append(fields, &r.seen)
		}
		if err := rows.Scan(append(fields, (*instant)(&us))...); err != nil {
			return nil, err
		}
		b.us = max(b.us, us) // the clock of the last row, which was read when all rows were locked
		r.read(kept)
		b.records[r.key] = r
	}
	if err := rows.Err(); err != nil || b.us != 0 {
		return b, err
	}
	var server string
	return b, s.QueryRowContext(ctx, d.texts.now).Scan((*instant)(&b.us), &server)
}

// query returns the query for several series, in the order of their keys.
func (d *Driver) query(m rowAccess, keys []string) (text string, args []any) {
	args = append(args, d.ns)
	for _, key := range keys {
		args = append(args, key)
	}
	for len(args)-1 < roundUp(len(keys)) { // few different texts for the database to prepare
		args = append(args, keys[len(keys)-1])
	}
	from := "cronce_series WHERE ns = ? AND name IN (?" + strings.Repeat(", ?", len(args)-2) + ") ORDER BY name"
	if m == reading {
		return d.grammar.text("SELECT " + m.columns() + ", {clock} FROM " + from), args
	}
	return d.grammar.locked(m.columns(), from), args
}

// roundUp returns the smallest power of two that is not less than n.
func roundUp(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// save writes the changes that the rules made.
func (b *batch) save(ctx context.Context, s session, opens bool) error {
	d := b.driver
	var states, lines rows
	var all []*record
	for _, key := range slices.Sorted(maps.Keys(b.records)) {
		r := b.records[key]
		if !r.found || r.err != nil {
			continue
		}
		d.dropExtras(r)
		if err := b.write(r, &lines); err != nil {
			return err
		}
		all = append(all, r)
	}
	if err := lines.send(ctx, s, &d.grammar, d.texts.putLines); err != nil {
		return err
	}
	for _, r := range all {
		if err := d.cut(ctx, s, r); err != nil {
			return err
		}
		text, err := r.encode()
		if err != nil {
			return err
		}
		if text != r.text || opens {
			states.add(d.ns, r.key, r.Format(), text, r.first, r.next, r.bytes, r.seen)
		}
	}
	put := d.texts.putSeries
	if opens {
		put = d.texts.putOpened
	}
	return states.send(ctx, s, &d.grammar, put)
}

// rows are rows to be put into a table.
type rows struct {
	width int // columns
	args  []any
}

func (r *rows) add(values ...any) {
	r.width = len(values)
	r.args = append(r.args, values...)
}

// A put is a statement that puts rows: the text before their values and the text behind them.
type put struct{ before, behind string }

const maxRows = 500 // of one statement

// send sends the rows with as few statements as possible.
func (r *rows) send(ctx context.Context, s session, g *grammar, p put) error {
	if r.width == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", r.width-1) + ")"
	for some := range slices.Chunk(r.args, maxRows*r.width) {
		text := p.before + row + strings.Repeat(", "+row, len(some)/r.width-1) + p.behind
		if _, err := s.ExecContext(ctx, g.text(text), some...); err != nil {
			return err
		}
	}
	return nil
}
