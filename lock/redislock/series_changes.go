package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// overlap is how far before a reading changes are read again: a server's clock that is put back by
// less gives later steps an earlier instant. A larger step back is noticed: see partitionPosition.covers.
const overlap = 5 * time.Second

// mostChanges is how many changes of a partition one reading returns. To read so many series costs about
// as much as to read all.
const mostChanges = 5000

// A position has the latest reading of each partition.
type position []partitionPosition

// A partitionPosition is a reading of the changes of a partition.
type partitionPosition struct {
	at   driver.ClockReading
	some bool             // a change is on record
	more bool             // there are more changes than one reading returns
	seen map[string]int64 // the changes within overlap before the reading, in µs; not those in its own µs, after which the series may change once more
	keys []string         // changes that the reading before had not seen
}

// ChangedSince implements [series.Changes], with one request to each partition. A user without the right
// to INFO does not notice that the server was restarted or replaced.
func (d *Driver) ChangedSince(ctx context.Context, since series.Position) (keys []string, now series.Position, complete bool, err error) {
	before, complete := since.(position)
	if complete = complete && len(before) == len(d.keys.partitions); !complete {
		before = make(position, len(d.keys.partitions))
	}
	next, errs := make(position, len(before)), make([]error, len(before))
	var wg sync.WaitGroup
	for i := range before {
		wg.Go(func() { next[i], errs[i] = d.changedSince(ctx, i, &before[i]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, nil, false, fmt.Errorf("redislock: changes: %w", err)
	}
	for i := range next {
		complete = complete && next[i].covers(&before[i])
		keys = append(keys, next[i].keys...)
		next[i].keys = nil
	}
	return keys, next, complete, nil
}

// changedSince reads the changes of a partition.
func (d *Driver) changedSince(ctx context.Context, partition int, before *partitionPosition) (now partitionPosition, err error) {
	prefix := d.keys.partitions[partition]
	sent, since := time.Now(), before.at.Time.Add(-overlap)
	if before.at.Time.IsZero() {
		since = time.Unix(0, 0)
	}
	reply, err := d.run(ctx, d.scripts.changes, []string{prefix + "ch", prefix + "none"}, []any{since.UnixMicro(), mostChanges})
	if err != nil {
		return now, err
	}
	r, rest, ok := readReading(reply)
	if !ok || len(rest)%2 != 1 {
		return now, unreadable("changes", reply)
	}
	r.Sent, r.Received = sent, time.Now()
	now = partitionPosition{at: r, some: rest[0] == "1", seen: make(map[string]int64), more: len(rest) > 2*mostChanges}
	for pair := range slices.Chunk(rest[1:], 2) {
		key, known := driver.Unescape(pair[0])
		at, err := strconv.ParseFloat(pair[1], 64)
		if !known || err != nil {
			continue // no step wrote it
		}
		us := int64(at)
		if before.seen[key] != us {
			now.keys = append(now.keys, key)
		}
		if us >= r.Time.Add(-overlap).UnixMicro() && us < r.Time.UnixMicro() {
			now.seen[key] = us
		}
	}
	return now, nil
}

// covers reports whether a reading has all changes since the reading before. It has not if the
// server is another, has lost its changes, or returned not all, or if its clock was put back by more
// than the overlap: then less time has passed on it than on this process's clock.
func (p *partitionPosition) covers(before *partitionPosition) bool {
	passed, least := p.at.Time.Sub(before.at.Time), p.at.Sent.Sub(before.at.Received)-overlap
	return p.at.Process == before.at.Process && (p.some || !before.some) && !p.more && passed >= max(0, least)
}
