package sms

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the sample
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// MaxBad bounds the bad rows of a Report.
const MaxBad = 1000

// rowsAtOnce is the number of rows that one step puts into the outbox.
const rowsAtOnce = 100

// A Report is the result of an import. Rows = Accepted + Known + Refused.
type Report struct {
	Rows     int      // rows read, without the header and blank lines
	Accepted int      // new in the outbox
	Known    int      // there already, or twice in the file, with the same content
	Refused  int      // bad rows
	Bad      []BadRow // the first MaxBad of these, by line
}

// A BadRow is a row that was not accepted, with the reason, which contains neither recipient nor
// text.
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
// The first line names the columns, in any order; to and text are required, and until,
// priority, zone and person may be there: see Message. A byte order mark in front, quotes
// around any field and lines that end with CRLF are allowed. An empty at means at once; for its
// forms see ParseTime and zone. A row without an id gets one that is computed from its content,
// so that a file may be imported again. To send the same text twice to one number, give ids.
//
// Bad rows are reported, the others are accepted. The file is read a few rows at a time,
// whatever its size. An error means that the rest of the file was not imported because the
// store, the context or the file failed. The report counts the rows until then, and a second
// import of the file accepts the rest.
func Import(ctx context.Context, o *Outbox, r io.Reader, zone *time.Location) (Report, error) {
	return ImportWith(ctx, o, r, ImportOptions{Zone: zone})
}

// A Checkpoint is the position of an import. It may be stored, also as JSON, so that a later import
// continues behind it. The zero value is the beginning.
type Checkpoint struct {
	Rows     int    `json:"rows"` // as in a Report
	Accepted int    `json:"accepted"`
	Known    int    `json:"known"`
	Refused  int    `json:"refused"`
	Sum      string `json:"sum"` // checksum of these rows
}

// ErrOtherFile is returned for a file that does not begin with the rows of the earlier import. No
// row was imported.
var ErrOtherFile = errors.New("the file does not begin with the rows that were imported before")

// ImportOptions are the options of an import. The zero value is valid.
type ImportOptions struct {
	// Zone is the time zone of times without one. Nil: UTC.
	Zone *time.Location
	// From is the position at which an earlier import of the same file ended. The rows before it
	// are read and compared, but not sent to the store again. The Report counts them, and lists
	// only bad rows behind From.
	From Checkpoint
	// Progress is called after each step of some hundred rows, and at the end. Nil: it is not
	// called.
	Progress func(Checkpoint)
}

// ImportWith is Import with options.
func ImportWith(ctx context.Context, o *Outbox, r io.Reader, options ImportOptions) (Report, error) {
	i := importer{outbox: o, options: options}
	err := i.run(ctx, r, options.Zone)
	slices.SortStableFunc(i.report.Bad, func(a, b BadRow) int { return cmp.Compare(a.Line, b.Line) })
	if err != nil {
		return i.report, fmt.Errorf("sms: import: %w", err)
	}
	return i.report, nil
}

// An importer collects good rows and puts them into the outbox in steps.
type importer struct {
	outbox  *Outbox
	options ImportOptions
	good    []row
	report  Report
	read    int    // number of rows
	sum     []byte // checksum of the rows
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
			if i.read < i.options.From.Rows {
				return ErrOtherFile
			}
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
	i.chain(r)
	if from := i.options.From; i.read < from.Rows {
		return nil
	} else if i.read == from.Rows {
		i.report.Rows, i.report.Accepted, i.report.Known, i.report.Refused = from.Rows, from.Accepted, from.Known, from.Refused
		if hex.EncodeToString(i.sum) != from.Sum {
			return ErrOtherFile
		}
		return nil
	}
	if r.err != nil {
		i.refuse(r.line, r.err)
		return nil
	}
	if i.good = append(i.good, r); len(i.good) < rowsAtOnce {
		return nil
	}
	return i.flush(ctx)
}

// chain adds a row to the checksum of the rows before it.
func (i *importer) chain(r row) {
	i.read++
	content, _ := encode(r.message) // a struct of strings and numbers can always be encoded
	if r.err != nil {
		content = r.err.Error()
	}
	sum := sha256.Sum256(fmt.Appendf(i.sum, " %d %s %s", r.line, r.message.ID, content))
	i.sum = sum[:]
}

func (i *importer) checkpoint() {
	if i.options.Progress != nil {
		r := &i.report
		i.options.Progress(Checkpoint{r.Rows, r.Accepted, r.Known, r.Refused, hex.EncodeToString(i.sum)})
	}
}

func (i *importer) refuse(line int, err error) {
	i.report.Rows++
	i.report.Refused++
	if len(i.report.Bad) < MaxBad {
		i.report.Bad = append(i.report.Bad, BadRow{line, err})
	}
}

// flush puts the collected rows into the outbox.
func (i *importer) flush(ctx context.Context) error {
	if len(i.good) == 0 {
		i.checkpoint()
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
	i.checkpoint()
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
