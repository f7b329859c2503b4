package zklock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
)

// standing tells of the holder whose node is at path.
func (d *Driver) standing(c *zk.Conn, path string, parent int64) (lock.Holder, error) {
	data, stat, err := c.Get(path)
	if err != nil {
		return lock.Holder{}, err
	}
	if !d.clock.known.Load() {
		if _, err := d.tick(c); err != nil {
			return lock.Holder{}, err
		}
	}
	base, err := d.base(c, parent)
	if err != nil {
		return lock.Holder{}, err
	}
	l := readLease(data)
	at := lock.Holder{Fence: base + stat.Mzxid}
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

// held is the refusal that goes with a queue.
func (d *Driver) held(c *zk.Conn, key string, q *queue) error {
	all, err := d.read(c, key, q, fewHolders)
	if err != nil {
		return err
	}
	left := time.Millisecond // who is gone by now had it
	for i, h := range all {
		if i == 0 || h.Left < left {
			left = h.Left
		}
	}
	return &lock.HeldError{Key: key, Left: left}
}

// fewHolders bounds how many are read for a refusal.
const fewHolders = 16

// read tells of the holders of a key, at most so many, the earliest grant first
// and those last that have not taken it yet.
func (d *Driver) read(c *zk.Conn, key string, q *queue, most int) ([]lock.Holder, error) {
	places := q.places[:min(q.holders(), most)]
	all, errs := make([]lock.Holder, len(places)), make([]error, len(places))
	parallel(len(places), func(i int) {
		all[i], errs[i] = d.standing(c, d.paths.lock(key)+"/"+places[i].name, q.parent)
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
	slices.SortStableFunc(there, func(a, b lock.Holder) int {
		return cmp.Or(cmp.Compare(min(b.Fence, 1), min(a.Fence, 1)), cmp.Compare(a.Fence, b.Fence))
	})
	return there, nil
}

// queue reads the queue of a key without what of ours has ended and is still there.
func (d *Driver) queue(c *zk.Conn, key string) (queue, error) {
	q, err := d.look(c, key)
	return q.without(func(e *entry) bool { return d.forgotten(key, e) }), err
}

// Inspect looks at a key. The time left is told by what the leader's clock seems
// to be.
func (d *Driver) Inspect(ctx context.Context, key string) (lock.Standing, error) {
	if err := lock.CheckKey(key); err != nil {
		return lock.Standing{}, err
	}
	return bounded(ctx, d, "inspect", func(c *zk.Conn) (lock.Standing, error) { return d.inspect(c, key) }, nil)
}

func (d *Driver) inspect(c *zk.Conn, key string) (lock.Standing, error) {
	for range tries {
		q, err := d.queue(c, key)
		if err != nil || len(q.places) == 0 {
			return lock.Standing{}, err
		}
		waiting := len(q.places) - q.holders()
		all, err := d.read(c, key, &q, fewHolders)
		switch {
		case err != nil:
			return lock.Standing{}, err
		case len(all) > 0:
			return lock.Standing{Owner: all[0].Owner, Fence: all[0].Fence, Left: all[0].Left, Waiting: waiting}, nil
		}
	}
	return lock.Standing{}, errRestless
}

// Holders tells who holds a key, the time left as Inspect does.
func (d *Driver) Holders(ctx context.Context, key string) ([]lock.Holder, error) {
	if err := lock.CheckKey(key); err != nil {
		return nil, err
	}
	return bounded(ctx, d, "holders", func(c *zk.Conn) ([]lock.Holder, error) {
		q, err := d.queue(c, key)
		if err != nil {
			return nil, err
		}
		return d.read(c, key, &q, len(q.places))
	}, nil)
}
