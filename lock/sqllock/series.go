package sqllock

import (
	"context"
	"encoding/json"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

var openings = operation[lock.Opening, lock.Series]{
	name:  "open",
	opens: true,
	key:   func(o *lock.Opening) string { return o.Key },
	check: lock.CheckOpening,
	apply: open,
	doubt: func(o *lock.Opening, err error) lock.Series { return lock.Series{Key: o.Key, Err: err} },
}

// Open registers series and reads them, up to 200 in one transaction.
func (d *Driver) Open(ctx context.Context, os []lock.Opening) []lock.Series {
	return openings.ask(ctx, d, os)
}

func open(r *record, us int64, o *lock.Opening) (lock.Series, error) {
	seen, err := readSightings(r.key, r.seen)
	if err != nil {
		return lock.Series{}, err
	}
	r.Open(us, o, r)
	s := r.Series(us, o.Key)
	s.Since, s.Other = seen.See(us/1000, o)
	text, err := json.Marshal(seen)
	r.seen = string(text)
	return s, err
}

var claims = operation[lock.Claim, lock.Answer]{
	name:  "claim",
	key:   func(c *lock.Claim) string { return c.Key },
	check: func(c *lock.Claim) error { return check(lock.CheckClaim(c), c.Replicas) },
	apply: func(r *record, us int64, c *lock.Claim) (lock.Answer, error) { return r.Claim(us, c, r), nil },
	doubt: func(_ *lock.Claim, err error) lock.Answer { return lock.Answer{Err: err} },
}

// Claim asks for numbers, up to 200 in one transaction, which locks the rows of
// their series in the order of their keys and judges them at one instant.
func (d *Driver) Claim(ctx context.Context, cs []lock.Claim) []lock.Answer {
	return claims.ask(ctx, d, cs)
}

var renewals = operation[lock.RunRef, lock.Renewed]{
	name:  "renew",
	key:   func(r *lock.RunRef) string { return r.Key },
	check: func(r *lock.RunRef) error { return check(lock.CheckRun(r), r.Replicas) },
	apply: func(r *record, us int64, ref *lock.RunRef) (lock.Renewed, error) { return r.Renew(us, ref), nil },
	doubt: func(_ *lock.RunRef, err error) lock.Renewed { return lock.Renewed{Err: err} },
}

// RenewRuns moves the deadlines of runs to now + TTL, up to 200 in one
// transaction.
func (d *Driver) RenewRuns(ctx context.Context, rs []lock.RunRef) []lock.Renewed {
	return renewals.ask(ctx, d, rs)
}

var endings = operation[lock.Ending, lock.Ended]{
	name:  "release",
	key:   func(e *lock.Ending) string { return e.Key },
	check: lock.CheckEnding,
	apply: func(r *record, us int64, e *lock.Ending) (lock.Ended, error) { return r.Release(us, e, r), nil },
	doubt: func(_ *lock.Ending, err error) lock.Ended { return lock.Ended{Err: err} },
}

// ReleaseRuns ends runs, up to 200 in one transaction.
func (d *Driver) ReleaseRuns(ctx context.Context, es []lock.Ending) []lock.Ended {
	out := endings.ask(ctx, d, es)
	d.sweep()
	return out
}

// Look reads series, up to 200 with one statement.
func (d *Driver) Look(ctx context.Context, keys []string) []lock.Series {
	return looks.ask(ctx, d, keys)
}

var looks = operation[string, lock.Series]{
	name:  "look",
	reads: true,
	key:   func(key *string) string { return *key },
	check: func(key *string) error { return lock.CheckKey(*key) },
	apply: func(r *record, us int64, key *string) (lock.Series, error) { return r.Series(us, *key), nil },
	doubt: func(key *string, err error) lock.Series { return lock.Series{Key: *key, Err: err} },
}

// A change pauses or resumes a series.
type change struct {
	key    string
	number int64
}

func changes(name string, do func(r *record, us, number int64)) *operation[change, lock.Series] {
	return &operation[change, lock.Series]{
		name:  name,
		key:   func(c *change) string { return c.key },
		check: func(c *change) error { return lock.CheckChange(c.key, c.number) },
		apply: func(r *record, us int64, c *change) (lock.Series, error) {
			do(r, us, c.number)
			return series.Changed(r.Series(us, c.key)), nil
		},
		doubt: func(c *change, err error) lock.Series { return lock.Series{Key: c.key, Err: err} },
	}
}

var (
	pauses  = changes("pause", func(r *record, _, number int64) { r.Pause(number) })
	resumes = changes("resume", func(r *record, us, number int64) { r.Resume(us, number, r) })
)

// Pause stops grants of a series.
func (d *Driver) Pause(ctx context.Context, key string, number int64) lock.Series {
	return pauses.ask(ctx, d, []change{{key, number}})[0]
}

// Resume ends a pause.
func (d *Driver) Resume(ctx context.Context, key string, number int64) lock.Series {
	return resumes.ask(ctx, d, []change{{key, number}})[0]
}
