package spec_test

import (
	"iter"
	"slices"
	"time"
)

// A second implementation of the rules for daylight saving, by brute force: it walks over time in
// small steps, reads from package time the local time at each step, and keeps every local time that
// it has seen. It uses no periods, offsets or bit sets.

// A walk has the local times that a clock shows every step seconds: seconds counted as if the zone
// were UTC.
type walk struct {
	from, step int64
	local      []int64
}

func walkClock(zone *time.Location, from, to time.Time, step int64) walk {
	w := walk{from: from.Unix(), step: step}
	w.local = make([]int64, 0, (to.Unix()-w.from)/step)
	for unix := w.from; unix < to.Unix(); unix += step {
		at := time.Unix(unix, 0).In(zone)
		year, month, day := at.Date()
		hour, minute, second := at.Clock()
		w.local = append(w.local, time.Date(year, month, day, hour, minute, second, 0, time.UTC).Unix())
	}
	return w
}

// unix returns the instant of a step.
func (w walk) unix(i int) int64 { return w.from + int64(i)*w.step }

// elapsed yields every instant with its local time.
func (w walk) elapsed() iter.Seq2[int64, int64] {
	return func(yield func(unix, local int64) bool) {
		for i, local := range w.local {
			if !yield(w.unix(i), local) {
				return
			}
		}
	}
}

// once yields every local time with the first instant that shows it, and the skipped local times
// with the instant of the jump.
func (w walk) once() iter.Seq2[int64, int64] {
	return func(yield func(unix, local int64) bool) {
		low, high := slices.Min(w.local), slices.Max(w.local)
		seen := make([]bool, (high-low)/w.step+1)
		for i, local := range w.local {
			first := local
			if i > 0 {
				first = min(local, w.local[i-1]+w.step)
			}
			for ; first <= local; first += w.step {
				known := &seen[(first-low)/w.step]
				if !*known && !yield(w.unix(i), first) {
					return
				}
				*known = true
			}
		}
	}
}

// ticks returns the instants with a matching local time, each once.
func ticks(all iter.Seq2[int64, int64], match func(time.Time) bool) []int64 {
	var found []int64
	for unix, local := range all {
		if match(time.Unix(local, 0).UTC()) && (len(found) == 0 || found[len(found)-1] != unix) {
			found = append(found, unix)
		}
	}
	return found
}

// changes returns the instants between from and to at which the clock of a
// zone changes, to the second.
func changes(zone *time.Location, from, to time.Time) []int64 {
	offset := func(unix int64) int {
		_, seconds := time.Unix(unix, 0).In(zone).Zone()
		return seconds
	}
	const hour = 3600
	var found []int64
	for unix := from.Unix(); unix < to.Unix(); unix += hour {
		low, high := unix, unix+hour
		if offset(low) == offset(high) {
			continue
		}
		for high-low > 1 {
			if middle := (low + high) / 2; offset(middle) == offset(low) {
				low = middle
			} else {
				high = middle
			}
		}
		found = append(found, high)
	}
	return found
}
