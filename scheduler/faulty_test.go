package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A wire is one node's connection to the store.
type wire struct {
	store
	n *node

	mu    sync.Mutex
	down  bool                  // nothing arrives, and nothing is answered
	fault func(op string) fault // returns the fate of the next request; may be nil
	since time.Time             // of the latest change of a fault
	ends  ends

	list   atomic.Pointer[[]string] // of nodes, as the latest answer to a heartbeat has it
	silent map[int]bool             // partitions that do not answer
	foul   map[string]bool          // keys under which the store has other data
}

// Local returns false: as on a shared store, only requests reveal the events on a wire.
func (*wire) Local() bool { return false }

// A fault is the fate of one request.
type fault struct {
	there, back time.Duration // how long request and reply are on their way
	lost        loss
	reset       bool // a loss is an error, instead of silence until the request times out
	refused     bool // the store refuses the request
	unsent      bool // the store is gone: no connection can be made
	broken      bool // the caller gets an error at once, and the request travels on
	deaf        bool // the call ignores its context: it returns when the reply arrives
	edge        bool // a claim is on its way until the latest instant at which it may be granted, and for there
}

type loss uint8

const (
	delivered loss = iota
	lostRequest
	lostReply // after the store has handled the request
)

var (
	errReset        = errors.New("connection reset by peer")
	errDial         = driver.NotDone(errors.New("connection refused"))
	errNoPermission = driver.NotDone(errors.New("NOPERM user app at 10.0.0.1"))
)

func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.since = down, time.Now()
}

// spoil sets the fate of requests from now on; nil: no fault.
func (w *wire) spoil(f func(op string) fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.since = f, time.Now()
}

// clear reports whether requests pass without a fault.
func (w *wire) clear() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.down && w.fault == nil
}

// clearFor returns for how long all requests have passed without a fault.
func (w *wire) clearFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down || w.fault != nil || len(w.silent) > 0 || len(w.foul) > 0 {
		return 0
	}
	return time.Since(w.since)
}

// Partitions and Partition make the store one with several partitions.
func (w *wire) Partitions() int { return max(w.n.c.partitions, 1) }

func (w *wire) Partition(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(w.Partitions()))
}

// silence makes only these partitions silent from now on.
func (w *wire) silence(partitions ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent, w.since = map[int]bool{}, time.Now()
	for _, s := range partitions {
		w.silent[s] = true
	}
}

// spoilKeys makes the store have other data under these keys from now on.
func (w *wire) spoilKeys(keys ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foul, w.since = map[string]bool{}, time.Now()
	for _, k := range keys {
		w.foul[k] = true
	}
}

// unreadable returns the error of a key that cannot be read.
func (w *wire) unreadable(key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.foul[key] {
		return driver.NotDone(fmt.Errorf("store at 10.0.0.1: %q: %w", key, driver.ErrUnreadable))
	}
	return nil
}

// next returns the fate of a request about these keys. A request to several partitions waits for the
// slowest of them.
func (w *wire) next(op string, keys ...string) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case slices.ContainsFunc(keys, func(k string) bool { return w.silent[w.Partition(k)] }), (op == "beat" || op == "leave") && w.silent[0]:
		return fault{lost: lostRequest}
	case w.down:
		return fault{lost: lostRequest}
	case w.n.c.full.Load() && w.n.c.refuses(op):
		return fault{refused: true}
	case w.fault == nil:
		return fault{}
	}
	return w.fault(op)
}

// refuses reports whether a store in memory refuses a request while it is full. Redis decides it itself.
func (c *world) refuses(op string) bool {
	_, own := c.store.(*memlock.Store)
	return own && (op == "open" || op == "claim" || op == "beat" || op == "keep")
}

// through sends one request. It travels on even if the caller no longer waits for the answer, so
// that late requests reach the store too.
func through[T any](ctx context.Context, w *wire, op string, do func(context.Context) T, doubt func(error) T, keys ...string) T {
	return travel(ctx, w.next(op, keys...), do, doubt)
}

// travel sends a request that has a fate.
func travel[T any](ctx context.Context, f fault, do func(context.Context) T, doubt func(error) T) T {
	if f == (fault{}) {
		return do(ctx)
	}
	if f.refused {
		return doubt(errNoPermission)
	}
	if f.unsent {
		return doubt(errDial)
	}
	answer, gone := make(chan T, 1), make(chan struct{}, 2)
	if f.broken {
		gone <- struct{}{}
	}
	go func() {
		time.Sleep(f.there)
		if f.lost != lostRequest {
			a := do(context.Background())
			time.Sleep(f.back)
			if f.lost == delivered {
				answer <- a
				return
			}
		}
		if f.reset {
			gone <- struct{}{}
		}
	}()
	ended := ctx.Done()
	if f.deaf && f.lost == delivered {
		ended = nil
	}
	select {
	case a := <-answer:
		return a
	case <-gone:
		return doubt(errReset)
	case <-ended:
		return doubt(ctx.Err())
	}
}

// each fills a batch with the same doubt.
func each[T any](n int, set func(*T, error)) func(error) []T {
	return func(err error) []T {
		all := make([]T, n)
		for i := range all {
			set(&all[i], err)
		}
		return all
	}
}

func (w *wire) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	w.n.c.opened(len(os))
	return through(ctx, w, "open", func(ctx context.Context) []series.Series {
		all := w.store.Open(ctx, os)
		for i := range all {
			if err := w.unreadable(os[i].Key); err != nil {
				all[i] = series.Series{Key: os[i].Key, Err: err}
			}
		}
		return all
	}, each(len(os), func(s *series.Series, err error) { s.Err = err }), keysOf(os, func(o series.OpenRequest) string { return o.Key })...)
}

func (w *wire) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	w.n.c.claimed(cs)
	w.n.checkFloor(cs)
	f := w.next("claim", keysOf(cs, func(c series.Claim) string { return c.Key })...)
	if f.edge {
		f.there += time.UnixMilli(cs[0].Latest).Sub(w.n.c.now())
	}
	return travel(ctx, f, func(ctx context.Context) []series.Answer {
		as := make([]series.Answer, len(cs))
		for i := range cs {
			if err := w.unreadable(cs[i].Key); err != nil {
				as[i].Err = err
			} else {
				as[i] = w.store.Claim(ctx, cs[i:i+1])[0]
			}
		}
		w.n.c.granted(cs, as)
		return as
	}, each(len(cs), func(a *series.Answer, err error) { a.Err = err }))
}

func (w *wire) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	return result(through(ctx, w, "peek", func(ctx context.Context) reply[[]*series.Answer] {
		w.n.c.peeked(len(ps))
		w.n.peeks.Add(int64(len(ps)))
		return replied(w.store.Peek(ctx, ps, whole))
	}, failed[[]*series.Answer], keysOf(ps, func(p series.NumberRef) string { return p.Key })...))
}

func (w *wire) Decided(ctx context.Context, g series.Group) (bool, error) {
	w.n.c.asked()
	return result(through(ctx, w, "decided", func(ctx context.Context) reply[bool] { return replied(w.store.Decided(ctx, g)) }, failed[bool]))
}

// Noticed is true of what is kept if the world notifies its nodes.
func (w *wire) Noticed(g series.Group) bool {
	if !w.n.c.notifies.Load() {
		return false
	}
	decided, err := w.store.Decided(context.Background(), g)
	return err == nil && decided
}

func (w *wire) KeepDecided(ctx context.Context, g series.Group) error {
	return through(ctx, w, "keep", func(ctx context.Context) error { return w.store.KeepDecided(ctx, g) }, func(err error) error { return err })
}

func (w *wire) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	return through(ctx, w, "renew", func(ctx context.Context) []series.RenewAnswer { return w.store.RenewRuns(ctx, rs) },
		each(len(rs), func(r *series.RenewAnswer, err error) { r.Err = err }), keysOf(rs, func(r series.RunRef) string { return r.Key })...)
}

func (w *wire) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	as := through(ctx, w, "release", func(ctx context.Context) []series.EndAnswer { return w.store.ReleaseRuns(ctx, es) },
		each(len(es), func(e *series.EndAnswer, err error) { e.Err = err }), keysOf(es, func(e series.EndRequest) string { return e.Key })...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends.sent(es, as)
	return as
}

// Refuses and Explain make errNoPermission look like the answer of Redis to a user without rights.
func (w *wire) Refuses(err error) bool { return errors.Is(err, errNoPermission) }

func (w *wire) Explain(err error) string {
	if errors.Is(err, errNoPermission) {
		return "the user may not do what is asked for"
	}
	return ""
}

func (w *wire) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	return result(through(ctx, w, "beat", func(ctx context.Context) reply[series.BeatAnswer] {
		p, err := w.store.Beat(ctx, b)
		w.list.Store(&p.Nodes)
		p.Readings = w.n.c.answered(p.Readings)[:len(p.Readings)]
		return replied(p, err)
	}, failed[series.BeatAnswer]))
}

func (w *wire) Now(ctx context.Context) ([]driver.ClockReading, error) {
	return result(through(ctx, w, "now", func(ctx context.Context) reply[[]driver.ClockReading] {
		rs, err := w.store.Now(ctx)
		return replied(w.n.c.answered(rs), err)
	}, failed[[]driver.ClockReading]))
}

func (w *wire) Leave(ctx context.Context, node string) error {
	return through(ctx, w, "leave", func(ctx context.Context) error { return w.store.Leave(ctx, node) },
		func(err error) error { return err })
}

// keysOf returns the keys of a batch.
func keysOf[T any](all []T, key func(T) string) (keys []string) {
	for _, one := range all {
		keys = append(keys, key(one))
	}
	return keys
}

// A reply is an answer of a single request or its error.
type reply[T any] struct {
	value T
	err   error
}

func replied[T any](v T, err error) reply[T]    { return reply[T]{v, err} }
func failed[T any](err error) reply[T]          { return reply[T]{err: err} }
func result[T any](r reply[T]) (v T, err error) { return r.value, r.err }

// A grant is a claim that the store granted, even if its reply was lost.
type grant struct {
	number  int64
	owner   string
	fence   int64
	attempt int
	at      time.Time
	shard   int
}

// given returns the grants of a job, in their order. Of two in one instant it is not known which one the store granted first.
func (c *world) given(job string) []grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(c.grants[job]), func(a, b grant) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.fence, b.fence)) })
}

// granted records the grants of a batch. A repeated request of an owner is no new grant.
func (c *world) granted(cs []series.Claim, as []series.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range as {
		if a.Kind != series.KindGranted {
			continue
		}
		job, g := cs[i].Key, grant{number: cs[i].Number, owner: cs[i].Owner, fence: a.Fence, attempt: a.Attempt, at: time.Now()}
		if a.Of == 0 {
			c.grants[job] = append(c.grants[job], g)
		}
		for _, shard := range a.Shards {
			g.fence, g.attempt, g.shard = shard.Fence, shard.Attempt, shard.Shard
			c.grants[job] = append(c.grants[job], g)
		}
	}
}

// answered turns the one reading of the store into one for each of its masters.
func (c *world) answered(rs []driver.ClockReading) []driver.ClockReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumpy != nil {
		for i := range rs {
			rs[i].Time = rs[i].Time.Add(c.jumpy())
		}
	}
	if len(rs) != 1 || len(c.masters) == 0 {
		return rs
	}
	all := slices.Repeat(rs, len(c.masters))
	for i, m := range c.masters {
		all[i].Process = m
	}
	return all
}

// restart replaces the processes of the store's masters.
func (c *world) restart(masters ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.masters = masters
}
