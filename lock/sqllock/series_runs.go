package sqllock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

var renewals = operation[series.RunRef, series.RenewAnswer]{
	name: "renew",
	key:  func(r *series.RunRef) string { return r.Key },
	apply: func(r *record, us int64, ref *series.RunRef) (series.RenewAnswer, error) {
		return r.Renew(us, ref), nil
	},
	doubt: func(_ *series.RunRef, err error) series.RenewAnswer { return series.RenewAnswer{Err: err} },
}

// RenewRuns moves the deadlines of runs to now + TTL, up to 200 in one
// transaction.
func (d *Driver) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	return renewals.send(ctx, d, rs)
}

var endings = operation[series.EndRequest, series.EndAnswer]{
	name: "release",
	key:  func(e *series.EndRequest) string { return e.Key },
	apply: func(r *record, us int64, e *series.EndRequest) (series.EndAnswer, error) {
		return r.Release(us, e, r), nil
	},
	doubt: func(_ *series.EndRequest, err error) series.EndAnswer { return series.EndAnswer{Err: err} },
}

// ReleaseRuns ends runs, up to 200 in one transaction.
func (d *Driver) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	out := endings.send(ctx, d, es)
	d.sweep()
	return out
}
