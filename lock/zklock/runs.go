package zklock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

var renewals = kind[driver.RunRef, driver.RenewAnswer]{
	what:  "renew",
	key:   func(q *driver.RunRef) string { return q.Key },
	step:  func(r *record, us int64, q *driver.RunRef) driver.RenewAnswer { return r.Renew(us, q) },
	doubt: func(_ *driver.RunRef, err error) driver.RenewAnswer { return driver.RenewAnswer{Err: err} },
}

var endings = kind[driver.EndRequest, driver.EndAnswer]{
	what:  "release",
	key:   func(q *driver.EndRequest) string { return q.Key },
	step:  func(r *record, us int64, q *driver.EndRequest) driver.EndAnswer { return r.Release(us, q, r) },
	doubt: func(_ *driver.EndRequest, err error) driver.EndAnswer { return driver.EndAnswer{Err: err} },
}

// RenewRuns moves the deadlines of runs to now + TTL.
func (d *Driver) RenewRuns(ctx context.Context, rs []driver.RunRef) []driver.RenewAnswer {
	return renewals.ask(ctx, d, rs)
}

// ReleaseRuns ends runs.
func (d *Driver) ReleaseRuns(ctx context.Context, es []driver.EndRequest) []driver.EndAnswer {
	return endings.ask(ctx, d, es)
}
