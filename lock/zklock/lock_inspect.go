package zklock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// holderAt returns the holder whose node is at path.
func (d *Driver) holderAt(c *zk.Conn, path string, parent int64) (driver.Holder, error) {
	data, stat, err := c.Get(path)
	if err != nil {
		return driver.Holder{}, err
	}
	if !d.clock.known.Load() {
		if _, err := d.tick(c); err != nil {
			return driver.Holder{}, err
		}
	}
	base, err := d.base(c, parent)
	if err != nil {
		return driver.Holder{}, err
	}
	l := readLease(data)
	at := driver.Holder{Fence: base + stat.Mzxid}
	switch {
	case l.waits:
		at.Fence = 0
	case l.fence != 0:
		at.Fence = l.fence
	}
	left := time.Duration(stat.Mtime-d.clock.now())*time.Millisecond + l.ttl
	at.Left = min(max(left, time.Millisecond), max(l.ttl, time.Millisecond))
	return at, nil
}

// held returns the refusal for a queue.
func (d *Driver) held(c *zk.Conn, key string, q *queue) error {
	all, err := d.read(c, key, q, fewHolders)
	if err != nil {
		return err
	}
	left := time.Millisecond // for a holder that has gone in the meantime
	for i, h := range all {
		if i == 0 || h.Left < left {
			left = h.Left
		}
	}
	return &driver.HeldError{Key: key, Left: left}
}

// fewHolders limits how many holders are read for a refusal.
const fewHolders = 16

// read returns at most the given number of holders of a key. The earliest grant comes first;
// holders that have not taken the key yet come last.
func (d *Driver) read(c *zk.Conn, key string, q *queue, most int) ([]driver.Holder, error) {
	places := q.places[:min(q.holders(), most)]
	all, errs := make([]driver.Holder, len(places)), make([]error, len(places))
	parallel(len(places), func(i int) {
		all[i], errs[i] = d.holderAt(c, d.paths.lock(key)+"/"+places[i].name, q.parent)
		all[i].Owner, _ = unescape(places[i].owner)
		all[i].Limit = places[i].limit
	})
	there := all[:0]
	for i, err := range errs {
		switch {
		case err == nil:
			there = append(there, all[i])
		case !errors.Is(err, zk.ErrNoNode):
			return nil, err
		}
	}
	slices.SortStableFunc(there, func(a, b driver.Holder) int {
		return cmp.Or(cmp.Compare(min(b.Fence, 1), min(a.Fence, 1)), cmp.Compare(a.Fence, b.Fence))
	})
	return there, nil
}

// queue reads the queue of a key, without places of this Driver that have ended and still exist.
func (d *Driver) queue(c *zk.Conn, key string) (queue, error) {
	q, err := d.queueOf(c, key)
	return q.without(func(e *entry) bool { return d.forgotten(key, e) }), err
}

// Inspect reads the state of a key. It computes the time left from its estimate of the leader's
// clock.
func (d *Driver) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	return bounded(ctx, d, "inspect", func(c *zk.Conn) (driver.KeyState, error) { return d.inspect(c, key) }, nil)
}

func (d *Driver) inspect(c *zk.Conn, key string) (driver.KeyState, error) {
	for range tries {
		q, err := d.queue(c, key)
		if err != nil || len(q.places) == 0 {
			return driver.KeyState{}, err
		}
		waiting := len(q.places) - q.holders()
		all, err := d.read(c, key, &q, fewHolders)
		switch {
		case err != nil:
			return driver.KeyState{}, err
		case len(all) > 0:
			return driver.KeyState{Owner: all[0].Owner, Fence: all[0].Fence, Left: all[0].Left, Waiting: waiting}, nil
		}
	}
	return driver.KeyState{}, errRestless
}

// Holders returns the owners that hold a key, with the time left as in Inspect.
func (d *Driver) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	return bounded(ctx, d, "holders", func(c *zk.Conn) ([]driver.Holder, error) {
		q, err := d.queue(c, key)
		if err != nil {
			return nil, err
		}
		return d.read(c, key, &q, len(q.places))
	}, nil)
}
