package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The kinds of requests about series. What they do is in lock/series.
var (
	openings = kind[driver.OpenRequest, driver.Series]{
		what: "open",
		key:  func(o *driver.OpenRequest) string { return o.Key },
		step: func(r *record, us int64, o *driver.OpenRequest) driver.Series {
			r.Open(us, o, r)
			return r.Series(us, o.Key)
		},
		doubt: func(o *driver.OpenRequest, err error) driver.Series { return driver.Series{Key: o.Key, Err: err} },
	}
	claims = kind[driver.Claim, driver.Answer]{
		what:  "claim",
		key:   func(q *driver.Claim) string { return q.Key },
		step:  func(r *record, us int64, q *driver.Claim) driver.Answer { return r.Claim(us, q, r) },
		doubt: func(_ *driver.Claim, err error) driver.Answer { return driver.Answer{Err: err} },
	}
	renewals = kind[driver.RunRef, driver.RenewAnswer]{
		what:  "renew",
		key:   func(q *driver.RunRef) string { return q.Key },
		step:  func(r *record, us int64, q *driver.RunRef) driver.RenewAnswer { return r.Renew(us, q) },
		doubt: func(_ *driver.RunRef, err error) driver.RenewAnswer { return driver.RenewAnswer{Err: err} },
	}
	endings = kind[driver.EndRequest, driver.EndAnswer]{
		what:  "release",
		key:   func(q *driver.EndRequest) string { return q.Key },
		step:  func(r *record, us int64, q *driver.EndRequest) driver.EndAnswer { return r.Release(us, q, r) },
		doubt: func(_ *driver.EndRequest, err error) driver.EndAnswer { return driver.EndAnswer{Err: err} },
	}
	looks = kind[string, driver.Series]{
		what:  "look",
		key:   func(key *string) string { return *key },
		step:  func(r *record, us int64, key *string) driver.Series { return r.Series(us, *key) },
		doubt: func(key *string, err error) driver.Series { return driver.Series{Key: *key, Err: err} },
	}
	changes = kind[change, driver.Series]{
		what: "pause or resume",
		key:  func(q *change) string { return q.key },
		step: func(r *record, us int64, q *change) driver.Series {
			q.do(r, us, q.number)
			return series.Changed(r.Series(us, q.key))
		},
		doubt: func(q *change, err error) driver.Series { return driver.Series{Key: q.key, Err: err} },
	}
)

// A change is a pause or a resume.
type change struct {
	key    string
	number int64
	do     func(r *record, us, number int64)
}

// Open registers series and reads them, and then records the revisions that they
// were opened with.
func (d *Driver) Open(ctx context.Context, os []driver.OpenRequest) []driver.Series {
	out := openings.ask(ctx, d, os)
	for i, since := range d.record(ctx, os, out) {
		out[i].Since, out[i].Other = since.since, since.other
		if since.err != nil {
			out[i] = driver.Series{Key: os[i].Key, Err: since.err}
		}
	}
	return out
}

// Claim asks for numbers.
func (d *Driver) Claim(ctx context.Context, cs []driver.Claim) []driver.Answer {
	return claims.ask(ctx, d, cs)
}

// RenewRuns moves the deadlines of runs to now + TTL.
func (d *Driver) RenewRuns(ctx context.Context, rs []driver.RunRef) []driver.RenewAnswer {
	return renewals.ask(ctx, d, rs)
}

// ReleaseRuns ends runs.
func (d *Driver) ReleaseRuns(ctx context.Context, es []driver.EndRequest) []driver.EndAnswer {
	return endings.ask(ctx, d, es)
}

// Look reads series. It writes to none of them.
func (d *Driver) Look(ctx context.Context, keys []string) []driver.Series {
	return looks.ask(ctx, d, keys)
}

// Pause stops grants of a series.
func (d *Driver) Pause(ctx context.Context, key string, number int64) driver.Series {
	return changes.ask(ctx, d, []change{{key, number, func(r *record, _, n int64) { r.Pause(n) }}})[0]
}

// Resume ends a pause.
func (d *Driver) Resume(ctx context.Context, key string, number int64) driver.Series {
	return changes.ask(ctx, d, []change{{key, number, func(r *record, us, n int64) { r.Resume(us, n, r) }}})[0]
}

// A seen is what is known of the revision that a series was opened with.
type seen struct {
	since int64
	other string
	err   error
}

// record records the revisions of the series that were opened.
func (d *Driver) record(ctx context.Context, os []driver.OpenRequest, opened []driver.Series) []seen {
	os, nows := append([]driver.OpenRequest(nil), os...), make([]int64, len(os))
	for i := range os {
		if nows[i] = opened[i].Now; os[i].Revision == "" || opened[i].Err != nil {
			nows[i] = 0 // nothing to record
		}
	}
	all, err := bounded(ctx, d, "open", func(c *zk.Conn) ([]seen, error) {
		all := make([]seen, len(os))
		parallel(len(os), func(i int) {
			if nows[i] != 0 {
				s := &all[i]
				s.since, s.other, s.err = d.sight(c, nows[i], &os[i])
				s.err = named("open", s.err)
			}
		})
		return all, nil
	}, nil)
	if err == nil {
		return all
	}
	all = make([]seen, len(os))
	for i := range all {
		if nows[i] != 0 {
			all[i].err = err
		}
	}
	return all
}
