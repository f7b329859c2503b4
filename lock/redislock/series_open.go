package redislock

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/series"
)

var openings = operation[series.OpenRequest, series.Series]{
	name:   "open",
	script: func(s *scripts) *script { return s.open },
	key:    func(o *series.OpenRequest) string { return o.Key },
	begin: func(d *Driver, r *request) {
		beginVerdicts(d, r)
		r.key("all", "")
		r.key("au", "")
	},
	add: func(r *request, name string, o *series.OpenRequest) {
		r.series(name)
		r.text(name)
		r.escaped(o.Node, o.Revision, o.Zone, o.Policies, o.Spec)
		r.number(o.Mark, o.Unseen.Milliseconds(), o.Begin)
	},
	read: func(now instant, text string, o *series.OpenRequest) (series.Series, bool) {
		text, former, _ := strings.Cut(text, "#")
		s, ok := readSeries(now, text, o.Key)
		for use := range strings.SplitSeq(former, "#") {
			if u, good := readUse(use); good {
				s.Former = append(s.Former, u)
			}
		}
		s.Former = series.Sightings(s.Former).Sorted()
		return s, ok
	},
	doubt: func(o *series.OpenRequest, err error) series.Series { return series.Series{Key: o.Key, Err: err} },
	rest:  weigh,
}

// Open implements [series.Numbered]. It opens up to 200 series of one partition with one script. It
// works on a server at maxmemory.
func (d *Driver) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	return openings.send(ctx, d, os)
}

var seriesReads = operation[string, series.Series]{
	name:   "read series",
	script: func(s *scripts) *script { return s.readSeries },
	key:    func(key *string) string { return *key },
	begin:  beginRead,
	add:    func(r *request, name string, _ *string) { r.series(name) },
	read:   func(now instant, text string, key *string) (series.Series, bool) { return readSeries(now, text, *key) },
	doubt:  func(key *string, err error) series.Series { return series.Series{Key: *key, Err: err} },
}

func beginRead(_ *Driver, r *request) {
	for _, kind := range []string{"none", "all", "jb"} {
		r.key(kind, "")
	}
}

// series adds all keys of a series.
func (r *request) series(name string) {
	for _, kind := range []string{"s:", "j:", "d:", "t:"} {
		r.key(kind, name)
	}
}

// ReadSeries implements [series.Numbered]. It reads up to 200 series of one partition with one script.
// It changes only the expiry of keys that no node has used for a month.
func (d *Driver) ReadSeries(ctx context.Context, keys []string) []series.Series {
	return seriesReads.send(ctx, d, keys)
}

// readSeries reads since|other|mark|fence|last, the pause as change|end|skip|ms|op|who|reason, then ;run
// for each stored run, then +sheet: see readSheet.
func readSeries(now instant, text, key string) (series.Series, bool) {
	text, sheet, sharded := strings.Cut(text, "+")
	head, rest, some := strings.Cut(text, ";")
	f := fields{rest: head}
	s := series.Series{Key: key, Now: now.ms()}
	s.Since, s.Other = f.count(f.text()), f.raw(f.text())
	s.Mark, s.Fence, s.Last = f.count(f.text()), f.count(f.text()), f.count(f.text())
	change, until, skip := f.number(f.text()), f.optional(f.text()), f.optional(f.text())
	s.Left = int(f.count(f.text()))
	if skip > s.Mark {
		s.Skip = skip
	}
	since, op, who, reason := f.optional(f.text()), f.raw(f.text()), f.raw(f.text()), f.raw(f.end())
	s.Change = max(change, -change)
	if s.Paused = change > 0; s.Paused {
		s.Pause = series.Pause{Op: op, Who: who, Reason: reason, Since: since, Until: until}
	}
	ok := true
	if some {
		s.Runs, ok = readRuns(rest)
	}
	if sharded {
		var good bool
		s.Sheet, good = readSheet(sheet)
		ok = ok && good
	}
	return s, ok && !f.bad
}

// readRuns reads the runs that are not settled, and sorts them by number.
func readRuns(text string) (runs []series.Run, ok bool) {
	for one := range strings.SplitSeq(text, ";") {
		r, ok := readRun(one)
		if !ok {
			return nil, false
		}
		if r.State < series.RunDone {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b series.Run) int { return cmp.Compare(a.Number, b.Number) })
	return runs, true
}

// weigh recounts the journals of a partition if their counter shows too many bytes, or fewer than none:
// the counter does not notice keys that expire.
func weigh(ctx context.Context, d *Driver, partition int, bytes string) {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err == nil && 0 <= n && n <= d.budget {
		return
	}
	_ = d.recount(ctx, partition) // the next Open tries again
}
