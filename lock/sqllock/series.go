package sqllock

import (
	"context"
	"encoding/json"

	"github.com/cronce/cronce/lock/driver"
)

var openings = operation[driver.OpenRequest, driver.Series]{
	name:  "open",
	opens: true,
	key:   func(o *driver.OpenRequest) string { return o.Key },
	apply: open,
	doubt: func(o *driver.OpenRequest, err error) driver.Series { return driver.Series{Key: o.Key, Err: err} },
}

// Open registers series and reads them, up to 200 in one transaction.
func (d *Driver) Open(ctx context.Context, os []driver.OpenRequest) []driver.Series {
	return openings.ask(ctx, d, os)
}

func open(r *record, us int64, o *driver.OpenRequest) (driver.Series, error) {
	seen, err := readSightings(r.key, r.seen)
	if err != nil {
		return driver.Series{}, err
	}
	r.Open(us, o, r)
	s := r.Series(us, o.Key)
	answer := seen.See(us/1000, r.Mark, o)
	s.Since, s.Other, s.Former = answer.Since, answer.Other, answer.Former
	text, err := json.Marshal(seen)
	r.seen = string(text)
	return s, err
}

// ReadSeries reads series, up to 200 with one statement.
func (d *Driver) ReadSeries(ctx context.Context, keys []string) []driver.Series {
	return seriesReads.ask(ctx, d, keys)
}

var seriesReads = operation[string, driver.Series]{
	name:  "read series",
	reads: true,
	key:   func(key *string) string { return *key },
	apply: func(r *record, us int64, key *string) (driver.Series, error) { return r.Series(us, *key), nil },
	doubt: func(key *string, err error) driver.Series { return driver.Series{Key: *key, Err: err} },
}
