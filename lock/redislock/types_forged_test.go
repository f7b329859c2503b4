package redislock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// The keys that all series of a partition share may be tampered with: a counter that is no number, or
// that cannot be increased, and keys of another type stop no series, and hide no node.
func TestForgedSharedKeys(t *testing.T) {
	t.Parallel()
	const partition = "cronce:v1:{cronce.0}:"
	for name, c := range map[string]struct {
		key   string
		value any // a list if it is a slice
	}{
		"bytes that are text":      {"jb", "many"},
		"bytes that are nan":       {"jb", "nan"},
		"bytes beyond all":         {"jb", "1e300"},
		"bytes that overflow":      {"jb", "9223372036854775807"},
		"bytes that underflow":     {"jb", "-9223372036854775808"},
		"bytes that are a list":    {"jb", []any{"x"}},
		"series that are text":     {"all", "x"},
		"series that are a list":   {"all", []any{"x"}},
		"changes that are text":    {"ch", "x"},
		"changes that are a list":  {"ch", []any{"x"}},
		"nodes that are text":      {"nodes", "x"},
		"nodes that are a list":    {"nodes", []any{"x"}},
		"nodes that never existed": {"nodes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, raw := realDriver(t, redislock.Options{})
			must(t, d.Open(t.Context(), []series.OpenRequest{{Key: "old", Node: "n"}})[0].Err)
			forge := func() {
				t.Helper()
				must(t, raw.Del(t.Context(), partition+c.key).Err())
				switch v := c.value.(type) {
				case []any:
					must(t, raw.RPush(t.Context(), partition+c.key, v...).Err())
				case string:
					must(t, raw.Set(t.Context(), partition+c.key, v, 0).Err())
				}
			}
			forge()
			opened := d.Open(t.Context(), []series.OpenRequest{{Key: "new", Node: "n"}})[0]
			must(t, opened.Err)
			forge()
			waitOn(t, raw, 2*time.Millisecond) // the number is due then
			a := d.Claim(t.Context(), []series.Claim{{Key: "new", Owner: "n/1", Number: opened.Mark + 1, After: opened.Mark, TTL: time.Minute,
				Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}})[0]
			if a.Kind != series.KindGranted {
				t.Errorf("a claim is answered %+v", a)
			}
			if p, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil || !slices.Equal(p.Nodes, []string{"n"}) {
				t.Errorf("nodes: %v, %v", p.Nodes, err)
			}
			must(t, d.Open(t.Context(), []series.OpenRequest{{Key: "new", Node: "n"}})[0].Err)
			if keys, err := d.Keys(t.Context()); err != nil || !slices.Contains(keys, "new") {
				t.Errorf("series: %v, %v", keys, err)
			}
			if keys, _, _, err := d.ChangedSince(t.Context(), nil); err != nil || !slices.Contains(keys, "new") {
				t.Errorf("changes: %v, %v", keys, err)
			}
			if n, err := raw.Get(t.Context(), partition+"jb").Int(); err != nil || n < 0 || n > 10_000 {
				t.Errorf("the bytes are counted as %d: %v", n, err)
			}
		})
	}
}

// The last sign of life of the first in a queue is judged by the clock: one in the future, forged
// or from before a clock was put back, keeps readers waiting no longer than any other.
func TestForgedSignOfLife(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"99999999999999", "1" + fmt.Sprintf("%0400d", 0)} {
		d, raw := realDriver(t, redislock.Options{})
		read := func(owner string) error {
			_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: time.Minute, Limit: driver.NoLimit})
			return err
		}
		must(t, read("n/1"))
		must(t, raw.RPush(t.Context(), "cronce:v1:q:{key}", "gone|n/2").Err())
		seen := func(when string) {
			t.Helper()
			must(t, raw.HSet(t.Context(), "cronce:v1:h:{key}", "", when+"|gone|n/2").Err())
		}
		seen(when)
		if err := read("n/3"); !isHeld(err) {
			t.Errorf("the first of the queue was not asked: %v", err)
		}
		var ms int64
		text, err := raw.HGet(t.Context(), "cronce:v1:h:{key}", "").Result()
		must(t, err)
		if _, err := fmt.Sscanf(text, "%d|", &ms); err != nil || ms > time.Now().UnixMilli()+1000 {
			t.Errorf("the sign of life is at %q: %v", text, err)
		}
		seen(fmt.Sprint(ms - 6000)) // as it is 6 seconds later
		must(t, read("n/3"))
		if n, err := raw.Exists(t.Context(), "cronce:v1:q:{key}").Result(); n != 0 || err != nil {
			t.Errorf("%d queues are left, %v", n, err)
		}
	}
}

// A lease is gone, and it cannot be read whether it was taken by force. Its renewal says that it is lost: that is known. Its release is
// doubt: a repetition would be taken for the answer to an earlier one.
func TestForgedTakings(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2} {
		d, raw := realDriver(t, redislock.Options{})
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute, Limit: limit})
		must(t, err)
		h := driver.LeaseRef{Key: "key", Owner: "n/1", Fence: g.Fence, TTL: time.Minute, Limit: limit}
		must(t, raw.FlushAll(t.Context()).Err())
		must(t, raw.Set(t.Context(), "cronce:v1:t:{key}", "x", 0).Err())
		_, err = d.Renew(t.Context(), h)
		for name, err := range map[string]error{"alone": err, "with others": d.RenewAll(t.Context(), []driver.LeaseRef{h})[0].Err} {
			if !errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrForced) {
				t.Errorf("limit %d: a renewal %s is answered %v, want lock.ErrLost", limit, name, err)
			}
		}
		if err := d.Release(t.Context(), h); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("limit %d: the release is answered %v, want doubt", limit, err)
		}
	}
}

// A lease that was taken is answered with the cause for as long as it would have lasted, also if a shorter
// one of its lock was taken later. A repetition of the first request takes nothing.
func TestCauseOutlivesShorterLeases(t *testing.T) {
	s := simulated(t)
	d := newDriver(t, client(t, s.Addr()), redislock.Options{})
	force := func(id string) driver.ForceRecord {
		made, err := d.Force(t.Context(), driver.ForceRequest{Key: "key", ID: id, By: "by", Reason: "reason"})
		must(t, err)
		return made
	}
	taken := func(owner string, ttl time.Duration) driver.LeaseRef {
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: ttl})
		must(t, err)
		force(owner)
		return driver.LeaseRef{Key: "key", Owner: owner, Fence: g.Fence, TTL: ttl}
	}
	long := taken("a/1", time.Hour)
	taken("b/1", time.Second)
	s.wait(2 * time.Second)
	if _, err := d.Renew(t.Context(), long); !errors.Is(err, driver.ErrForced) {
		t.Errorf("the renewal says %v, want lock.ErrForced", err)
	}
	_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "c/1", TTL: time.Hour})
	must(t, err)
	if again := force(long.Owner); len(again.Owners) != 1 || again.Owners[0].Owner != long.Owner {
		t.Errorf("a repetition after another force is answered %+v", again)
	}
	if at, err := d.Inspect(t.Context(), "key"); err != nil || at.Owner != "c/1" {
		t.Errorf("after a repetition the key stands at %+v, %v", at, err)
	}
}
