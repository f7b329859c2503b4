package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A lockGuest is a pair of keys whose callers ask a store in memory and in Redis for plain locks, as a guest does for series: anything, and
// mostly at the instants at which an answer changes. None of them waits in a queue. The two stores have to agree on each answer, and
// the fences, which are not the same in both, have to rise in each.
type lockGuest struct {
	*dice
	store *twin
	now   func() time.Time
	keys  []string
	limit int // the usual one

	edges  []time.Time
	leases []doubleLease
	last   map[string][2]int64      // the highest fence of a key in Redis and in memory
	forced [][2]driver.ForceRequest // for Redis and for memory
	sent   int
}

// A doubleLease is a lease of both stores.
type doubleLease struct {
	driver.LeaseRef
	memory int64 // its fence there
}

func newLockGuest(s *simulation, store *twin, i int) *lockGuest {
	g := &lockGuest{dice: throw(s.seed, uint64(8_000_000+i)), store: store, now: s.now, last: map[string][2]int64{}}
	g.keys, g.limit = []string{fmt.Sprint("left", i), fmt.Sprint("right", i)}, []int{1, 1, 2, driver.NoLimit}[g.n(4)]
	return g
}

const lockGuests = 3

// lockMoves are the requests of a lock guest, by how often it makes them.
var lockMoves = []func(*lockGuest, context.Context){
	(*lockGuest).acquire, (*lockGuest).acquire, (*lockGuest).acquire, (*lockGuest).acquire, (*lockGuest).again, (*lockGuest).acquireAll,
	(*lockGuest).renew, (*lockGuest).renew, (*lockGuest).release, (*lockGuest).release, (*lockGuest).releaseAll, (*lockGuest).force,
}

// act makes a request when it is time, and reads a key.
func (g *lockGuest) act(ctx context.Context) {
	now := g.now()
	g.edges = slices.DeleteFunc(g.edges, func(at time.Time) bool { return at.Before(now) })
	switch d := g.n(10); {
	case d < 4: // several requests in one instant
	case d < 8 && len(g.edges) > 0:
		time.Sleep(g.edges[g.n(len(g.edges))].Add(time.Duration(g.n(3)-1) * time.Millisecond).Sub(now))
	default:
		time.Sleep(g.long(2 * time.Second))
	}
	if ctx.Err() != nil {
		return
	}
	g.store.turn <- struct{}{}
	defer func() { <-g.store.turn }()
	ctx = context.WithoutCancel(ctx)
	lockMoves[g.n(len(lockMoves))](g, ctx)
	g.read(ctx)
}

func (g *lockGuest) key() string { return g.keys[g.n(len(g.keys))] }

// draft returns an acquisition by a new owner, for Redis and for memory.
func (g *lockGuest) draft(key string) (redis, memory driver.Acquisition) {
	g.sent++
	redis = driver.Acquisition{Key: key, Owner: fmt.Sprintf("caller/%d", g.sent), TTL: []time.Duration{500 * time.Millisecond, time.Second, 3 * time.Second}[g.n(3)]}
	redis.Barge, redis.Limit = g.n(3) == 0, g.limit
	if g.n(3) == 0 {
		redis.Limit = []int{0, 1, 2, 3, driver.NoLimit}[g.n(5)]
	}
	memory = redis
	switch seen := g.last[key]; g.n(12) {
	case 0, 1, 2: // the owner has seen no fence
	case 3: // too far ahead
		redis.Fence = g.now().Add(24*time.Hour).UnixMicro() + int64(g.n(2))
		memory.Fence = redis.Fence
	default:
		redis.Fence, memory.Fence = seen[0], seen[1]
	}
	return redis, memory
}

func (g *lockGuest) acquire(ctx context.Context) {
	redis, memory := g.draft(g.key())
	g.ask(ctx, redis, memory)
}

// again repeats the request of a lease that is held, or was.
func (g *lockGuest) again(ctx context.Context) {
	l, ok := g.lease()
	if !ok {
		return
	}
	a := driver.Acquisition{Key: l.Key, Owner: l.Owner, TTL: l.TTL, Limit: l.Limit}
	g.ask(ctx, a, a)
}

func (g *lockGuest) ask(ctx context.Context, redis, memory driver.Acquisition) {
	a, err := g.store.redisStore.Acquire(ctx, redis)
	if full(err) {
		return
	}
	b, fault := g.store.memory.Acquire(ctx, memory)
	if g.agree("acquire", redis, a.Left, b.Left, err, fault) {
		g.grant(redis, memory, a, b)
	}
}

func (g *lockGuest) acquireAll(ctx context.Context) {
	var redis, memory []driver.Acquisition
	for _, key := range g.keys {
		a, b := g.draft(key)
		if redis != nil {
			a.Owner, b.Owner, a.Limit, b.Limit = redis[0].Owner, redis[0].Owner, redis[0].Limit, redis[0].Limit
		}
		redis, memory = append(redis, a), append(memory, b)
	}
	as, err := g.store.redisStore.AcquireAll(ctx, redis)
	if full(err) {
		return
	}
	bs, fault := g.store.memory.AcquireAll(ctx, memory)
	if !g.agree("acquire all", redis, 0, 0, err, fault) {
		return
	}
	for i := range as {
		if g.agree("acquire all", redis, as[i].Left, bs[i].Left, nil, nil) {
			g.grant(redis[i], memory[i], as[i], bs[i])
		}
	}
}

// grant notes a lease, and wants its fence to be above those of the key, and above the one that its owner has seen, unless the owner had the
// lease already.
func (g *lockGuest) grant(a, b driver.Acquisition, redis, memory driver.Grant) {
	again := slices.ContainsFunc(g.leases, func(l doubleLease) bool {
		return l.Key == a.Key && l.Owner == a.Owner && l.Fence == redis.Fence && l.memory == memory.Fence
	})
	last := g.last[a.Key]
	if !again && (redis.Fence <= max(a.Fence, last[0]) || memory.Fence <= max(b.Fence, last[1])) {
		g.store.t.Errorf("acquire %+v: fences %d in Redis and %d in memory, after %d", a, redis.Fence, memory.Fence, last)
	}
	g.last[a.Key] = [2]int64{max(g.last[a.Key][0], redis.Fence), max(g.last[a.Key][1], memory.Fence)}
	g.leases = latest(append(g.leases, doubleLease{driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: redis.Fence, TTL: a.TTL, Limit: a.Limit}, memory.Fence}))
	g.edges = append(g.edges, g.now().Add(redis.Left))
}

// lease draws one of the latest leases, seldom with another fence.
func (g *lockGuest) lease() (l doubleLease, ok bool) {
	if len(g.leases) == 0 {
		return l, false
	}
	l = g.leases[g.n(len(g.leases))]
	if g.n(10) == 0 { // a fence that no lease has
		l.Fence, l.memory = l.Fence+1e12, l.memory+1e12
	}
	return l, true
}

// inMemory is the reference that the store in memory gets.
func (l *doubleLease) inMemory() driver.LeaseRef {
	ref := l.LeaseRef
	ref.Fence = l.memory
	return ref
}

func (g *lockGuest) renew(ctx context.Context) {
	l, ok := g.lease()
	if !ok {
		return
	}
	a, err := g.store.redisStore.Renew(ctx, l.LeaseRef)
	if full(err) {
		return
	}
	b, fault := g.store.memory.Renew(ctx, l.inMemory())
	if g.agree("renew", l.LeaseRef, a.Left, b.Left, err, fault) {
		g.edges = append(g.edges, g.now().Add(a.Left))
	}
}

func (g *lockGuest) release(ctx context.Context) {
	l, ok := g.lease()
	if !ok {
		return
	}
	if g.n(5) == 0 { // by an owner whose request had no answer
		l.Fence, l.memory = 0, 0
	}
	if err := g.store.redisStore.Release(ctx, l.LeaseRef); !full(err) {
		g.agree("release", l.LeaseRef, 0, 0, err, g.store.memory.Release(ctx, l.inMemory()))
	}
}

func (g *lockGuest) releaseAll(ctx context.Context) {
	var redis, memory []driver.LeaseRef
	for range 2 {
		if l, ok := g.lease(); ok && !slices.ContainsFunc(redis, func(h driver.LeaseRef) bool { return h.Key == l.Key }) {
			redis, memory = append(redis, l.LeaseRef), append(memory, l.inMemory())
		}
	}
	if redis == nil {
		return
	}
	for i, err := range g.store.redisStore.ReleaseAll(ctx, redis) {
		if !full(err) {
			g.agree("release all", redis[i], 0, 0, err, g.store.memory.ReleaseAll(ctx, memory[i:i+1])[0])
		}
	}
}

// force frees a key of all holders, or of those up to the lease that was read, and seldom repeats a request.
func (g *lockGuest) force(ctx context.Context) {
	l, ok := g.lease()
	if !ok || g.n(3) > 0 {
		return
	}
	g.sent++
	redis := driver.ForceRequest{Key: l.Key, ID: fmt.Sprint("op", g.sent), By: "operator", Reason: "as drawn"}
	memory := redis
	switch g.n(3) {
	case 0:
		redis.From, redis.To, memory.From, memory.To = l.Fence, l.Fence, l.memory, l.memory
	case 1:
		redis.To, memory.To = l.Fence, l.memory
	}
	if len(g.forced) > 0 && g.n(4) == 0 {
		again := g.forced[g.n(len(g.forced))]
		redis, memory = again[0], again[1]
	}
	g.forced = latest(append(g.forced, [2]driver.ForceRequest{redis, memory}))
	a, err := g.store.redisStore.Force(ctx, redis)
	if full(err) {
		return
	}
	b, fault := g.store.memory.Force(ctx, memory)
	if g.agree("force", redis, 0, 0, err, fault) && (a.Holders != b.Holders || a.ID != b.ID || a.At != b.At) {
		g.store.same("force", redis, a, b)
	}
}

// read compares what the stores know about a key.
func (g *lockGuest) read(ctx context.Context) {
	key := g.key()
	as, err := g.store.redisStore.Holders(ctx, key)
	bs, fault := g.store.memory.Holders(ctx, key)
	if !g.agree("holders", key, 0, 0, err, fault) {
		return
	}
	for _, all := range [][]driver.Holder{as, bs} {
		for i := range all {
			all[i].Fence, all[i].Left = 0, all[i].Left.Truncate(time.Millisecond)
		}
	}
	g.store.same("holders", key, as, bs)
	a, err := g.store.redisStore.Inspect(ctx, key)
	b, fault := g.store.memory.Inspect(ctx, key)
	if g.agree("inspect", key, a.Left, b.Left, err, fault) {
		a.Fence, a.Left, b.Fence, b.Left = 0, 0, 0, 0
		g.store.same("inspect", key, a, b)
	}
}

// agree wants two answers to mean the same, and reports whether both are no error.
func (g *lockGuest) agree(op string, request any, left, other time.Duration, err, fault error) bool {
	a, b := meaning(left, err), meaning(other, fault)
	if again := strings.HasPrefix(op, "release") && err == nil && errors.Is(fault, driver.ErrForgotten); a != b && !again { // Redis remembers that it freed the lease
		g.store.t.Errorf("%s %+v at %v: %s in Redis, %s in memory (%v, %v)", op, request, g.now().UTC(), a, b, err, fault)
	}
	return err == nil && fault == nil
}

// full reports whether Redis did nothing because it has no memory left. The store in memory is then not asked.
func full(err error) bool {
	return err != nil && strings.Contains(err.Error(), "OOM command not allowed")
}

// meaning is an answer about a plain lock in a word, and how long a lease is then left.
func meaning(left time.Duration, err error) string {
	held, isHeld := errors.AsType[*driver.HeldError](err)
	switch {
	case err == nil:
		return fmt.Sprint("yes, ", left.Truncate(time.Millisecond))
	case isHeld:
		return fmt.Sprint("held, ", held.Key, held.Left.Truncate(time.Millisecond))
	}
	for _, kind := range []error{driver.ErrLost, driver.ErrFence, driver.ErrFree} { // why a lease is lost is not known for ever
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
