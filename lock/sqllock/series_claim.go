package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

var claims = operation[series.Claim, series.Answer]{
	name:  "claim",
	key:   func(c *series.Claim) string { return c.Key },
	apply: func(r *record, us int64, c *series.Claim) (series.Answer, error) { return r.Claim(us, c, r), nil },
	doubt: func(_ *series.Claim, err error) series.Answer { return series.Answer{Err: err} },
}

// mostShards bounds the text of a state, because each step on a shard writes it whole.
const mostShards = 200

// MostShards implements [series.Sharder].
func (d *Driver) MostShards() int { return mostShards }

// Claim claims numbers, up to 200 in one transaction, which locks the rows of their series in the
// order of their keys and judges them at one instant.
func (d *Driver) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	return claims.send(ctx, d, cs)
}
