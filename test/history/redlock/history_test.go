package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
	"github.com/cronce/cronce/test/history"
)

// A cast is three drivers that share servers and read times of the servers that differ by ten
// seconds each: their fences grow only because the servers make them grow.
type cast struct {
	servers []*redisserver.Server
	drivers []driver.Driver
	loses   [][]atomic.Bool // whether it loses the replies of each server, for each driver
	pace    time.Duration   // multiplies each duration
}

var namespaces atomic.Int64

// servers starts n real servers.
func servers(t *testing.T, n int) []*redisserver.Server {
	t.Helper()
	all := make([]*redisserver.Server, n)
	for i := range all {
		all[i] = redisserver.Start(t)
	}
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	return all
}

// signal stops or continues servers.
func signal(s syscall.Signal, servers ...*redisserver.Server) {
	for _, server := range servers {
		_ = syscall.Kill(server.Pid(), s)
	}
}

// castOn makes the cast for a history that is recorded at a pace.
func castOn(t *testing.T, pace time.Duration, servers []*redisserver.Server, hooks ...hook) *cast {
	t.Helper()
	c, namespace := &cast{servers: servers, pace: pace}, fmt.Sprint("ns", namespaces.Add(1))
	for i := range int64(3) {
		cs, loses := make([]redis.UniversalClient, len(servers)), make([]atomic.Bool, len(servers))
		for j, s := range servers {
			cs[j] = client(t, s, append([]hook{losing(&loses[j]), ahead(10 * i)}, hooks...)...)
		}
		d, err := redlock.New(cs, redlock.Options{Namespace: namespace, NodeTimeout: pace * 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		c.drivers, c.loses = append(c.drivers, d), append(c.loses, loses)
	}
	return c
}

// disturb stops servers, or loses their replies to one driver, until ctx ends: at times so many
// that no majority is left.
func (c *cast) disturb(ctx context.Context) {
	for ctx.Err() == nil {
		which := rand.Perm(len(c.servers))[:len(c.servers)/2+rand.N(2)]
		loses := c.loses[rand.N(len(c.loses))]
		stops := rand.N(2) == 0
		for _, i := range which {
			if stops {
				signal(syscall.SIGSTOP, c.servers[i])
			} else {
				loses[i].Store(true)
			}
		}
		<-time.After(rand.N(c.pace * 200 * time.Millisecond))
		signal(syscall.SIGCONT, c.servers...)
		for i := range loses {
			loses[i].Store(false)
		}
		<-time.After(rand.N(c.pace * 150 * time.Millisecond))
	}
}

// saw returns the requests of the given number of clients of the drivers during length.
func (c *cast) saw(t *testing.T, disturbed bool, clients int, length time.Duration) []history.Op {
	ctx, stop := context.WithTimeout(t.Context(), c.pace*length)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	if disturbed {
		wg.Go(func() { c.disturb(ctx) })
	}
	of := func(client int) driver.Driver { return c.drivers[client%len(c.drivers)] }
	return history.Crowd{Driver: of, Clients: clients, Pause: 20 * time.Millisecond, Pace: c.pace}.Run(ctx)
}

func limits(t *testing.T) history.Limits {
	return history.Limits{Late: 2 * time.Second, Over: 200 * time.Millisecond, Votes: true,
		Patience: 2 * time.Second, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
}

// Six clients with three drivers compete for three keys, while servers are stopped and continued
// and replies are lost. This affects up to two of five servers, so that grants are stored on any
// three of them, or up to three, so that there is doubt. The answers to the clients are answers
// that one correct store could have given, except for two cases that a majority does not exclude. A
// client in doubt may find that its grant was undone before it repeats the request. And a client
// that releases a lease that has ended may get the answer for an ended lease while other clients
// still compete for the key. Servers that forget, and clocks that step, are not part of this test.
func TestHistory(t *testing.T) {
	t.Parallel()
	all := servers(t, 5)
	const enough = 10
	ops, pace := history.Paced(enough, func(pace time.Duration) []history.Op {
		return castOn(t, pace, all).saw(t, true, 6, 4*time.Second)
	})
	count := map[history.Kind]map[history.Outcome]int{history.Acquire: {}, history.Renew: {}, history.Release: {}}
	for _, o := range ops {
		count[o.Kind][o.Outcome]++
	}
	t.Logf("%d requests at pace %d; by kind and outcome: %v", len(ops), pace, count)
	if acquired := count[history.Acquire]; acquired[history.OK] < enough || acquired[history.Unknown] == 0 {
		t.Errorf("that says nothing: %v", count)
	}
	if err := history.Check(ops, limits(t).At(pace)); err != nil {
		t.Error(err)
	}
	if err := history.Exclusive(ops); err != nil {
		t.Error(err)
	}
}

// edits are the known faults in this store's own scripts.
var edits = map[string]hook{
	"a script of release that does not look at its owner": edit(
		"if alive then\n  if not mine then", "if false then\n  if not mine then"),
	"scripts that give a lease half its time": edit(
		"'NX', 'PX', ARGV[2])", "'NX', 'PX', math.floor(ARGV[2] / 2))", "'PEXPIRE', KEYS[1], life)", "'PEXPIRE', KEYS[1], math.floor(life / 2))"),
	"a script of acquire that takes any fence for a higher one": edit(
		"if last - asked >= 0 then", "if false then", "string.sub(before, 1, 16) >= string.sub(ARGV[1], 1, 16)", "false"),
}

// The same checker, with the same limits, finds each planted fault, both the faults of all stores
// and the faults in the scripts of this one.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	calm := servers(t, 3)
	stopped := servers(t, 3)
	var all sync.WaitGroup // not subtests: two at a time would take too long
	defer all.Wait()
	for _, p := range history.Planted {
		clients, on := 6, calm
		if p.Disturbed {
			clients, on = 2, stopped // so that the keys are mostly free
		}
		all.Go(func() {
			found(t, p.Name, clients, func(pace time.Duration) []history.Op {
				c := castOn(t, pace, on)
				c.drivers, c.loses = []driver.Driver{p.Into(c.drivers[0])}, c.loses[:1]
				return c.saw(t, p.Disturbed, clients, 2*time.Second)
			})
		})
	}
	for name, e := range edits {
		all.Go(func() {
			found(t, name, 6, func(pace time.Duration) []history.Op {
				return castOn(t, pace, calm, e).saw(t, false, 6, 2*time.Second)
			})
		})
	}
}

// found fails the test unless the checker finds the fault.
func found(t *testing.T, name string, enough int, record func(pace time.Duration) []history.Op) {
	l := limits(t)
	l.Picture = "" // a picture of the fault is not needed
	err := history.Find(enough, l, record)
	if !history.Refuted(err) {
		t.Errorf("%s was not found: %v", name, err)
		return
	}
	t.Logf("%s: %v", name, err)
}
