package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

var renewals = operation[driver.RunRef, driver.RenewAnswer]{
	name: "renew",
	key:  func(r *driver.RunRef) string { return r.Key },
	apply: func(r *record, us int64, ref *driver.RunRef) (driver.RenewAnswer, error) {
		return r.Renew(us, ref), nil
	},
	doubt: func(_ *driver.RunRef, err error) driver.RenewAnswer { return driver.RenewAnswer{Err: err} },
}

// RenewRuns moves the deadlines of runs to now + TTL, up to 200 in one
// transaction.
func (d *Driver) RenewRuns(ctx context.Context, rs []driver.RunRef) []driver.RenewAnswer {
	return renewals.ask(ctx, d, rs)
}

var endings = operation[driver.EndRequest, driver.EndAnswer]{
	name: "release",
	key:  func(e *driver.EndRequest) string { return e.Key },
	apply: func(r *record, us int64, e *driver.EndRequest) (driver.EndAnswer, error) {
		return r.Release(us, e, r), nil
	},
	doubt: func(_ *driver.EndRequest, err error) driver.EndAnswer { return driver.EndAnswer{Err: err} },
}

// ReleaseRuns ends runs, up to 200 in one transaction.
func (d *Driver) ReleaseRuns(ctx context.Context, es []driver.EndRequest) []driver.EndAnswer {
	out := endings.ask(ctx, d, es)
	d.sweep()
	return out
}
