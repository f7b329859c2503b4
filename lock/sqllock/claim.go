package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

var claims = operation[driver.Claim, driver.Answer]{
	name:  "claim",
	key:   func(c *driver.Claim) string { return c.Key },
	apply: func(r *record, us int64, c *driver.Claim) (driver.Answer, error) { return r.Claim(us, c, r), nil },
	doubt: func(_ *driver.Claim, err error) driver.Answer { return driver.Answer{Err: err} },
}

// Claim asks for numbers, up to 200 in one transaction, which locks the rows of
// their series in the order of their keys and judges them at one instant.
func (d *Driver) Claim(ctx context.Context, cs []driver.Claim) []driver.Answer {
	return claims.ask(ctx, d, cs)
}
