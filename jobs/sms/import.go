package sms

import (
	"cmp"
	"context"
	_ "embed" // the sample
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// MaxBad is how many bad rows a Report lists.
const MaxBad = 1000

// rowsAtOnce is how many rows go to the outbox in one step.
const rowsAtOnce = 200

// A Report says what an import came to. Rows = Accepted + Known + Refused.
type Report struct {
	Rows     int      // rows read, without the header and blank lines
	Accepted int      // new in the outbox
	Known    int      // there already, or twice in the file, with the same content
	Refused  int      // bad rows
	Bad      []BadRow // the first MaxBad of them, by line
}

// A BadRow is a row that was not accepted, and why. No reason shows a recipient
// or a text.
type BadRow struct {
	Line int // of the file, the header is line 1
	Err  error
}

func (b BadRow) String() string {
	return fmt.Sprintf("line %d: %s", b.Line, strings.ReplaceAll(b.Err.Error(), "\n", "; "))
}

//go:embed testdata/messages.csv
var sample string

// Sample is a CSV file with a few hundred made-up messages, all of them due.
func Sample() io.Reader { return strings.NewReader(sample) }

// Import puts the messages of a CSV file into the outbox:
//
//	id,to,text,at
//	order-17,+12025550123,"Your order is on its way, see you soon.",2026-03-01 09:30:00
//
// The first line names the columns, in any order; to and text are required. An
// empty at is at once; for its forms see ParseTime and zone. A row without an id
// gets one made of its content, so that a file may be imported again; to send the
// same text twice to one number, give ids.
//
// Bad rows are reported, the others kept. The file is read a few rows at a time,
// whatever its size. An error says that the rest of the file was not imported: the
// store, the context or the file failed. The report counts what was done until
// then, and importing the file again does the rest.
func Import(ctx context.Context, o *Outbox, r io.Reader, zone *time.Location) (Report, error) {
	i := importer{outbox: o}
	err := i.run(ctx, r, zone)
	slices.SortStableFunc(i.report.Bad, func(a, b BadRow) int { return cmp.Compare(a.Line, b.Line) })
	if err != nil {
		return i.report, fmt.Errorf("sms: import: %w", err)
	}
	return i.report, nil
}

// An importer gathers good rows and gives them to the outbox.
type importer struct {
	outbox *Outbox
	good   []row
	report Report
}

func (i *importer) run(ctx context.Context, r io.Reader, zone *time.Location) error {
	rs, err := readRows(r, zone)
	if err != nil {
		return err
	}
	last := 1
	for {
		next, err := rs.next()
		if errors.Is(err, io.EOF) {
			return i.flush(ctx)
		}
		if err != nil {
			return errors.Join(i.flush(ctx), fmt.Errorf("after line %d: %w", last, err))
		}
		last = next.line
		if err := i.add(ctx, next); err != nil {
			return err
		}
	}
}

func (i *importer) add(ctx context.Context, r row) error {
	if r.err != nil {
		i.refuse(r.line, r.err)
		return nil
	}
	if i.good = append(i.good, r); len(i.good) < rowsAtOnce {
		return nil
	}
	return i.flush(ctx)
}

func (i *importer) refuse(line int, err error) {
	i.report.Rows++
	i.report.Refused++
	if len(i.report.Bad) < MaxBad {
		i.report.Bad = append(i.report.Bad, BadRow{line, err})
	}
}

// flush gives the gathered rows to the outbox.
func (i *importer) flush(ctx context.Context) error {
	if len(i.good) == 0 {
		return nil
	}
	messages := make([]Message, len(i.good))
	for n, r := range i.good {
		messages[n] = r.message
	}
	got, err := i.outbox.accept(ctx, messages)
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w", i.good[0].line, i.good[len(i.good)-1].line, err)
	}
	for n, a := range got {
		i.count(i.good[n], a)
	}
	i.good = i.good[:0]
	return nil
}

func (i *importer) count(r row, a acceptance) {
	switch a {
	case fresher:
		i.report.Rows++
		i.report.Accepted++
	case known:
		i.report.Rows++
		i.report.Known++
	default:
		i.refuse(r.line, fmt.Errorf("id %q: %w", r.message.ID, ErrConflict))
	}
}
