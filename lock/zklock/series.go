package zklock

import (
	"cmp"
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

// The kinds of requests about series. What they do is in lock/series.
var (
	openings = kind[lock.Opening, lock.Series]{
		what:  "open",
		key:   func(o *lock.Opening) string { return o.Key },
		check: lock.CheckOpening,
		step: func(r *record, us int64, o *lock.Opening) lock.Series {
			r.Open(us, o, r)
			return r.Series(us, o.Key)
		},
		doubt: func(o *lock.Opening, err error) lock.Series { return lock.Series{Key: o.Key, Err: err} },
	}
	claims = kind[lock.Claim, lock.Answer]{
		what:  "claim",
		key:   func(q *lock.Claim) string { return q.Key },
		check: func(q *lock.Claim) error { return cmp.Or(lock.CheckClaim(q), lock.CheckNoReplicas(q.Replicas)) },
		step:  func(r *record, us int64, q *lock.Claim) lock.Answer { return r.Claim(us, q, r) },
		doubt: func(_ *lock.Claim, err error) lock.Answer { return lock.Answer{Err: err} },
	}
	renewals = kind[lock.RunRef, lock.Renewed]{
		what:  "renew",
		key:   func(q *lock.RunRef) string { return q.Key },
		check: func(q *lock.RunRef) error { return cmp.Or(lock.CheckRun(q), lock.CheckNoReplicas(q.Replicas)) },
		step:  func(r *record, us int64, q *lock.RunRef) lock.Renewed { return r.Renew(us, q) },
		doubt: func(_ *lock.RunRef, err error) lock.Renewed { return lock.Renewed{Err: err} },
	}
	endings = kind[lock.Ending, lock.Ended]{
		what:  "release",
		key:   func(q *lock.Ending) string { return q.Key },
		check: lock.CheckEnding,
		step:  func(r *record, us int64, q *lock.Ending) lock.Ended { return r.Release(us, q, r) },
		doubt: func(_ *lock.Ending, err error) lock.Ended { return lock.Ended{Err: err} },
	}
	looks = kind[string, lock.Series]{
		what:  "look",
		key:   func(key *string) string { return *key },
		check: func(key *string) error { return lock.CheckKey(*key) },
		step:  func(r *record, us int64, key *string) lock.Series { return r.Series(us, *key) },
		doubt: func(key *string, err error) lock.Series { return lock.Series{Key: *key, Err: err} },
	}
	changes = kind[change, lock.Series]{
		what:  "pause or resume",
		key:   func(q *change) string { return q.key },
		check: func(q *change) error { return lock.CheckChange(q.key, q.number) },
		step: func(r *record, us int64, q *change) lock.Series {
			q.do(r, us, q.number)
			return series.Changed(r.Series(us, q.key))
		},
		doubt: func(q *change, err error) lock.Series { return lock.Series{Key: q.key, Err: err} },
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
func (d *Driver) Open(ctx context.Context, os []lock.Opening) []lock.Series {
	out := openings.ask(ctx, d, os)
	for i, since := range d.record(ctx, os, out) {
		out[i].Since, out[i].Other = since.since, since.other
		if since.err != nil {
			out[i] = lock.Series{Key: os[i].Key, Err: since.err}
		}
	}
	return out
}

// Claim asks for numbers.
func (d *Driver) Claim(ctx context.Context, cs []lock.Claim) []lock.Answer {
	return claims.ask(ctx, d, cs)
}

// RenewRuns moves the deadlines of runs to now + TTL.
func (d *Driver) RenewRuns(ctx context.Context, rs []lock.RunRef) []lock.Renewed {
	return renewals.ask(ctx, d, rs)
}

// ReleaseRuns ends runs.
func (d *Driver) ReleaseRuns(ctx context.Context, es []lock.Ending) []lock.Ended {
	return endings.ask(ctx, d, es)
}

// Look reads series. It writes to none of them.
func (d *Driver) Look(ctx context.Context, keys []string) []lock.Series {
	return looks.ask(ctx, d, keys)
}

// Pause stops grants of a series.
func (d *Driver) Pause(ctx context.Context, key string, number int64) lock.Series {
	return changes.ask(ctx, d, []change{{key, number, func(r *record, _, n int64) { r.Pause(n) }}})[0]
}

// Resume ends a pause.
func (d *Driver) Resume(ctx context.Context, key string, number int64) lock.Series {
	return changes.ask(ctx, d, []change{{key, number, func(r *record, us, n int64) { r.Resume(us, n, r) }}})[0]
}

// A seen is what is known of the revision that a series was opened with.
type seen struct {
	since int64
	other string
	err   error
}

// record records the revisions of the series that were opened.
func (d *Driver) record(ctx context.Context, os []lock.Opening, opened []lock.Series) []seen {
	os, nows := append([]lock.Opening(nil), os...), make([]int64, len(os))
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
