package sqllock

import (
	"context"
	"slices"
	"strings"
)

// rows are to be put into a table.
type rows struct {
	width int // columns
	args  []any
}

func (r *rows) add(values ...any) {
	r.width = len(values)
	r.args = append(r.args, values...)
}

// A put is a statement that puts rows: what stands before and behind their
// values.
type put struct{ before, behind string }

const maxRows = 500 // of one statement

// send sends the rows with as few statements as can be.
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
