package zklock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

var claims = kind[driver.Claim, driver.Answer]{
	what:  "claim",
	key:   func(q *driver.Claim) string { return q.Key },
	step:  func(r *record, us int64, q *driver.Claim) driver.Answer { return r.Claim(us, q, r) },
	doubt: func(_ *driver.Claim, err error) driver.Answer { return driver.Answer{Err: err} },
}

// Claim asks for numbers.
func (d *Driver) Claim(ctx context.Context, cs []driver.Claim) []driver.Answer {
	return claims.ask(ctx, d, cs)
}
