package sms

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxRow bounds a row, including a few KiB that are read ahead. It bounds memory if a quote is
// never closed.
const maxRow = 64 << 10

var errLongRow = fmt.Errorf("a row is longer than %d bytes; is a quote not closed?", maxRow)

// columns are the column names of a header, in the order of cells.
var columns = [...]string{"id", "to", "text", "at", "until", "priority", "zone", "person"}

const columnsAllowed = "id, to, text, at, until, priority, zone and person in any order, to and text required"

// A row is a line of a CSV file: a valid message or its fault.
type row struct {
	line    int
	message Message
	err     error
}

// rows reads messages from CSV, one at a time.
type rows struct {
	csv    *csv.Reader
	budget *budget
	at     [len(columns)]int // index of each column in a record; -1: absent
	width  int
	zone   *time.Location
}

func readRows(r io.Reader, zone *time.Location) (*rows, error) {
	r, err := withoutMark(r)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	b := &budget{r: r, left: maxRow}
	in := csv.NewReader(b)
	in.FieldsPerRecord = -1 // a row of another width is bad and does not end the import
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		err = &FieldError{"header", "missing", columnsAllowed}
	}
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	rs := &rows{csv: in, budget: b, width: len(header), zone: zone}
	if rs.at, err = locate(header); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return rs, nil
}

// byteOrderMark is the first character of files of some programs. Without it a quote behind it is
// at the beginning of its field.
const byteOrderMark = "\ufeff"

// withoutMark returns a reader of r without its byte order mark.
func withoutMark(r io.Reader) (io.Reader, error) {
	head := make([]byte, len(byteOrderMark))
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if string(head[:n]) == byteOrderMark {
		return r, nil
	}
	return io.MultiReader(bytes.NewReader(head[:n]), r), nil
}

// locate finds the columns in a header.
func locate(header []string) ([len(columns)]int, error) {
	var at [len(columns)]int
	for i := range at {
		at[i] = -1
	}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		c := 0
		for c < len(columns) && columns[c] != name {
			c++
		}
		if c == len(columns) || at[c] >= 0 {
			return at, &FieldError{"column", quote(name), columnsAllowed + ", each once"}
		}
		at[c] = i
	}
	for c, name := range columns[1:3] {
		if at[c+1] < 0 {
			return at, &FieldError{"column", "without " + name, columnsAllowed}
		}
	}
	return at, nil
}

// next returns the next row, good or bad. Its error, io.EOF or another, ends the import.
func (rs *rows) next() (row, error) {
	rs.budget.left = maxRow
	record, err := rs.csv.Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return row{line: parse.StartLine, err: describe(parse)}, nil
	}
	if err != nil {
		return row{}, err
	}
	line, _ := rs.csv.FieldPos(0)
	if len(record) != rs.width {
		return row{line: line, err: fmt.Errorf("the row has %d columns, the header %d (a comma within a text needs quotes around the text)",
			len(record), rs.width)}, nil
	}
	m, err := rs.message(record)
	return row{line, m, err}, nil
}

// describe describes a misplaced quote without the content of the row.
func describe(e *csv.ParseError) error {
	if e.Line > e.StartLine {
		return fmt.Errorf("a quote is wrong or not closed; the lines to %d were read as one row", e.Line)
	}
	return errors.New(`a quote within a field: write "" for it, and quotes around the field`)
}

func (rs *rows) message(record []string) (Message, error) {
	cell := func(c int) string {
		if rs.at[c] < 0 {
			return ""
		}
		return strings.Clone(record[rs.at[c]])
	}
	m := Message{ID: strings.TrimSpace(cell(0)), To: strings.TrimSpace(cell(1)), Text: cell(2),
		Zone: strings.TrimSpace(cell(6)), Person: strings.TrimSpace(cell(7))}
	var atErr, untilErr, priorityErr error
	m.At, atErr = ParseTime(strings.TrimSpace(cell(3)), rs.zone)
	m.Until, untilErr = ParseTime(strings.TrimSpace(cell(4)), rs.zone)
	if e, ok := errors.AsType[*FieldError](untilErr); ok {
		e.Field = "until"
	}
	m.Priority, priorityErr = ParsePriority(strings.ToLower(strings.TrimSpace(cell(5))))
	if m.ID == "" {
		m.ID = contentID(m)
	}
	return m, errors.Join(append(m.faults(), atErr, untilErr, priorityErr)...)
}

// contentID returns an id that is computed from the content of a message.
func contentID(m Message) string {
	encoded, _ := encode(m) // a struct of strings and a number can always be encoded
	sum := sha256.Sum256([]byte(encoded))
	return "csv-" + hex.EncodeToString(sum[:16])
}

// A budget is a reader with a bound.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongRow
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
