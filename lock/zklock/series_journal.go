package zklock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
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

// mostBytes bounds the exceptions of a series. They are written in one request with a chunk, which
// must be shorter than the megabyte that a server accepts.
const mostBytes = 256 << 10

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
// many. It then deletes the oldest lines above the limits.
func (d *Driver) flush(c *zk.Conn, r *record) error {
	n := len(r.tail) - 1
	if n < fewLines && errorBytes(r.tail[:max(n, 0)]) < manyBytes {
		return nil
	}
	full, err := encodeLines(r.tail[:n])
	if err != nil {
		return err
	}
	allowed, err := d.allowance(c)
	if err != nil {
		return err
	}
	if int64(len(full)) <= allowed {
		r.chunks = append(r.chunks, d.newChunk(r, n, full))
		r.tail = r.tail[n:]
		return d.shrink(c, r, nil, allowed)
	}
	var surplus []series.Line
	if n >= fewLines {
		surplus, r.tail, r.cut = r.tail[:n+1-fewLines], r.tail[n+1-fewLines:], true
	}
	for i := range len(r.tail) - 1 {
		r.tail[i].Error = ""
	}
	return d.shrink(c, r, surplus, allowed)
}

// newChunk returns a chunk with the next number, which is created with the write of the record.
func (d *Driver) newChunk(r *record, lines int, data []byte) chunk {
	k := chunk{Number: r.next, Lines: lines, Bytes: len(data)}
	r.next++
	r.fresh = append(r.fresh, &zk.CreateRequest{Path: chunkPath(r.path, k.Number), Data: data, Acl: d.options.ACL})
	return k
}

// allowance returns how many bytes of chunks a series may have: an equal share.
func (d *Driver) allowance(c *zk.Conn) (int64, error) {
	_, stat, err := c.Exists(d.paths.series)
	if err != nil {
		return 0, err
	}
	return d.options.JournalBytes / max(int64(stat.NumChildren), 1), nil
}

// weigh returns how many lines a journal has, and how many bytes of chunks.
func (r *record) weigh() (lines int, size int64) {
	lines, size = len(r.tail)+r.exceptions.Lines, int64(r.exceptions.Bytes)
	for _, k := range r.chunks {
		lines, size = lines+k.Lines, size+int64(k.Bytes)
	}
	return lines, size
}

// shrink deletes the oldest chunks above the limits, but not the newest unless newer lines than its
// own, the surplus, were deleted. The exceptions among the deleted lines become exceptions of the
// journal, in a new node.
func (d *Driver) shrink(c *zk.Conn, r *record, surplus []series.Line, allowed int64) error {
	least, most := 1, d.options.JournalLines
	if len(surplus) > 0 { // no older chunk stays: there would be a gap
		least, most = 0, 0
	}
	over := func() bool { lines, size := r.weigh(); return lines > most || size > allowed }
	if !over() {
		return nil
	}
	old := r.exceptions
	before, err := d.exceptions(c, r, old)
	if err != nil {
		return err
	}
	kept := before
	for over() && len(r.chunks) > least {
		k := r.chunks[0]
		more, err := d.exceptions(c, r, k)
		if err != nil {
			return err
		}
		r.chunks, r.cut, r.gone = r.chunks[1:], true, append(r.gone, k.Number)
		if kept, err = r.outlive(append(kept, more...), math.MaxInt64); err != nil {
			return err
		}
	}
	if kept, err = r.outlive(append(kept, exceptional(surplus)...), allowed); err != nil {
		return err
	}
	if len(kept) == old.Lines && slices.Equal(kept, before) {
		r.exceptions = old
		return nil
	}
	if old.Lines > 0 {
		r.gone = append(r.gone, old.Number)
	}
	if len(kept) == 0 {
		return nil
	}
	data, err := encodeLines(kept)
	if err != nil {
		return err
	}
	r.exceptions = d.newChunk(r, len(kept), data)
	return nil
}

// outlive makes lines the exceptions of the journal and returns them, without the oldest ones if they
// are too many, or if the journal has more bytes with them than are allowed.
func (r *record) outlive(lines []series.Line, allowed int64) ([]series.Line, error) {
	r.exceptions = chunk{}
	newer, size := r.weigh()
	data, err := encodeLines(lines)
	bytes, room := len(data), min(mostBytes, allowed-size)
	for err == nil && len(lines) > 0 && (int64(bytes) > room || len(lines) > series.MostExceptions(newer+len(lines))) {
		data, err = encodeLines(lines[:1])
		bytes -= len(data) - len(",")
		r.since, lines = lines[0].At, lines[1:]
	}
	if len(lines) > 0 {
		r.exceptions = chunk{Lines: len(lines), Bytes: bytes}
	}
	return lines, err
}

// exceptions reads the exceptions of a chunk. A chunk that is missing or cannot be read may have had
// some: the journal then reports that exceptions are complete from its newest line on.
func (d *Driver) exceptions(c *zk.Conn, r *record, k chunk) ([]series.Line, error) {
	if k.Lines == 0 {
		return nil, nil
	}
	lines, err := readChunk(c, r.path, k)
	missing := errors.Is(err, zk.ErrNoNode)
	if missing {
		err = nil
	}
	if missing || len(lines) == 1 && lines[0].Verdict == series.VerdictUnreadable {
		r.since = r.tail[len(r.tail)-1].At
	}
	return exceptional(lines), err
}

func exceptional(lines []series.Line) (some []series.Line) {
	for i := range lines {
		if lines[i].Exception() {
			some = append(some, lines[i])
		}
	}
	return some
}

// drop removes chunks to which the series refers no more.
func (d *Driver) drop(c *zk.Conn, r *record) {
	for _, n := range r.gone {
		_ = c.Delete(chunkPath(r.path, n), -1) // a chunk that stays only takes room
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
		j.Exceptions, j.ExceptionsSince = nil, 0
		if n <= 0 {
			j.ExceptionsSince = r.since
		}
		if r.exceptions.Lines > 0 && n <= 0 {
			if j.Exceptions, err = readChunk(c, r.path, r.exceptions); errors.Is(err, zk.ErrNoNode) {
				whole = false
			} else if err != nil {
				return j, err
			}
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
		parts[first+i], errs[first+i] = readChunk(c, r.path, r.chunks[first+i])
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

// readChunk reads a chunk. A chunk that cannot be read is one line.
func readChunk(c *zk.Conn, path string, k chunk) (lines []series.Line, err error) {
	data, _, err := c.Get(chunkPath(path, k.Number))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &lines) != nil {
		lines = []series.Line{series.UnreadableLine(string(data))}
	}
	return lines, nil
}
