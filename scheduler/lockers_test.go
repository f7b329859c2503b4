package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// Lockers are processes beside the nodes that take plain locks in the same store, each with a Locker of its own, over a wire with
// faults of its own. They are killed, too.
type lockers struct {
	s     *simulation
	calm  chan struct{} // closed when there are no more faults of their wires, and none is killed
	ended sync.WaitGroup

	mu     sync.Mutex
	leases map[ledgerKey]*lockLease
	paid   map[lockOwner]bool // owners whose Locker has sent a release
}

// A lockLease is a plain lease that the store granted, even if its reply was lost.
type lockLease struct {
	fence    int64
	owner    string
	made     time.Time    // when the store granted it
	process  *lockProcess // its Locker received the grant in time; may be nil
	returned bool         // its Locker returned it to its caller
	until    time.Time    // as its caller saw it: it was released or lost, or its process was killed; zero if it was not held
	lost     bool         // as its caller saw it
	freed    bool         // a release reached the store
}

// A lockOwner identifies a grant by its owner, as a release does whose caller does not know the fence.
type lockOwner struct{ key, owner string }

// lockKeys are the keys of lockers, and how many may hold each at once.
var lockKeys = []struct {
	name  string
	limit int
}{{"lock", 1}, {"other lock", 1}, {"permits", 2}}

// lockIn starts lockers, which go on until the context ends.
func (s *simulation) lockIn(ctx context.Context) *lockers {
	ls := &lockers{s: s, calm: make(chan struct{}), leases: map[ledgerKey]*lockLease{}, paid: map[lockOwner]bool{}}
	for i := range 3 {
		ls.ended.Go(func() {
			for d := throw(s.seed, uint64(6_000_000+i)); ctx.Err() == nil; {
				ls.process(ctx, i, d)
			}
		})
	}
	return ls
}

// A lockProcess is one life of a locker.
type lockProcess struct {
	*dice
	*lockers
	wire   *wire
	locker *lock.Locker
	dead   context.Context
	killed bool
	name   string
	seen   map[string]int64 // the highest fence that it was granted for each key
}

// process lives until it is killed or the context ends.
func (ls *lockers) process(ctx context.Context, i int, d *dice) {
	p := &lockProcess{dice: d, lockers: ls, name: fmt.Sprint("locker", i), wire: &wire{store: ls.s.store, n: &node{c: ls.s.world}}, seen: map[string]int64{}}
	var kill context.CancelFunc
	p.dead, kill = context.WithCancel(context.Background())
	defer kill()
	way := driver.Driver(lockWire{p})
	if d.n(2) == 0 { // waiters have a queue in the store
		way = waitWire{lockWire{p}}
	}
	p.locker = lock.New(way, p.name)
	if !p.over() && d.n(2) == 0 {
		defer time.AfterFunc(10*time.Second+d.long(3*time.Minute), func() {
			if !p.over() {
				p.wire.cut(true)
				ls.mu.Lock()
				p.killed = true
				ls.mu.Unlock()
				kill()
			}
		}).Stop()
	}
	for ctx.Err() == nil && p.dead.Err() == nil {
		p.spoil()
		p.visit(ctx)
	}
}

// over reports whether the faults are over.
func (ls *lockers) over() bool {
	select {
	case <-ls.calm:
		return true
	default:
		return false
	}
}

// spoil draws the fate of requests from now on, or lets it be.
func (p *lockProcess) spoil() {
	switch n := p.n(8); {
	case p.over(), n < 2:
		p.wire.spoil(nil)
	case n == 2:
		kinds := faults(p.dice)
		kind, one := kinds[p.n(len(kinds))], 1+p.n(5)
		p.wire.spoil(func(string) fault {
			if p.n(one) == 0 {
				return kind()
			}
			return fault{}
		})
	}
}

// visit acquires a key, or two together, for some time, and mostly releases them.
func (p *lockProcess) visit(ctx context.Context) {
	select {
	case <-time.After(p.long(6 * time.Second)):
	case <-p.dead.Done():
		return
	}
	alive, stop := context.WithTimeout(ctx, time.Millisecond+p.long(8*time.Second))
	defer stop()
	defer context.AfterFunc(p.dead, stop)()
	quiet := p.over() && p.wire.clear()
	key, o := lockKeys[p.n(len(lockKeys))], lock.Options{TTL: 500*time.Millisecond + p.long(4*time.Second)}
	o.Limit = key.limit
	var all []*lock.Lease
	var err error
	switch p.n(4) {
	case 0:
		all, err = one(p.locker.TryAcquire(alive, key.name, o))
	case 1:
		o.Limit = 1
		var set *lock.LeaseSet
		if set, err = p.locker.AcquireAll(alive, []string{lockKeys[0].name, lockKeys[1].name}, o); err == nil {
			all = set.All()
		}
	default:
		all, err = one(p.locker.Acquire(alive, key.name, o))
	}
	if _, held := errors.AsType[*lock.HeldError](err); err != nil && quiet && !held && alive.Err() == nil {
		p.s.t.Errorf("%s acquired %s in calm: %v", p.name, key.name, err)
	}
	if err == nil {
		p.hold(all, p.long(3*o.TTL), quiet)
	}
}

func one(l *lock.Lease, err error) ([]*lock.Lease, error) { return []*lock.Lease{l}, err }

// hold holds leases for d, and ends them.
func (p *lockProcess) hold(all []*lock.Lease, d time.Duration, quiet bool) {
	work, stop := context.WithTimeout(p.dead, d)
	defer stop()
	p.lockers.mu.Lock()
	for _, l := range all {
		p.seen[l.Key()] = max(p.seen[l.Key()], l.Fence())
		p.lease(l).returned = true
		defer context.AfterFunc(l.Context(), stop)()
	}
	p.lockers.mu.Unlock()
	if !slices.ContainsFunc(all, func(l *lock.Lease) bool { return l.Check() != nil }) { // one may be lost before the other is granted
		<-work.Done()
		p.held(all)
	}
	leave := !p.over() && p.n(10) == 0
	for _, l := range all {
		if p.dead.Err() != nil || leave {
			l.Abandon(errKilled)
			continue
		}
		lost := errors.Is(l.Check(), lock.ErrLost)
		switch err := p.release(l); {
		case lost && !errors.Is(err, lock.ErrLost):
			p.s.t.Errorf("%s lost %s, fence %d, and its release returned %v", p.name, l.Key(), l.Fence(), err)
		case err != nil && quiet:
			p.s.t.Errorf("%s released %s, fence %d, in calm at %v: %v", p.name, l.Key(), l.Fence(), time.Now().UTC(), err)
		}
	}
}

// held notes that leases were held until now.
func (p *lockProcess) held(all []*lock.Lease) {
	p.lockers.mu.Lock()
	defer p.lockers.mu.Unlock()
	for _, l := range all {
		lease := p.lease(l)
		lease.until, lease.lost = time.Now(), errors.Is(l.Check(), lock.ErrLost)
	}
}

func (ls *lockers) lease(l *lock.Lease) *lockLease { return ls.leases[ledgerKey{l.Key(), l.Fence()}] }

func (p *lockProcess) release(l *lock.Lease) error {
	ctx, stop := context.WithTimeout(p.dead, 5*time.Second)
	defer stop()
	return l.Release(ctx)
}

// leave waits for all lockers, whose context ended after a time of calm. Soon no key is held.
func (ls *lockers) leave() {
	ls.ended.Wait()
	ls.s.pass(1100 * time.Millisecond)
	for _, key := range lockKeys {
		left, err := ls.s.store.Holders(context.Background(), key.name)
		if err != nil || len(left) > 0 {
			ls.s.t.Errorf("%s is held after its callers have left: %+v, %v", key.name, left, err)
		}
		ls.judge(key.name, key.limit)
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for key, l := range ls.leases {
		if l.process != nil && !l.returned && !l.process.killed && !ls.paid[lockOwner{key.job, l.owner}] {
			ls.s.t.Errorf("%s, fence %d, was granted to a caller that had left, and is not released", key.job, l.fence)
		}
	}
}

// judge wants the fences of a key to rise, and no more callers to hold it at once than its limit.
func (ls *lockers) judge(key string, limit int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all []*lockLease
	for k, l := range ls.leases {
		if k.job == key {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *lockLease) int { return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.fence, b.fence)) })
	for i, l := range all {
		if i > 0 && l.fence <= all[i-1].fence && ls.s.strange != clockStepped {
			ls.s.t.Errorf("%s: fence %d of %s at %v after fence %d of %s", key, l.fence, l.owner, l.made.UTC(), all[i-1].fence, all[i-1].owner)
		}
		if ls.s.strange != nothingStrange {
			continue
		}
		var others []string
		for _, o := range all[:i] {
			until := o.until
			if o.lost && !o.freed {
				until = until.Add(50*time.Millisecond - 1) // see checkTrust
			}
			if until.After(l.made) {
				others = append(others, fmt.Sprintf("%s with fence %d until %v", o.owner, o.fence, until.UTC()))
			}
		}
		if len(others) >= limit {
			ls.s.t.Errorf("%s: fence %d of %s at %v, while it was held by %q", key, l.fence, l.owner, l.made.UTC(), others)
		}
	}
}

// A lockWire is the way of a process to the store of plain locks.
type lockWire struct{ p *lockProcess }

func (w lockWire) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	w.p.lockers.mu.Lock()
	seen := w.p.seen[a.Key]
	w.p.lockers.mu.Unlock()
	if a.Fence < seen {
		w.p.s.t.Errorf("%s asks for a fence of %s above %d, and was granted %d", w.p.name, a.Key, a.Fence, seen)
	}
	return w.p.delivered(a, time.Now())(result(through(ctx, w.p.wire, "acquire", func(ctx context.Context) reply[driver.Grant] {
		return replied(w.p.granted(a.Key, a.Owner)(w.p.wire.store.Acquire(ctx, a)))
	}, failed[driver.Grant])))
}

func (w lockWire) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	sent := time.Now()
	gs, err := result(through(ctx, w.p.wire, "acquire", func(ctx context.Context) reply[[]driver.Grant] {
		gs, err := w.p.wire.store.AcquireAll(ctx, as)
		for i := range gs {
			_, _ = w.p.granted(as[i].Key, as[i].Owner)(gs[i], err)
		}
		return replied(gs, err)
	}, failed[[]driver.Grant]))
	for i := range gs {
		_, _ = w.p.delivered(as[i], sent)(gs[i], err)
	}
	return gs, err
}

func (w lockWire) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return result(through(ctx, w.p.wire, "renew", func(ctx context.Context) reply[driver.Grant] {
		return replied(w.p.wire.store.Renew(ctx, h))
	}, failed[driver.Grant]))
}

func (w lockWire) Release(ctx context.Context, h driver.LeaseRef) error {
	w.p.pay(h)
	return through(ctx, w.p.wire, "release", func(ctx context.Context) error {
		w.p.free(h)
		return w.p.wire.store.Release(ctx, h)
	}, func(err error) error { return err })
}

func (w lockWire) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	w.p.pay(hs...)
	return through(ctx, w.p.wire, "release", func(ctx context.Context) []error {
		w.p.free(hs...)
		return w.p.wire.store.ReleaseAll(ctx, hs)
	}, each(len(hs), func(e *error, err error) { *e = err }))
}

// Holders makes it a driver.Sharer.
func (w lockWire) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	return w.p.wire.store.Holders(ctx, key)
}

// A waitWire is the way of a process that waits in the queue of the store. The store is then near.
type waitWire struct{ lockWire }

func (w waitWire) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if !w.p.wire.clear() {
		<-ctx.Done()
		return driver.Grant{}, ctx.Err()
	}
	return w.p.delivered(a, time.Now())(w.p.granted(a.Key, a.Owner)(w.p.wire.store.Wait(ctx, a)))
}

// delivered notes a grant that reached the Locker while its lease is not over.
func (p *lockProcess) delivered(a driver.Acquisition, sent time.Time) func(driver.Grant, error) (driver.Grant, error) {
	return func(g driver.Grant, err error) (driver.Grant, error) {
		p.lockers.mu.Lock()
		defer p.lockers.mu.Unlock()
		if err == nil && time.Since(sent) < a.TTL {
			p.leases[ledgerKey{a.Key, g.Fence}].process = p
		}
		return g, err
	}
}

// pay notes that the Locker releases leases.
func (p *lockProcess) pay(hs ...driver.LeaseRef) {
	p.lockers.mu.Lock()
	defer p.lockers.mu.Unlock()
	for _, h := range hs {
		p.paid[lockOwner{h.Key, h.Owner}] = true
	}
}

// free notes that a release of leases reached the store.
func (ls *lockers) free(hs ...driver.LeaseRef) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, h := range hs {
		if l := ls.leases[ledgerKey{h.Key, h.Fence}]; l != nil { // its owner may not know the fence
			l.freed = true
		}
	}
}

// granted notes a grant. A repeated request of an owner is no new grant. After a step of the clock, a fence may be granted again.
func (ls *lockers) granted(key, owner string) func(driver.Grant, error) (driver.Grant, error) {
	return func(g driver.Grant, err error) (driver.Grant, error) {
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if err != nil {
			return g, err
		}
		lease := ledgerKey{key, g.Fence}
		before := ls.leases[lease]
		if before != nil && before.owner == owner {
			return g, nil
		}
		if before != nil && ls.s.strange != clockStepped {
			ls.s.t.Errorf("%s: fence %d was granted to %s, and to %s", key, g.Fence, before.owner, owner)
		}
		ls.leases[lease] = &lockLease{fence: g.Fence, owner: owner, made: time.Now()}
		return g, nil
	}
}
