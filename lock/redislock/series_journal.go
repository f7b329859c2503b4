package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var verdicts = map[byte]series.Verdict{
	'o': series.VerdictOpened, 'r': series.VerdictRan, 'e': series.VerdictEnded, 's': series.VerdictSkipped,
	'w': series.VerdictWaiting, 'u': series.VerdictSuperseded, 'm': series.VerdictMissed, 'p': series.VerdictPaused, 'c': series.VerdictControl,
	'l': series.VerdictLost,
}

// Journal implements [series.Journaled]. A line that cannot be read becomes a
// [series.UnreadableLine], and other data that cannot be read is in the journal's faults.
func (d *Driver) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	prefix, name := d.keys.partitions[d.keys.partition(key)], escape(key)
	var lines *redis.StringSliceCmd
	var some *redis.ScanCmd
	var all *redis.MapStringStringCmd
	read := func(scan bool) error {
		_, err := bounded(ctx, d.prompt, func() ([]redis.Cmder, error) {
			return d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				lines = p.LRange(ctx, prefix+"j:"+name, int64(-max(n, 0)), -1)
				if scan {
					some = p.HScan(ctx, prefix+"d:"+name, 0, "", scanned)
				} else {
					all = p.HGetAll(ctx, prefix+"d:"+name)
				}
				return nil
			})
		})
		return err
	}
	err := read(true)
	if Denied(err) { // a user that was created for an earlier version may not scan
		err = read(false)
	}
	if err != nil {
		return series.Journal{}, fmt.Errorf("redislock: journal %q: %w", key, err)
	}
	revisions := pairs(some)
	if all != nil {
		revisions = all.Val()
	}
	j := readJournal(key, lines.Val(), revisions)
	if n > 0 { // how many of the exceptions were read depends on the number of lines
		j.Exceptions, j.ExceptionsSince = nil, 0
	}
	return j, nil
}

// scanned is about how many revisions are read: there are more only if the key was tampered with.
const scanned = 200

// pairs returns the names and values of a page of a hash.
func pairs(page *redis.ScanCmd) map[string]string {
	texts, _ := page.Val()
	all := make(map[string]string, len(texts)/2)
	for pair := range slices.Chunk(texts, 2) {
		all[pair[0]] = pair[len(pair)-1]
	}
	return all
}

func readJournal(key string, lines []string, revisions map[string]string) series.Journal {
	j := series.Journal{Key: key, Lines: make([]series.Line, 0, len(lines))}
	older := false // there were older exceptions
	for _, text := range lines {
		bare, deleted := strings.CutPrefix(text, "-")
		bare, exception := strings.CutPrefix(bare, "x")
		line, ok := readLine(bare)
		if !ok {
			line = series.UnreadableLine(text)
		}
		older = older || deleted
		if older && j.ExceptionsSince == 0 { // the first line that can be read
			j.ExceptionsSince = line.At
		}
		if exception {
			j.Exceptions = append(j.Exceptions, line)
		} else {
			j.Lines = append(j.Lines, line)
		}
	}
	for revision, text := range revisions {
		s, ok := readSighting(revision, text)
		if !ok {
			j.Faults = append(j.Faults, driver.Quote(revision+": "+text))
			continue
		}
		j.Revisions = append(j.Revisions, s)
	}
	j.Revisions = series.Sightings(j.Revisions).Sorted()
	j.Truncated = len(j.Exceptions) > 0 || len(j.Lines) > 0 && j.Lines[0].Verdict != series.VerdictOpened
	slices.Sort(j.Faults)
	return j
}

// readLine reads at|verdict|from|to|between|reason|node|revision|fence|attempt|outcome|ended|error|blocker,
// where the blocker is "number+fence" or empty; of a waiting run of a backfill it is "for+0". Of a sharded run
// |shards follows, and with its end |sheet.
func readLine(text string) (series.Line, bool) {
	f := fields{rest: text}
	l := series.Line{At: f.count(f.text()), Verdict: verdicts[f.letter(f.text())]}
	l.From, l.To = f.count(f.text()), f.count(f.text())
	if between := f.text(); between != "" {
		l.Between = verdicts[f.letter(between)]
		f.bad = f.bad || l.Between == ""
	}
	l.Reason, l.Node, l.Revision = f.raw(f.text()), f.raw(f.text()), f.raw(f.text())
	l.Fence, l.Attempt = f.optional(f.text()), int(f.optional(f.text()))
	l.Outcome, l.Ended, l.Error = f.raw(f.text()), f.optional(f.text()), f.raw(f.text())
	blocker, sharded, isSharded := strings.Cut(f.rest, "|")
	if isSharded {
		shards, sheet, _ := strings.Cut(sharded, "|")
		l.Shards, l.Sheet = int(f.count(shards)), f.raw(sheet)
	}
	if blocker != "" {
		number, fence, _ := strings.Cut(blocker, "+")
		l.Blocker, l.BlockerFence = f.count(number), f.count(fence)
	}
	if l.Verdict == series.VerdictControl { // the fields of the blocker are its change and its record
		l.Change, l.Audit, l.Blocker, l.BlockerFence = l.Blocker, l.BlockerFence, 0, 0
	}
	if l.Verdict == series.VerdictWaiting && l.BlockerFence == 0 { // a run of a backfill waits for no other one
		l.For, l.Blocker = l.Blocker, 0
	}
	return l, !f.bad && l.Verdict != ""
}

// readUse reads a former use from the reply to an opening: its name, and the text that readSighting
// reads.
func readUse(text string) (series.RevisionUse, bool) {
	name, rest, _ := strings.Cut(text, "|")
	if strings.Count(rest, "|") == 6 { // revision|first
		_, rest, _ = strings.Cut(rest, "|")
	}
	return readSighting(name, rest)
}

// readSighting reads first|last|node|zone|policies|spec, with "first,since" if since differs from
// first. The name is the revision, or revision|first of a use that is over.
func readSighting(name, text string) (series.RevisionUse, bool) {
	revision, _, _ := strings.Cut(name, "|")
	f := fields{rest: text}
	first, since, later := strings.Cut(f.text(), ",")
	s := series.RevisionUse{Revision: f.raw(revision), First: f.count(first), Last: f.count(f.text())}
	if s.Since = s.First; later {
		s.Since = f.count(since)
	}
	s.Node, s.Zone, s.Policies, s.Spec = f.raw(f.text()), f.raw(f.text()), f.raw(f.text()), f.raw(f.end())
	return s, !f.bad
}

// Keys implements [series.Journaled]. It omits series that were not used for so long that the store
// forgot them. It includes a series whose state cannot be read, and one whose state is gone but
// whose journal or specs are left. If a partition does not answer, Keys returns the series of the
// others and an error.
func (d *Driver) Keys(ctx context.Context) ([]string, error) {
	names, silent := d.allNames(ctx)
	var known []string
	keys := make([]string, 0, len(names))
	for _, name := range names {
		if key, ok := driver.Unescape(name); ok {
			keys = append(keys, key)
		} else {
			known = append(known, name) // no series has this name: a request for it returns that
		}
	}
	var bare []string
	for _, s := range d.ReadSeries(ctx, keys) {
		if s.Mark != 0 || s.Err != nil {
			known = append(known, s.Key)
		} else {
			bare = append(bare, s.Key)
		}
	}
	left, err := d.remains(ctx, bare)
	if err != nil {
		return nil, err
	}
	known = append(known, left...)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redislock: keys: %w", err)
	}
	slices.Sort(known)
	return known, silent
}

// allNames returns the names in the keys of the series of all partitions that answer.
func (d *Driver) allNames(ctx context.Context) ([]string, error) {
	names, errs := make([][]string, len(d.keys.partitions)), make([]error, len(d.keys.partitions))
	var wg sync.WaitGroup
	for partition := range d.keys.partitions {
		wg.Go(func() {
			if names[partition], errs[partition] = d.names(ctx, partition); errs[partition] != nil && len(names) > 1 {
				errs[partition] = fmt.Errorf("partition %d of %d: %w", partition+1, len(names), errs[partition])
			}
		})
	}
	wg.Wait()
	return slices.Concat(names...), errors.Join(errs...)
}

// remains returns the series, of some without a state, that have a journal or specs.
func (d *Driver) remains(ctx context.Context, keys []string) (left []string, err error) {
	for some := range slices.Chunk(keys, maxBatch) {
		found := make([]*redis.IntCmd, len(some))
		_, err := bounded(ctx, d.prompt, func() ([]redis.Cmder, error) {
			return d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i, key := range some {
					prefix, name := d.keys.partitions[d.keys.partition(key)], escape(key)
					found[i] = p.Exists(ctx, prefix+"j:"+name, prefix+"d:"+name)
				}
				return nil
			})
		})
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return nil, fmt.Errorf("redislock: keys: %w", err)
		}
		for i, key := range some {
			if found[i].Val() > 0 || found[i].Err() != nil { // a key that the user may not read may exist
				left = append(left, key)
			}
		}
	}
	return left, nil
}

// names returns the names in the keys of the series of a partition.
func (d *Driver) names(ctx context.Context, partition int) ([]string, error) {
	names, err := bounded(ctx, d.prompt, func() ([]string, error) {
		return d.client.SMembers(ctx, d.keys.partitions[partition]+"all").Result()
	})
	if err != nil {
		return nil, fmt.Errorf("redislock: keys: %w", err)
	}
	return names, nil
}

// recount sets the counter of a partition to about the real size of its journals.
func (d *Driver) recount(ctx context.Context, partition int) error {
	names, err := d.names(ctx, partition)
	if err != nil {
		return err
	}
	var bytes int64
	for some := range slices.Chunk(names, maxBatch) {
		n, err := d.weight(ctx, partition, some)
		if err != nil {
			return fmt.Errorf("redislock: recount: %w", err)
		}
		bytes += n
	}
	_, err = bounded(ctx, d.prompt, func() (string, error) {
		return d.client.Set(ctx, d.keys.partitions[partition]+"jb", bytes, redis.KeepTTL).Result()
	})
	return err
}

// weight returns about how many bytes the journals of some series are.
func (d *Driver) weight(ctx context.Context, partition int, names []string) (int64, error) {
	r := d.newRequest(partition)
	r.key("all", "")
	r.key("ch", "")
	for _, name := range names {
		r.key("s:", name)
		r.key("j:", name)
		r.text(name)
	}
	answer, err := d.runAlone(ctx, d.scripts.recount, r, 0, 0)
	n, ok := answer.reply.(int64)
	if err == nil && !ok {
		err = errUnreadable
	}
	return n, err
}
