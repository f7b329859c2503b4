package zklock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

var claims = kind[series.Claim, series.Answer]{
	what:  "claim",
	key:   func(q *series.Claim) string { return q.Key },
	step:  func(r *record, us int64, q *series.Claim) series.Answer { return r.Claim(us, q, r) },
	doubt: func(_ *series.Claim, err error) series.Answer { return series.Answer{Err: err} },
}

// Claim claims numbers.
func (d *Driver) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	return claims.send(ctx, d, cs)
}
