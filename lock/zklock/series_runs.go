package zklock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

var renewals = kind[series.RunRef, series.RenewAnswer]{
	what:  "renew",
	key:   func(q *series.RunRef) string { return q.Key },
	step:  func(r *record, us int64, q *series.RunRef) series.RenewAnswer { return r.Renew(us, q) },
	doubt: func(_ *series.RunRef, err error) series.RenewAnswer { return series.RenewAnswer{Err: err} },
}

var endings = kind[series.EndRequest, series.EndAnswer]{
	what:  "release",
	key:   func(q *series.EndRequest) string { return q.Key },
	step:  func(r *record, us int64, q *series.EndRequest) series.EndAnswer { return r.Release(us, q, r) },
	doubt: func(_ *series.EndRequest, err error) series.EndAnswer { return series.EndAnswer{Err: err} },
}

// RenewRuns moves the deadlines of runs to now + TTL.
func (d *Driver) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	return renewals.send(ctx, d, rs)
}

// ReleaseRuns ends runs.
func (d *Driver) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	return endings.send(ctx, d, es)
}
