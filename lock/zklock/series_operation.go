package zklock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/lock/driver"
)

// A kind describes a kind of request, which concerns one series and is sent in batches.
type kind[Q, A any] struct {
	what  string
	key   func(*Q) string
	ready func(d *Driver, c *zk.Conn, r *record) error // reads further nodes that a step needs; nil: none
	step  func(r *record, us int64, q *Q) A
	doubt func(q *Q, err error) A
}

const (
	sideBySide = 64                    // concurrent requests of one batch
	maxSteps   = 200                   // requests that one write of a node answers
	again      = 20 * time.Millisecond // the longest pause each time that another client was faster
)

// send answers a batch, in the order of qs.
func (k *kind[Q, A]) send(ctx context.Context, d *Driver, qs []Q) []A {
	if len(qs) == 0 {
		return nil
	}
	own := slices.Clone(qs) // the caller may be gone before the last request is carried out
	var g gate
	answers, err := bounded(ctx, d, k.what, func(c *zk.Conn) ([]A, error) { return k.carryOut(ctx, c, d, own, &g), nil }, nil)
	if err == nil {
		return answers
	}
	if g.shut() {
		err = driver.NotDone(err)
	}
	out := make([]A, len(qs))
	for i := range qs {
		out[i] = k.doubt(&qs[i], err)
	}
	return out
}

// A gate admits the writes of one batch until it is shut.
type gate struct{ state atomic.Int32 }

const (
	gateUnused = iota
	gatePassed // something may have been written
	gateShut
)

// pass reports whether the batch may write.
func (g *gate) pass() bool {
	return g.state.CompareAndSwap(gateUnused, gatePassed) || g.state.Load() == gatePassed
}

// shut reports whether nothing was written; then nothing will be written.
func (g *gate) shut() bool { return g.state.CompareAndSwap(gateUnused, gateShut) }

// A task is the remaining work on one series.
type task struct {
	path   string
	todo   []int
	record *record
	err    error
}

// carryOut reads the series, then the clock, decides, and writes each series that no other client
// has changed. With the changed ones it begins again. The clock is read after the series, so that
// no time in them is later than it.
func (k *kind[Q, A]) carryOut(ctx context.Context, c *zk.Conn, d *Driver, qs []Q, g *gate) []A {
	out := make([]A, len(qs))
	for left := k.tasks(d, qs); len(left) > 0; left = unfinished(left) {
		parallel(len(left), func(i int) {
			t := left[i]
			if t.record, t.err = d.load(c, t.path); t.err == nil && k.ready != nil {
				t.err = k.ready(d, c, t.record)
			}
		})
		ms, err := d.tick(c)
		parallel(len(left), func(i int) {
			t := left[i]
			if t.err == nil {
				t.err = errors.Join(err, ctx.Err())
			}
			if t.err == nil && !g.pass() {
				t.err = context.Canceled // the caller has left
			}
			if t.err == nil {
				t.err = k.carry(c, d, t, ms*1000, qs, out)
			} else {
				t.err = driver.NotDone(t.err)
			}
			if errors.Is(t.err, errFaster) {
				t.err = nil
				time.Sleep(rand.N(again))
			}
			if t.err != nil {
				for _, n := range t.todo {
					out[n] = k.doubt(&qs[n], named(k.what, t.err))
				}
				t.todo = nil
			}
		})
	}
	return out
}

// errFaster means that another client has changed the series since it was read.
var errFaster = errors.New("the series was changed meanwhile")

// carry answers the next requests of a task, in their order, with one write.
func (k *kind[Q, A]) carry(c *zk.Conn, d *Driver, t *task, us int64, qs []Q, out []A) error {
	now := t.todo[:min(len(t.todo), maxSteps)]
	for _, n := range now {
		out[n] = k.step(t.record, us, &qs[n])
	}
	if err := d.store(c, t.record); err != nil {
		return err
	}
	t.todo = t.todo[len(now):]
	return nil
}

// tasks groups the requests by their series, in order.
func (k *kind[Q, A]) tasks(d *Driver, qs []Q) []*task {
	byKey := make(map[string]*task, len(qs))
	all := make([]*task, 0, len(qs))
	for i := range qs {
		key := k.key(&qs[i])
		t := byKey[key]
		if t == nil {
			t = &task{path: d.paths.of(key)}
			byKey[key] = t
			all = append(all, t)
		}
		t.todo = append(t.todo, i)
	}
	return all
}

func unfinished(ts []*task) []*task {
	left := ts[:0]
	for _, t := range ts {
		if len(t.todo) > 0 {
			left = append(left, t)
		}
	}
	return left
}

// parallel calls f with 0 to n-1, some of them concurrently.
func parallel(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, sideBySide)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	wg.Wait()
}

// load reads a series; a series that was never opened is empty.
func (d *Driver) load(c *zk.Conn, path string) (*record, error) {
	data, stat, err := c.Get(path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return &record{path: path}, nil
	case err != nil:
		return nil, err
	}
	return readRecord(path, data, stat.Version)
}

// store writes a series that a step has changed, with new chunks of its journal if it has many newest
// lines. If the series has changed since it was read, store writes nothing and returns errFaster.
func (d *Driver) store(c *zk.Conn, r *record) error {
	if data, err := r.changed(); err != nil || data == nil {
		return err
	}
	if err := d.flush(c, r); err != nil {
		return err
	}
	data, err := r.encode()
	if err != nil {
		return err
	}
	err = d.within(c, d.paths.series, func() error { return d.replace(c, r, data) })
	if errors.Is(err, zk.ErrNoAuth) {
		return driver.NotDone(err)
	}
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode) {
		return errFaster
	}
	if err == nil {
		d.drop(c, r)
		r.audit.drop(d, c)
	}
	return err
}

func (d *Driver) replace(c *zk.Conn, r *record, data []byte) error {
	ops := make([]any, 0, 5)
	if r.data == nil {
		ops = append(ops, &zk.CreateRequest{Path: r.path, Data: data, Acl: d.options.ACL})
	} else {
		ops = append(ops, &zk.SetDataRequest{Path: r.path, Data: data, Version: r.version})
	}
	ops = append(ops, r.fresh...)
	audited, err := r.audit.writes(d)
	if err != nil {
		return err
	}
	ops = append(ops, audited...)
	if len(ops) == 1 && r.data != nil {
		_, err = c.Set(r.path, data, r.version)
		return err
	}
	_, err = c.Multi(ops...)
	return err
}
