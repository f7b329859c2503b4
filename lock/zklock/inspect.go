package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
)

// A standing is what the node of a place tells.
type standing struct {
	fence int64
	left  time.Duration // until its deadline, by what the server's clock seems to be
}

func (d *Driver) standing(c *zk.Conn, path string, parent int64) (standing, error) {
	data, stat, err := c.Get(path)
	if err != nil {
		return standing{}, err
	}
	if !d.clock.known.Load() {
		if _, err := d.tick(c); err != nil {
			return standing{}, err
		}
	}
	base, err := d.base(c, parent)
	if err != nil {
		return standing{}, err
	}
	l := readLease(data)
	at := standing{fence: base + stat.Czxid}
	if l.fence != 0 {
		at.fence = l.fence
	}
	left := time.Duration(stat.Mtime-d.clock.now())*time.Millisecond + l.ttl
	at.left = min(max(left, time.Millisecond), max(l.ttl, time.Millisecond))
	return at, nil
}

// held is the refusal that goes with a queue.
func (d *Driver) held(c *zk.Conn, key string, q *queue) error {
	at, err := d.standing(c, d.paths.lock(key)+"/"+q.places[0].name, q.parent)
	switch {
	case errors.Is(err, zk.ErrNoNode): // it was held
		at.left = time.Millisecond
	case err != nil:
		return err
	}
	return &lock.HeldError{Key: key, Left: at.left}
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
		q, err := d.look(c, key)
		if err != nil {
			return lock.Standing{}, err
		}
		q = q.without(func(e *entry) bool { return d.forgotten(key, e) })
		if len(q.places) == 0 {
			return lock.Standing{}, nil
		}
		at, err := d.standing(c, d.paths.lock(key)+"/"+q.places[0].name, q.parent)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		owner, _ := unescape(q.places[0].owner)
		return lock.Standing{Owner: owner, Fence: at.fence, Left: at.left, Waiting: len(q.places) - q.holders()}, err
	}
	return lock.Standing{}, errRestless
}
