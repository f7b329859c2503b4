package sqllock

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// Peek returns which numbers are decided: it reads up to 200 series with one
// statement, without locking them. Its answers are always whole.
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
		b, err := ask(ctx, d, func(s session) (*batch, error) { return d.read(ctx, s, reading, keys) })
		if err != nil {
			return nil, failed("peek", err)
		}
		for _, p := range some {
			var a *series.Answer
			if r := b.record(p.Key); r.err == nil { // what cannot be read is not known to be decided
				a = r.Peek(b.us, p.Number)
			}
			out = append(out, a)
		}
	}
	return out, nil
}
