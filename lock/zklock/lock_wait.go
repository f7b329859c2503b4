package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

const (
	recheck   = 5 * time.Second        // how often a waiter checks that its own node exists
	waitRetry = 250 * time.Millisecond // the pause after doubt
	leaveTime = time.Second            // the time to give a place up
)

// Wait takes a place in the queue of the lock and returns when the place is at the front, its node
// exists and its session answers. It watches only the place right before its own. After doubt it
// reads the queue again; if its node or session was lost, it takes a place at the end. When ctx
// ends, it gives the place up, which may take a second; after that the place is given up in the
// background, at the latest by the end of the session.
func (d *Driver) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("zklock: wait: %w", err)
	}
	patient, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by leaveTime
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(leaveTime, stop) })()
	g, err := bounded(patient, d, "wait", func(c *zk.Conn) (driver.Grant, error) { return d.wait(ctx, c, &a) },
		func(c *zk.Conn, _ driver.Grant) { d.leave(c, &a) })
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return g, err
}

// errBehind means that other places are before ours.
var errBehind = errors.New("others stand before")

// wait waits until the owner is granted the key or ctx ends.
func (d *Driver) wait(ctx context.Context, c *zk.Conn, a *driver.Acquisition) (driver.Grant, error) {
	p, g, err := d.takePlace(c, a)
	defer p.mu.Unlock()
	if err != nil || g.Fence != 0 {
		return g, err
	}
	var v view
	for ctx.Err() == nil && !d.session.over() {
		if g, err = d.readPlace(c, p, a, &v); err == nil {
			return g, nil
		}
		if errors.Is(err, errBehind) {
			a.NoteRefusal(&driver.HeldError{Key: a.Key}) // the time left would take one more read
		} else {
			a.NoteRefusal(err)
		}
		d.sleep(ctx, c, p, &v)
	}
	if errors.Is(err, errBehind) {
		if q, looked := d.queue(c, a.Key); looked == nil {
			err = d.held(c, a.Key, &q)
		}
	}
	_, _ = d.remove(c, p) // remove repeats itself after an error
	switch {
	case ctx.Err() == nil:
		return driver.Grant{}, errClosed
	case err == nil:
		return driver.Grant{}, ctx.Err()
	}
	return driver.Grant{}, fmt.Errorf("%w: %w", ctx.Err(), err)
}

// leave gives up a grant that no caller received.
func (d *Driver) leave(c *zk.Conn, a *driver.Acquisition) {
	if p := d.places.find(a.Key, a.Owner); p != nil {
		defer p.mu.Unlock()
		_, _ = d.remove(c, p) // remove repeats itself after an error
	}
}

// A view is the watch of a waiter, and the conclusions from its events.
//
// A waiter writes its node when it takes the key, and never before that. If all places before a
// waiter are exclusive, it watches the one right before its own. When that node is written, its
// owner holds the key alone, and no other place is before it. So when that node is removed, this
// waiter is first, and need not read the queue.
type view struct {
	changed <-chan zk.Event // nil: nothing is watched
	before  string          // the only node that is watched; empty: the whole queue is watched
	parent  int64           // of the queue
	held    bool            // the owner of the node before has taken the key
	first   bool            // and has left
}

// observe processes the event of the watch. If the watch was lost, nothing follows from it.
func (v *view) observe(e zk.Event) {
	v.changed = nil
	switch {
	case v.before != "" && e.Type == zk.EventNodeDataChanged:
		v.held = true
	case v.held && e.Type == zk.EventNodeDeleted:
		v.first = true
	default:
		*v = view{}
	}
}

// readPlace reads the position of the place, and takes a place if there is none. It returns the grant;
// or errBehind, and the watch for a change in v; or doubt.
func (d *Driver) readPlace(c *zk.Conn, p *place, a *driver.Acquisition, v *view) (driver.Grant, error) {
	if v.held {
		if g, err := d.next(c, p, a, v); !errors.Is(err, errMoved) {
			return g, err
		}
	}
	*v = view{}
	for range tries {
		if p.node == "" && !p.doubtful { // other places count only from the creation of this one on
			if err := d.create(c, p, a, &queue{parent: unseen}, nil); err != nil {
				return driver.Grant{}, err
			}
		}
		q, err := d.readTidied(c, p)
		if err != nil {
			return driver.Grant{}, err
		}
		holders, i := q.holders(), q.find(p.owner)
		switch {
		case i < 0:
			err = d.create(c, p, a, &q, nil)
		case i < holders:
			var g driver.Grant
			if g, err = d.confirm(c, p, a, &q, time.Time{}); err == nil {
				return g, nil
			}
		default:
			err := d.watch(c, a.Key, &q, i, v)
			switch {
			case errors.Is(err, zk.ErrNoNode):
				continue
			case err == nil:
				err = errBehind
			}
			return driver.Grant{}, err
		}
		if err != nil && !errors.Is(err, errMoved) {
			return driver.Grant{}, err
		}
	}
	return driver.Grant{}, errRestless
}

// next waits until the owner right before the place, which holds the key alone, has left, and then
// takes the key. It does not read the queue.
func (d *Driver) next(c *zk.Conn, p *place, a *driver.Acquisition, v *view) (driver.Grant, error) {
	if !v.first {
		_, _, changed, err := c.GetW(v.before) // sets no watch if the node is gone
		switch {
		case err == nil:
			v.changed = changed
			return driver.Grant{}, errBehind
		case !errors.Is(err, zk.ErrNoNode):
			*v = view{}
			return driver.Grant{}, err
		}
	}
	q := queue{parent: v.parent, alone: true}
	*v = view{}
	return d.confirm(c, p, a, &q, time.Time{})
}

// watch watches the nodes whose change may let the i-th place in: the place right before it or, if
// several owners may hold the key, the whole queue, since any of them may leave. zk.ErrNoNode means
// that the queue has already changed.
func (d *Driver) watch(c *zk.Conn, key string, q *queue, i int, v *view) error {
	path := d.paths.lock(key)
	if slices.ContainsFunc(q.places[:i+1], func(e entry) bool { return e.limit > 1 }) {
		names, _, changed, err := c.ChildrenW(path)
		for j := range q.places {
			if err == nil && !slices.Contains(names, q.places[j].name) {
				return zk.ErrNoNode
			}
		}
		v.changed = changed
		return err
	}
	before := path + "/" + q.places[i-1].name
	_, stat, changed, err := c.GetW(before) // sets no watch if the node is gone
	if err == nil {
		*v = view{changed: changed, before: before, parent: q.parent, held: stat.Version > 0}
	}
	return err
}

// sleep returns when the watched node has changed, the waiter's own node is gone or, after doubt,
// when it is time for the next request.
func (d *Driver) sleep(ctx context.Context, c *zk.Conn, p *place, v *view) {
	pause := recheck
	if v.changed == nil {
		pause = waitRetry
	}
	t := time.NewTicker(pause)
	defer t.Stop()
	for {
		select {
		case e := <-v.changed:
			v.observe(e)
			return
		case <-ctx.Done():
			return
		case <-t.C:
			if there, _, err := c.Exists(p.node); v.changed == nil || err != nil || !there {
				*v = view{}
				return
			}
		}
	}
}
