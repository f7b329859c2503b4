package sqllock

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// Peek reports which numbers are decided. It reads up to 200 series with one statement, without
// locking them. Its answers are always complete.
func (d *Driver) Peek(ctx context.Context, ps []series.NumberRef, _ bool) ([]*series.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("peek", err)
	}
	out := make([]*series.Answer, 0, len(ps))
	for some := range slices.Chunk(ps, maxBatch) {
		keys := make([]string, len(some))
		for i, p := range some {
			keys[i] = p.Key
		}
		b, err := withSession(ctx, d, func(s session) (*batch, error) { return d.read(ctx, s, reading, keys) })
		if err != nil {
			return nil, failed("peek", err)
		}
		for _, p := range some {
			var a *series.Answer
			if r := b.record(p.Key); r.err == nil { // if the row cannot be read, it is not known whether the number is decided
				a = r.Peek(b.us, p.Number)
			}
			out = append(out, a)
		}
	}
	return out, nil
}
