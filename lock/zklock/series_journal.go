package zklock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/series"
)

// Each series keeps its newest fewLines lines in its own node, however many bytes the other series
// have. More lines become a chunk. So do fewer lines whose error texts have manyBytes; these texts
// are dropped if the series has no room for a chunk.
const (
	fewLines  = 16
	manyBytes = 4096
)

func errorBytes(lines []series.Line) (n int) {
	for i := range lines {
		n += len(lines[i].Error)
	}
	return n
}

func chunkPath(series string, number int64) string {
	return series + "/lines" + strconv.FormatInt(number, 10)
}

// flush makes a chunk of the newest lines, except for the last, which may still fold, if they are
// many. It then drops the oldest chunks above the limits. It returns the data of the new chunk and
// the numbers of the dropped ones.
func (d *Driver) flush(c *zk.Conn, r *record) (full []byte, dropped []int64, err error) {
	n := len(r.tail) - 1
	if n < fewLines && errorBytes(r.tail[:max(n, 0)]) < manyBytes {
		return nil, nil, nil
	}
	if full, err = encodeLines(r.tail[:n]); err != nil {
		return nil, nil, err
	}
	allowed, err := d.allowance(c)
	if err != nil {
		return nil, nil, err
	}
	if int64(len(full)) > allowed {
		if n >= fewLines {
			r.tail, r.cut = r.tail[n+1-fewLines:], true
		}
		for i := range len(r.tail) - 1 {
			r.tail[i].Error = ""
		}
		return nil, r.shrink(d.options.JournalLines, allowed), nil
	}
	r.chunks = append(r.chunks, chunk{Number: r.next, Lines: n, Bytes: len(full)})
	r.next++
	r.tail = r.tail[n:]
	return full, r.shrink(d.options.JournalLines, allowed), nil
}

// allowance returns how many bytes of chunks a series may have: an equal share.
func (d *Driver) allowance(c *zk.Conn) (int64, error) {
	_, stat, err := c.Exists(d.paths.series)
	if err != nil {
		return 0, err
	}
	return d.options.JournalBytes / max(int64(stat.NumChildren), 1), nil
}

// shrink drops the oldest chunks above the limits, but never the newest.
func (r *record) shrink(lines int, bytes int64) (dropped []int64) {
	have, size := len(r.tail), int64(0)
	for _, k := range r.chunks {
		have, size = have+k.Lines, size+int64(k.Bytes)
	}
	for len(r.chunks) > 1 && (have > lines || size > bytes) {
		k := r.chunks[0]
		have, size = have-k.Lines, size-int64(k.Bytes)
		dropped = append(dropped, k.Number)
		r.chunks, r.cut = r.chunks[1:], true
	}
	return dropped
}

// drop removes chunks to which no series refers any more.
func (d *Driver) drop(c *zk.Conn, path string, numbers []int64) {
	for _, n := range numbers {
		_ = c.Delete(chunkPath(path, n), -1) // a chunk that stays only takes room
	}
}

// Journal returns the newest n lines of a series, oldest first.
func (d *Driver) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	return bounded(ctx, d, "journal", func(c *zk.Conn) (series.Journal, error) { return d.journal(c, key, n) }, nil)
}

func (d *Driver) journal(c *zk.Conn, key string, n int) (series.Journal, error) {
	j := series.Journal{Key: key}
	seen, _, err := d.sightings(c, key)
	if err != nil {
		return j, err
	}
	j.Revisions = seen
	for try := range tries {
		r, err := d.load(c, d.paths.of(key))
		if err != nil {
			return j, err
		}
		var whole bool
		if j.Lines, whole, err = d.lines(c, r, n); err != nil {
			return j, err
		}
		if whole || try == tries-1 { // a chunk that is still missing after so many reads was removed
			j.Truncated = r.cut || !whole
			break
		}
	}
	if n > 0 && len(j.Lines) > n {
		j.Lines, j.Truncated = j.Lines[len(j.Lines)-n:], true
	}
	return j, nil
}

// lines reads the newest chunks of a journal until there are more than n lines, or all chunks if n
// <= 0. It reports whether none of these chunks was missing.
func (d *Driver) lines(c *zk.Conn, r *record, n int) (all []series.Line, whole bool, err error) {
	first, have := len(r.chunks), len(r.tail)
	for first > 0 && (n <= 0 || have <= n) {
		first--
		have += r.chunks[first].Lines
	}
	parts, errs := make([][]series.Line, len(r.chunks)), make([]error, len(r.chunks))
	parallel(len(r.chunks)-first, func(i int) {
		path := chunkPath(r.path, r.chunks[first+i].Number)
		data, _, err := c.Get(path)
		if err == nil {
			parts[first+i], err = readLines(path, data)
			if err != nil {
				parts[first+i], err = []series.Line{series.UnreadableLine(string(data))}, nil
			}
		}
		errs[first+i] = err
	})
	for i := len(errs) - 1; i >= first; i-- {
		if errors.Is(errs[i], zk.ErrNoNode) {
			return slices.Concat(append(parts[i+1:], r.tail)...), false, nil
		}
		err = cmp.Or(err, errs[i])
	}
	return slices.Concat(append(parts, r.tail)...), true, err
}

// Keys lists the series of the namespace, sorted.
func (d *Driver) Keys(ctx context.Context) ([]string, error) {
	return bounded(ctx, d, "list the series", d.list, nil)
}

func (d *Driver) list(c *zk.Conn) ([]string, error) {
	names, _, err := c.Children(d.paths.series)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(names))
	for _, name := range names {
		key, ok := unescape(name)
		if !ok {
			key = name // no series has this name: a request for it returns the error
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func encodeLines(lines []series.Line) ([]byte, error) { return json.Marshal(lines) }

// readLines reads a chunk. A chunk that cannot be read is an error: its content is not known.
func readLines(path string, data []byte) (lines []series.Line, err error) {
	if err := json.Unmarshal(data, &lines); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return lines, nil
}
