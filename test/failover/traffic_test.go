package failover_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/test/history"
)

// A crowd is clients at work, whose grants and doubts are counted.
type crowd struct {
	grants atomic.Int64
	doubts atomic.Int64
	end    context.CancelFunc
	ops    chan []history.Op
}

// work lets clients work on so many keys, key-0 and so on, until saw is asked. Some
// want their grants on a replica.
func work(t *testing.T, d *redislock.Driver, keys int, replicas func(client int) int) *crowd {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	c := &crowd{end: end, ops: make(chan []history.Op, 1)}
	go func() {
		c.ops <- history.Crowd{
			Clients: 6, Keys: keys, Timeout: 600 * time.Millisecond, Seed: uint64(time.Now().UnixNano()),
			Driver: func(client int) driver.Driver { return &worker{d, c, func() int { return replicas(client) }} },
		}.Run(ctx)
	}()
	return c
}

// saw stops the clients and returns their history.
func (c *crowd) saw() []history.Op {
	c.end()
	return <-c.ops
}

// goesOn waits until so many more requests were granted.
func (c *crowd) goesOn(t *testing.T, n int64) {
	t.Helper()
	want := c.grants.Load() + n
	becomes(t, "the traffic goes on", func() bool { return c.grants.Load() >= want })
}

// isInDoubt waits for the next unknown outcome of a client.
func (c *crowd) isInDoubt(t *testing.T) {
	t.Helper()
	before := c.doubts.Load()
	becomes(t, "somebody is in doubt", func() bool { return c.doubts.Load() > before })
}

type worker struct {
	*redislock.Driver
	crowd    *crowd
	replicas func() int
}

func (w *worker) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Replicas = w.replicas()
	g, err := w.Driver.Acquire(ctx, a)
	_, held := errors.AsType[*lock.HeldError](err)
	switch {
	case err == nil:
		w.crowd.grants.Add(1)
	case !held:
		w.crowd.doubts.Add(1)
	}
	return g, err
}

func (w *worker) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	h.Replicas = w.replicas()
	return w.Driver.Renew(ctx, h)
}

func (w *worker) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	hs = slices.Clone(hs)
	for i := range hs {
		hs[i].Replicas = w.replicas()
	}
	return w.Driver.RenewAll(ctx, hs)
}

// A master is killed under traffic whose grants its replica has. No client is granted a key that another
// holds, the only errors are unknown outcomes, and the work continues.
func TestKilledUnderTraffic(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *topology{"by Sentinel": bySentinel, "in a Cluster": inCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := start(t)
			d := newDriver(t, at.before)
			at.copied(t, d)
			var replicas atomic.Int64
			replicas.Store(1)
			c := work(t, d, 9, func(int) int { return int(replicas.Load()) })
			c.goesOn(t, 20)
			at.promote()
			// There is no answer before the replica is the master, and no replica then.
			c.isInDoubt(t)
			becomes(t, "the replica is the master", func() bool { return role(t, at.replica) == "master" })
			replicas.Store(0)
			c.goesOn(t, 20)
			must(t, at.granted(t, lock.New(d, "b")).Release(t.Context()))
			ops := c.saw()
			if err := history.Exclusive(ops); err != nil {
				t.Error(err)
			}
			tell(t, ops)
		})
	}
}

func role(t *testing.T, s *redisserver.Server) string {
	t.Helper()
	name, _ := client(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}).Do(t.Context(), "role").Slice()
	if len(name) == 0 {
		return ""
	}
	return fmt.Sprint(name[0])
}

// tell logs the outcomes.
func tell(t *testing.T, ops []history.Op) {
	t.Helper()
	count := map[history.Outcome]int{}
	for _, o := range ops {
		count[o.Outcome]++
	}
	t.Logf("%d granted or done, %d held, %d lost, %d in doubt", count[history.OK], count[history.Held], count[history.Lost], count[history.Unknown])
}

// The slots of all locks move from master to master under traffic. Each slot is between two masters for
// a while: TRYAGAIN, ASK and MOVED are unknown outcomes at most, and one correct store could have sent
// all replies to the clients. A grant that its replica does not confirm in time is undone.
func TestSlotsMoveUnderTraffic(t *testing.T) {
	t.Parallel()
	nodes := redisserver.Cluster(t, 3, 1)
	d := newDriver(t, redis.UniversalOptions{IsClusterMode: true, Addrs: []string{nodes[0].Addr()}})
	const keys = 4 // few, so that each is asked for all the time
	replicas := func(client int) int { return client % 2 }
	c := work(t, d, keys, replicas)
	c.goesOn(t, 20)
	for round := range 2 {
		for k := range keys {
			move(t, nodes[:3], fmt.Sprintf("key-%d", k))
		}
		c.goesOn(t, 20)
		t.Logf("round %d", round)
	}
	ops := c.saw()
	limits := history.Limits{Late: time.Second, Over: 200 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html"),
		Undoes: func(o *history.Op) bool { return replicas(o.Client) > 0 }}
	if err := history.Check(ops, limits); err != nil {
		t.Error(err)
	}
	tell(t, ops)
}

// move moves the slot of a lock from its master to the next, and makes sure that
// the traffic meets each step of that.
func move(t *testing.T, masters []*redisserver.Server, name string) {
	t.Helper()
	old := newDriver(t, redis.UniversalOptions{IsClusterMode: true, Addrs: []string{masters[0].Addr()}})
	lostTo(t, old, name) // it knows where the slot is now
	key := "cronce:v1:l:{" + name + "}"
	slot := int(direct(t, masters[0]).ClusterKeySlot(t.Context(), key).Val())
	now := masterOf(t, redis.UniversalOptions{IsClusterMode: true, Addrs: []string{masters[0].Addr()}}, key)
	from := slices.IndexFunc(masters, func(s *redisserver.Server) bool { return s.Addr() == now })
	source, target := masters[from], masters[(from+1)%len(masters)]

	target.Tell(fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, source.NodeID()))
	source.Tell(fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, target.NodeID()))
	// No request has all of its keys: they are on neither, or some are missing.
	meets(t, "TRYAGAIN", source, target)
	migrate(t, slot, source, target)
	meets(t, "ASK", source)
	meets(t, "TRYAGAIN", target)
	target.Tell(fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, target.NodeID()))
	for _, s := range masters {
		s.Tell(fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, target.NodeID()))
	}
	before := refusals(t, "MOVED", source)
	lostTo(t, old, name)
	if refusals(t, "MOVED", source) == before {
		t.Errorf("a client with the slot of %s at %s got no answer that it has moved", name, source.Addr())
	}
}

// lostTo asks for a lease that never was, which is answered for certain wherever the
// lock is.
func lostTo(t *testing.T, d *redislock.Driver, name string) {
	t.Helper()
	_, err := d.Renew(t.Context(), driver.LeaseRef{Key: name, Owner: "nobody/1", Fence: 1, TTL: time.Second})
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("the renewal of a lease on %s that never was: %v", name, err)
	}
}

// migrate moves the keys of a slot to another master, one after the other.
func migrate(t *testing.T, slot int, source, target *redisserver.Server) {
	t.Helper()
	c := direct(t, source)
	for {
		keys := c.ClusterGetKeysInSlot(t.Context(), slot, 10).Val()
		if len(keys) == 0 {
			return
		}
		for _, key := range keys {
			// While the source has a key, its value counts, not the value at the target.
			must(t, c.Do(t.Context(), "migrate", "127.0.0.1", target.Port(), key, 0, 5000, "replace").Err())
		}
	}
}

// meets waits until one of the servers has refused a request so once more.
func meets(t *testing.T, word string, servers ...*redisserver.Server) {
	t.Helper()
	before := refusals(t, word, servers...)
	becomes(t, "a request meets "+word, func() bool { return refusals(t, word, servers...) > before })
}

// refusals is how often servers have refused a request with an error of this name.
func refusals(t *testing.T, word string, servers ...*redisserver.Server) (sum int) {
	t.Helper()
	for _, s := range servers {
		m := regexp.MustCompile(`errorstat_` + word + `:count=(\d+)`).FindStringSubmatch(s.Tell("INFO errorstats"))
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		must(t, err)
		sum += n
	}
	return sum
}

func direct(t *testing.T, s *redisserver.Server) *redis.Client {
	t.Helper()
	return client(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}).(*redis.Client)
}
