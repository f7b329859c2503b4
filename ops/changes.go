package ops

import (
	"context"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// changed returns the jobs that have changed since the last snapshot, and whether these are all, so
// that the refresh may read a part of the jobs. After an error the next refresh asks for the changes
// since the same position.
func (r *reader) changed(ctx context.Context, next, last *Snapshot) (changed map[string]bool, part bool) {
	store, can := r.o.Store.(series.Changes)
	if !can {
		return nil, false
	}
	next.position, next.wholeAt = last.position, last.wholeAt
	keys, now, complete, err := store.ChangedSince(ctx, last.position)
	if err != nil {
		return nil, false
	}
	next.position = now
	if last.position != nil { // otherwise each job is a change
		changed = make(map[string]bool, len(keys))
		for _, key := range keys {
			changed[key] = true
			if last.Job(key) == nil {
				r.keysAt = time.Time{} // the list of jobs is out of date
			}
		}
	}
	if !complete || last.Down != "" || len(last.Jobs) == 0 || next.Nodes.Err() != nil {
		return changed, false
	}
	next.planned = time.Since(last.wholeAt) >= wholeEvery
	return changed, !next.planned
}

// readPart returns the states of the jobs that have changed and of those that are due. It does not read the state of a known job that
// has changed: that is read after its journal.
func (r *reader) readPart(ctx context.Context, last *Snapshot, changed map[string]bool, now int64) (states []series.Series) {
	var names []string
	for name := range changed {
		if last.Job(name) != nil {
			states = append(states, series.Series{Key: name})
		} else {
			names = append(names, name)
		}
	}
	for _, j := range last.Jobs {
		if j.due(now) && !changed[j.Name] {
			names = append(names, j.Name)
		}
	}
	return append(states, slices.DeleteFunc(r.o.Store.ReadSeries(ctx, names), func(s series.Series) bool {
		return forgotten(s) && last.Job(s.Key) == nil // the store has forgotten it since
	})...)
}

// merged returns the jobs of the last snapshot with those that were read since, by name.
func merged(last, read []*Job) []*Job {
	all := slices.Clone(last)
	for _, j := range read {
		if i, known := find(last, j.Name); known {
			all[i] = j
		} else {
			all = append(all, j)
		}
	}
	if len(all) > len(last) {
		slices.SortFunc(all, byName)
	}
	return all
}
