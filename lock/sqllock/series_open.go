package sqllock

import (
	"context"
	"encoding/json"

	"github.com/cronce/cronce/lock/series"
)

var openings = operation[series.OpenRequest, series.Series]{
	name:  "open",
	opens: true,
	key:   func(o *series.OpenRequest) string { return o.Key },
	apply: open,
	doubt: func(o *series.OpenRequest, err error) series.Series { return series.Series{Key: o.Key, Err: err} },
}

// Open registers series and reads them, up to 200 in one transaction.
func (d *Driver) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	return openings.send(ctx, d, os)
}

func open(r *record, us int64, o *series.OpenRequest) (series.Series, error) {
	seen, err := readSightings(r.key, r.seen)
	if err != nil {
		return series.Series{}, err
	}
	r.Open(us, o, r)
	s := r.Series(us, o.Key)
	seen.See(&s, o)
	text, err := json.Marshal(seen)
	r.seen = string(text)
	return s, err
}

// ReadSeries reads series, up to 200 with one statement.
func (d *Driver) ReadSeries(ctx context.Context, keys []string) []series.Series {
	return seriesReads.send(ctx, d, keys)
}

var seriesReads = operation[string, series.Series]{
	name:  "read series",
	reads: true,
	key:   func(key *string) string { return *key },
	apply: func(r *record, us int64, key *string) (series.Series, error) { return r.Series(us, *key), nil },
	doubt: func(key *string, err error) series.Series { return series.Series{Key: *key, Err: err} },
}
