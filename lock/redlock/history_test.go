package redlock_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/history"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// A cast is three drivers that share servers and use times of the servers that differ by ten
// seconds each: their fences grow only because the servers make them grow.
type cast struct {
	servers []*redisserver.Server
	drivers []driver.Driver
	gates   []gates // in front of the servers, for each driver
}

func castOn(t *testing.T, servers []*redisserver.Server, hooks ...redis.Hook) *cast {
	t.Helper()
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	c, namespace := &cast{servers: servers}, fresh()
	for i := range 3 {
		cs := clients(t, addrs...)
		c.gates = append(c.gates, gated(cs))
		for _, each := range cs {
			for _, h := range hooks {
				each.AddHook(h)
			}
		}
		d := newDriver(t, cs, redlock.Options{Namespace: namespace, NodeTimeout: 100 * time.Millisecond})
		d.TellTime(time.Now().Add(time.Duration(i)*10*time.Second), 0)
		c.drivers = append(c.drivers, d)
	}
	return c
}

// disturb stops servers, or loses their replies to one driver, until ctx ends: at times so many
// that no majority is left.
func (c *cast) disturb(ctx context.Context) {
	for ctx.Err() == nil {
		which := rand.Perm(len(c.servers))[:len(c.servers)/2+rand.N(2)]
		of := c.gates[rand.N(len(c.gates))]
		stops := rand.N(2) == 0
		for _, i := range which {
			if stops {
				signal(syscall.SIGSTOP, c.servers[i])
			} else {
				of[i].loses.Store(true)
			}
		}
		<-time.After(rand.N(200 * time.Millisecond))
		signal(syscall.SIGCONT, c.servers...)
		for _, g := range of {
			g.loses.Store(false)
		}
		<-time.After(rand.N(150 * time.Millisecond))
	}
}

// counting counts the grants of a driver.
type counting struct {
	driver.Driver
	granted *atomic.Int64
}

func (c counting) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := c.Driver.Acquire(ctx, a)
	if err == nil {
		c.granted.Add(1)
	}
	return g, err
}

// telling is how many grants a history needs.
const telling = 10

// saw returns the operations of the given number of clients on the drivers during length, or until
// there are enough grants.
func (c *cast) saw(t *testing.T, disturbed bool, clients int, length time.Duration) []history.Op {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var granted atomic.Int64
	go func() {
		defer stop()
		for begun := time.Now(); time.Since(begun) < length || granted.Load() < telling && time.Since(begun) < 10*length; {
			<-time.After(20 * time.Millisecond)
		}
	}()
	var wg sync.WaitGroup
	defer wg.Wait()
	if disturbed {
		wg.Go(func() { c.disturb(ctx) })
	}
	of := func(client int) driver.Driver { return counting{c.drivers[client%len(c.drivers)], &granted} }
	return history.Crowd{Driver: of, Clients: clients, Pause: 20 * time.Millisecond}.Run(ctx)
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
	all, _ := servers(t, 5)
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	ops := castOn(t, all).saw(t, true, 6, 4*time.Second)
	count := map[history.Kind]map[history.Outcome]int{history.Acquire: {}, history.Renew: {}, history.Release: {}}
	for _, o := range ops {
		count[o.Kind][o.Outcome]++
	}
	t.Logf("%d requests; by kind and outcome: %v", len(ops), count)
	if acquired := count[history.Acquire]; acquired[history.OK] < telling || acquired[history.Unknown] == 0 {
		t.Errorf("that says nothing: %v", count)
	}
	if err := history.Check(ops, limits(t)); err != nil {
		t.Error(err)
	}
	if err := history.Exclusive(ops); err != nil {
		t.Error(err)
	}
}

// An edit changes the scripts on their way to the servers, by pairs of a text and its replacement.
type edit []string

// A noScriptError is the answer of a server that does not know a script: the driver then sends the
// script itself.
type noScriptError struct{}

func (noScriptError) Error() string { return "NOSCRIPT" }
func (noScriptError) RedisError()   {}

func (edit) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e edit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "evalsha":
			cmd.SetErr(noScriptError{})
			return noScriptError{}
		case "eval":
			args := cmd.Args()
			args[1] = strings.NewReplacer(e...).Replace(args[1].(string))
		}
		return next(ctx, cmd)
	}
}

func (edit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// edits are the known faults in this store's own scripts.
var edits = map[string]edit{
	"a script of release that does not look at its owner": {
		"if alive then\n  if not mine then", "if false then\n  if not mine then"},
	"scripts that give a lease half its time": {
		"'NX', 'PX', ARGV[2])", "'NX', 'PX', ARGV[2] - 500)", "'PEXPIRE', KEYS[1], life)", "'PEXPIRE', KEYS[1], life - 500)"},
	"a script of acquire that takes any fence for a higher one": {
		"if last - asked >= 0 then", "if false then", "string.sub(before, 1, 16) >= string.sub(ARGV[1], 1, 16)", "false"},
}

// The same checker, with the same limits, finds each planted fault, both the faults of all stores
// and the faults in the scripts of this one. On a loaded machine, two seconds may be too short to
// show a fault; twelve times that is enough.
func TestHistoryFindsPlanted(t *testing.T) {
	t.Parallel()
	calm, _ := servers(t, 3)
	stopped, _ := servers(t, 3)
	t.Cleanup(func() { signal(syscall.SIGCONT, stopped...) })
	var all sync.WaitGroup // not subtests: two at a time would take too long
	defer all.Wait()
	for _, p := range history.Planted {
		on := calm
		if p.Disturbed {
			on = stopped
		}
		c := castOn(t, on)
		c.drivers, c.gates = []driver.Driver{p.Into(c.drivers[0])}, c.gates[:1]
		all.Go(func() { c.found(t, p.Name, p.Disturbed) })
	}
	for name, e := range edits {
		c := castOn(t, calm, e)
		all.Go(func() { c.found(t, name, false) })
	}
}

// found fails the test unless the checker finds the fault.
func (c *cast) found(t *testing.T, name string, disturbed bool) {
	clients := 6
	if disturbed {
		clients = 2 // so that the keys are mostly free
	}
	l := limits(t)
	l.Picture = "" // a picture of the fault is not needed
	var err error
	for range 12 {
		if err = history.Check(c.saw(t, disturbed, clients, 2*time.Second), l); history.Refuted(err) {
			t.Logf("%s: %v", name, err)
			return
		}
	}
	t.Errorf("%s was not found: %v", name, err)
}
