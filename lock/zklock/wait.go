package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock"
)

const (
	recheck   = 5 * time.Second        // how often a waiter makes sure of its own node
	waitRetry = 250 * time.Millisecond // after doubt
	leaveTime = time.Second            // for giving a place up
)

// Wait takes a place in the queue of the lock and returns when it stands in
// front, its node is there and its session answers. It watches who stands right
// before it, and nobody else. After doubt it looks again; if its node or session
// was lost it takes a place at the end. When ctx ends it gives the place up, for
// which it may take a second; then it is given up beside, and by the end of the
// session at the latest.
func (d *Driver) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := cmp.Or(lock.CheckAcquisition(&a), lock.CheckNoReplicas(a.Replicas)); err != nil {
		return lock.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return lock.Grant{}, fmt.Errorf("zklock: wait: %w", err)
	}
	patient, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by leaveTime
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, stop) })()
	g, err := bounded(patient, d, "wait", func(c *zk.Conn) (lock.Grant, error) { return d.wait(ctx, c, &a) },
		func(c *zk.Conn, _ lock.Grant) { d.leave(c, &a) })
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return g, err
}

// errBehind means that others stand before us.
var errBehind = errors.New("others stand before")

// wait waits until it is granted or ctx ends.
func (d *Driver) wait(ctx context.Context, c *zk.Conn, a *lock.Acquisition) (lock.Grant, error) {
	p, g, err := d.seat(c, a)
	defer p.mu.Unlock()
	if err != nil || g.Fence != 0 {
		return g, err
	}
	for ctx.Err() == nil && !d.session.over() {
		var changed <-chan zk.Event
		if g, changed, err = d.stand(c, p, a); err == nil {
			return g, nil
		}
		if errors.Is(err, errBehind) {
			a.NoteRefusal(&lock.HeldError{Key: a.Key}) // for how long would take one more look
		}
		d.sleep(ctx, c, p, changed)
	}
	if errors.Is(err, errBehind) {
		if q, looked := d.queue(c, a.Key); looked == nil {
			err = d.held(c, a.Key, &q)
		}
	}
	_, _ = d.remove(c, p) // it tries again by itself
	switch {
	case ctx.Err() == nil:
		return lock.Grant{}, errClosed
	case err == nil:
		return lock.Grant{}, ctx.Err()
	}
	return lock.Grant{}, fmt.Errorf("%w: %w", ctx.Err(), err)
}

// leave gives up what was granted to nobody.
func (d *Driver) leave(c *zk.Conn, a *lock.Acquisition) {
	if p := d.places.find(a.Key, a.Owner); p != nil {
		defer p.mu.Unlock()
		_, _ = d.remove(c, p) // it tries again by itself
	}
}

// stand looks where the place stands, and takes one if there is none. It returns
// the grant, or errBehind and what tells of a change, or doubt.
func (d *Driver) stand(c *zk.Conn, p *place, a *lock.Acquisition) (lock.Grant, <-chan zk.Event, error) {
	for range tries {
		q, err := d.lookFor(c, p)
		if err != nil {
			return lock.Grant{}, nil, err
		}
		holders, i := q.holders(), q.find(p.owner)
		switch {
		case i < 0:
			err = d.create(c, p, a, &q, nil)
		case i < holders:
			var g lock.Grant
			if g, err = d.confirm(c, p, a, &q, time.Time{}); err == nil {
				return g, nil, nil
			}
		default:
			changed, err := d.watch(c, a.Key, &q, i)
			switch {
			case errors.Is(err, zk.ErrNoNode):
				continue
			case err == nil:
				err = errBehind
			}
			return lock.Grant{}, changed, err
		}
		if err != nil && !errors.Is(err, errMoved) {
			return lock.Grant{}, nil, err
		}
	}
	return lock.Grant{}, nil, errRestless
}

// watch watches what may let the i-th place in: who stands right before it. If
// more than one may hold the key anybody's end may, and the whole queue is
// watched. An error that there is no node tells that the queue has changed already.
func (d *Driver) watch(c *zk.Conn, key string, q *queue, i int) (<-chan zk.Event, error) {
	path := d.paths.lock(key)
	if slices.ContainsFunc(q.places[:i+1], func(e entry) bool { return e.limit > 1 }) {
		names, _, changed, err := c.ChildrenW(path)
		for j := range q.places {
			if err == nil && !slices.Contains(names, q.places[j].name) {
				return nil, zk.ErrNoNode
			}
		}
		return changed, err
	}
	_, _, changed, err := c.GetW(path + "/" + q.places[i-1].name) // sets no watch if it is gone
	return changed, err
}

// sleep returns when something has changed, the own node is gone, or after doubt
// when it is time to ask again.
func (d *Driver) sleep(ctx context.Context, c *zk.Conn, p *place, changed <-chan zk.Event) {
	pause := recheck
	if changed == nil {
		pause = waitRetry
	}
	t := time.NewTicker(pause)
	defer t.Stop()
	for {
		select {
		case <-changed:
			return
		case <-ctx.Done():
			return
		case <-t.C:
			if there, _, err := c.Exists(p.node); changed == nil || err != nil || !there {
				return
			}
		}
	}
}
