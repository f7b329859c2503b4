package history_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/test/history"
)

// A keeper is a store with all that Lockers ask for.
type keeper interface {
	driver.Driver
	driver.Waiter
	driver.Sharer
}

// A wire is the way to a store: each request takes up to a millisecond in each
// direction, and one in twenty is lost, or its answer is.
type wire struct {
	keeper
	mu  sync.Mutex
	rnd *rand.Rand
}

func newWire(to keeper, seed uint64) *wire {
	return &wire{keeper: to, rnd: rand.New(rand.NewPCG(seed, 7))}
}

// over carries a request and its answer.
func over[T any](w *wire, ask func() (T, error)) (T, error) {
	w.mu.Lock()
	there, back := time.Duration(w.rnd.IntN(1000)+1)*time.Microsecond, time.Duration(w.rnd.IntN(1000)+1)*time.Microsecond
	lost := w.rnd.IntN(40)
	w.mu.Unlock()
	var none T
	<-time.After(there)
	if lost == 0 {
		return none, errLost
	}
	v, err := ask()
	<-time.After(back)
	if lost == 1 {
		return none, errLost
	}
	return v, err
}

func (w *wire) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return over(w, func() (driver.Grant, error) { return w.keeper.Acquire(context.WithoutCancel(ctx), a) })
}

func (w *wire) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return over(w, func() (driver.Grant, error) { return w.keeper.Renew(context.WithoutCancel(ctx), h) })
}

func (w *wire) Release(ctx context.Context, h driver.LeaseRef) error {
	_, err := over(w, func() (none struct{}, err error) { return none, w.keeper.Release(context.WithoutCancel(ctx), h) })
	return err
}

func (w *wire) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	several, can := w.keeper.(driver.MultiAcquirer)
	if !can {
		return nil, lock.ErrUnsupported
	}
	return over(w, func() ([]driver.Grant, error) { return several.AcquireAll(context.WithoutCancel(ctx), as) })
}

func (w *wire) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for i, h := range hs {
		errs[i] = w.Release(ctx, h)
	}
	return errs
}

// A cluster has its keys on two masters with different clocks, each of which keeps no data about a free
// key. In a failover a master is replaced by one without data and with another clock.
type cluster struct {
	mu      sync.Mutex
	masters [2]*master
}

type master struct {
	ahead time.Duration // of its clock
	down  bool
	keys  map[string]*shelf
}

// A shelf is the data that a master keeps of one key while the key is in use.
type shelf struct {
	*memlock.Store
	users int
}

func newCluster(ahead, behind time.Duration) *cluster {
	return &cluster{masters: [2]*master{{ahead: ahead, keys: map[string]*shelf{}}, {ahead: behind, keys: map[string]*shelf{}}}}
}

// on sends a request to the master of a key. If the master is replaced meanwhile there is no reply, so
// a grant to an owner that waits is never known.
func on[T any](c *cluster, key string, ask func(keeper) (T, error)) (T, error) {
	h := fnv.New32a()
	h.Write([]byte(key))
	c.mu.Lock()
	m := c.masters[h.Sum32()%2]
	var none T
	if m.down {
		c.mu.Unlock()
		return none, errLost
	}
	s := m.keys[key]
	if s == nil {
		ahead := m.ahead
		s = &shelf{Store: memlock.New(memlock.Options{Now: func() time.Time { return time.Now().Add(ahead) }})}
		m.keys[key] = s
	}
	s.users++
	c.mu.Unlock()
	v, err := ask(s.Store)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.users--; s.users == 0 {
		if at, _ := s.Inspect(context.Background(), key); at == (driver.KeyState{}) && m.keys[key] == s {
			delete(m.keys, key)
		}
	}
	if m.down {
		return none, errLost
	}
	return v, err
}

func (c *cluster) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return on(c, a.Key, func(k keeper) (driver.Grant, error) { return k.Acquire(ctx, a) })
}

func (c *cluster) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return on(c, h.Key, func(k keeper) (driver.Grant, error) { return k.Renew(ctx, h) })
}

func (c *cluster) Release(ctx context.Context, h driver.LeaseRef) error {
	_, err := on(c, h.Key, func(k keeper) (none struct{}, err error) { return none, k.Release(ctx, h) })
	return err
}

func (c *cluster) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	return on(c, key, func(k keeper) ([]driver.Holder, error) { return k.Holders(ctx, key) })
}

// Wait asks again after doubt, as a Waiter does, until its caller gives up.
func (c *cluster) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	for {
		g, err := on(c, a.Key, func(k keeper) (driver.Grant, error) { return k.Wait(ctx, a) })
		if !errors.Is(err, errLost) {
			return g, err
		}
		select {
		case <-ctx.Done():
			return driver.Grant{}, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// failover takes a master away for a while. Its successor's clock is ahead as said.
func (c *cluster) failover(i int, ahead, out time.Duration) {
	c.mu.Lock()
	c.masters[i].down = true
	c.mu.Unlock()
	<-time.After(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.masters[i] = &master{ahead: ahead, keys: map[string]*shelf{}}
}

const (
	lockersTime = 30 * time.Second // of a bubble
	skew        = 50 * time.Millisecond
	onTheWay    = 5 * time.Second // requests with an unknown outcome are undone by then
)

// lockers returns the holds of processes with one name. Each process is given its way to the store.
func lockers(t *testing.T, seed uint64, way func(process int) driver.Driver) []history.Hold {
	ctx, stop := context.WithTimeout(t.Context(), lockersTime)
	defer stop()
	return history.Lockers{Locker: func(p int) *lock.Locker { return lock.New(way(p), "pod") }, Seed: seed}.Run(ctx)
}

// Lockers of three processes use keys in every way, over a network that loses replies, on one store
// and on two masters whose clocks differ. Their holds are possible with a correct lock.
func TestLockers(t *testing.T) {
	for name, store := range map[string]func() keeper{
		"one store":   func() keeper { return new(memlock.Store) },
		"two masters": func() keeper { return newCluster(0, -skew) },
	} {
		var all []history.Hold
		for seed := range uint64(3) {
			t.Run(name, func(t *testing.T) {
				var holds []history.Hold
				synctest.Test(t, func(t *testing.T) {
					to := store()
					holds = lockers(t, seed, func(p int) driver.Driver { return newWire(to, seed<<8+uint64(p)) })
				})
				all = append(all, holds...)
				if err := history.CheckHolds(holds, driver.MinTTL, onTheWay); err != nil {
					t.Error(err)
				}
			})
		}
		asked(t, all)
	}
}

// asked fails the test unless keys of all kinds were granted and refused.
func asked(t *testing.T, holds []history.Hold) {
	t.Helper()
	count := map[string]int{}
	for _, h := range holds {
		kind, _, _ := strings.Cut(h.Key, "-")
		outcome := "refused"
		if h.Outcome == history.OK {
			outcome = "granted"
		}
		count[fmt.Sprintf("%s %v %s", kind, min(h.Limit, 5), outcome)]++
	}
	for _, want := range []string{"key 1 granted", "key 1 refused", "key 2 granted", "key 5 granted", "permits 4 granted",
		"mixed 1 granted", "mixed 1 refused", "mixed 4 granted", "mixed 5 granted", "mixed 5 refused"} {
		if count[want] == 0 {
			t.Errorf("no attempt is %s", want)
		}
	}
	t.Log(len(holds), "attempts:", count)
}

// A master that is replaced by one which knows nothing, and has a clock that is behind,
// grants higher fences still: it was away for longer than that.
func TestFencesOverFailovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newCluster(0, -skew)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 12 {
				<-time.After(time.Second)
				to.failover(i%2, -skew*time.Duration(i%3), 3*skew)
			}
		})
		holds := lockers(t, 2, func(p int) driver.Driver { return newWire(to, uint64(p)) })
		wg.Wait()
		if err := history.CheckFences(holds); err != nil {
			t.Error(err)
		}
	})
}
