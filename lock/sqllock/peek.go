package sqllock

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock"
)

// Peek tells which numbers are decided, up to 200 series with one statement. Its
// answers are always whole.
func (d *Driver) Peek(ctx context.Context, ps []lock.Peek, _ bool) ([]*lock.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed("peek", err)
	}
	out := make([]*lock.Answer, len(ps))
	at := make([]int, len(ps))
	for i := range ps {
		at[i] = i
	}
	err := d.glance(ctx, at, func(i int) string { return ps[i].Key }, func(i int, us int64, r record) {
		out[i] = r.Peek(us, ps[i].Number)
	})
	if err != nil {
		return nil, failed("peek", err)
	}
	return out, nil
}

func later(c lock.Claim) bool { return c.Later && c.From == 0 && claims.check(&c) == nil }

// peek answers claims marked as later that change nothing.
func (d *Driver) peek(ctx context.Context, cs []lock.Claim) []lock.Answer {
	out := make([]lock.Answer, len(cs))
	var marked []int
	for i := range cs {
		if later(cs[i]) {
			marked = append(marked, i)
		}
	}
	// An error is no matter: they are asked in earnest, and that tells why not.
	_ = d.glance(ctx, marked, func(i int) string { return cs[i].Key }, func(i int, us int64, r record) {
		r.Runs = slices.Clone(r.Runs) // what the rules do to it is not kept
		out[i] = r.Claim(us, &cs[i], &r)
	})
	return out
}

// glance reads the series of what stands at some places, up to 200 with one
// statement, without locking them. What cannot be read is left out.
func (d *Driver) glance(ctx context.Context, at []int, key func(int) string, do func(i int, us int64, r record)) error {
	for some := range slices.Chunk(at, maxBatch) {
		keys := make([]string, len(some))
		for k, i := range some {
			keys[k] = key(i)
		}
		b, err := again(ctx, func() (*batch, error) { return d.read(ctx, d.db, reading, keys) })
		if err != nil {
			return err
		}
		for _, i := range some {
			if r := b.record(key(i)); r.err == nil {
				do(i, b.us, *r)
			}
		}
	}
	return nil
}
