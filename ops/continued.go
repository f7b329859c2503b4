package ops

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// tailLines is how many lines are read first of a journal that was read before.
const tailLines = 4

// journal reads the newest n lines of a journal; n <= 0: all. Of a job that was read before, it reads the last few lines, or more of them
// if more are new: the others are in memory.
func (r *reader) journal(ctx context.Context, key string, before *Job, n int) (series.Journal, error) {
	if n <= 0 || before == nil || len(before.Journal.Lines) == 0 {
		return r.o.Store.Journal(ctx, key, n)
	}
	for some := tailLines; ; some = min(4*some, mostLines) {
		tail, err := r.o.Store.Journal(ctx, key, some)
		if err != nil {
			return tail, err
		}
		if j, ok := continued(&before.Journal, tail); ok || some == mostLines {
			return j, nil
		}
	}
}

// kept returns how many lines of a journal stay in memory: the share of the job, and all that are new, so that each line is in one
// snapshot at least. The last ones of before show that none is missing.
func kept(share int, before *Job, j *series.Journal) int {
	if before == nil {
		return share
	}
	last, fresh := lastAt(before.Journal.Lines), 0
	for i := range j.Lines {
		if j.Lines[i].At >= last {
			fresh++
		}
	}
	return min(max(share, fresh), mostLines)
}

// continued returns the journal of the lines in memory and of its last lines, which were read later. No line but the newest one ever
// changes. So if the first of the last lines is in memory, those before it are the ones in the store, even if the store has lost
// later ones since. It reports false if that line is not there, or if a line could not be read.
func continued(before *series.Journal, tail series.Journal) (j series.Journal, ok bool) {
	if len(tail.Lines) == 0 || tail.Lines[0].At == 0 || len(tail.Faults) > 0 || len(before.Faults) > 0 {
		return tail, false
	}
	at := slices.Index(before.Lines, tail.Lines[0])
	if at < 0 {
		return tail, false
	}
	j = tail
	j.Lines, j.Truncated = slices.Concat(before.Lines[:at], tail.Lines), before.Truncated
	return j, true
}
