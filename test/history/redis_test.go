package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/test/history"
)

// historyFor is the environment variable with how long the disturbed history is
// recorded for, 10s if it is not set.
const historyFor = "CRONCE_HISTORY"

// historyClient is set in the process of a client that is stopped and continued:
// the server's address, and how long to go on.
const historyClient = "CRONCE_HISTORY_CLIENT"

// A disturbance is one fault. It lasts until it returns.
type disturbance func(*disturber)

// A disturber makes faults, one after the other.
type disturber struct {
	t      *testing.T
	server *redisserver.Server
	proxy  *rig.Proxy
	client redis.UniversalClient // past the proxy
	other  int                   // the process of a client
	rnd    *rand.Rand
	faults []disturbance
}

// longest is how long a fault holds requests up that are carried out later.
const longest = 300 * time.Millisecond

func (d *disturber) lasts() {
	<-time.After(10*time.Millisecond + time.Duration(d.rnd.Int64N(int64(longest))))
}

func (d *disturber) faulty(f rig.Faults) {
	d.proxy.Set(f)
	d.lasts()
	d.proxy.Set(rig.Faults{})
}

var disturbances = []disturbance{
	func(d *disturber) { d.faulty(rig.Faults{Swallow: 10}) },
	func(d *disturber) { d.faulty(rig.Faults{Cut: 10}) },
	func(d *disturber) { d.faulty(rig.Faults{Delay: 5, DelayFor: longest}) },
	func(d *disturber) { d.faulty(rig.Faults{Hole: true}) },
	func(d *disturber) { d.faulty(rig.Faults{Refuse: true}) },
	func(d *disturber) { _ = d.client.ScriptFlush(context.Background()).Err() },
	func(d *disturber) { _ = d.client.Do(context.Background(), "client", "kill", "type", "normal").Err() },
	func(d *disturber) { d.stop(d.server.Pid(), longest) },
	func(d *disturber) { d.stop(d.other, 5*longest) },
}

// stop stops a process for a while.
func (d *disturber) stop(pid int, most time.Duration) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		d.t.Errorf("stop %d: %v", pid, err)
	}
	<-time.After(time.Duration(d.rnd.Int64N(int64(most))))
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// run makes faults until ctx ends.
func (d *disturber) run(ctx context.Context) {
	for ctx.Err() == nil {
		d.faults[d.rnd.IntN(len(d.faults))](d)
		d.lasts()
	}
}

// record lets clients work through a proxy while faults are made.
func record(t *testing.T, plant func(driver.Driver) driver.Driver, clients int, length, pace time.Duration, faults ...disturbance) []history.Op {
	t.Helper()
	server := redisserver.Start(t)
	proxy := rig.NewProxy(t, server.Addr())
	drv := plant(newDriver(t, proxy.Addr()))
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	d := &disturber{t: t, server: server, proxy: proxy, client: client(t, server.Addr()), rnd: rand.New(rand.NewPCG(seed, 1)), faults: faults}
	ctx, stop := context.WithTimeout(t.Context(), pace*length)
	defer stop()
	others := func() []history.Op { return nil }
	if len(faults) == len(disturbances) {
		d.other, others = otherProcess(t, proxy.Addr(), length)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if len(faults) > 0 {
			d.run(ctx)
		}
	}()
	ops := history.Crowd{Driver: func(int) driver.Driver { return drv }, Clients: clients, Pause: 15 * time.Millisecond, Pace: pace, Seed: seed}.Run(ctx)
	<-over
	return append(ops, others()...)
}

func client(t *testing.T, addr string) redis.UniversalClient {
	t.Helper()
	c := newClient(addr)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newClient(addr string) redis.UniversalClient {
	o := &redis.UniversalOptions{Addrs: []string{addr}, DialTimeout: 200 * time.Millisecond}
	redislock.Harden(o)
	return redis.NewUniversalClient(o)
}

func newDriver(t *testing.T, addr string) *redislock.Driver {
	t.Helper()
	d, err := redislock.New(client(t, addr), redislock.Options{})
	must(t, err)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// otherProcess starts clients in another process. The returned function waits for the end of the
// process and returns their history.
func otherProcess(t *testing.T, addr string, length time.Duration) (pid int, ops func() []history.Op) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	serverprocess.EndWithParent(cmd, syscall.SIGKILL)
	cmd.Env = append(os.Environ(), historyClient+"="+addr+" "+length.String())
	file := filepath.Join(t.TempDir(), "ops")
	cmd.Env = append(cmd.Env, historyClient+"_FILE="+file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd.Process.Pid, func() []history.Op {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the other process: %v\n%s", err, &out)
		}
		f, err := os.Open(file)
		must(t, err)
		defer f.Close()
		ops, err := history.Read(f)
		must(t, err)
		return ops
	}
}

// TestMain is two programs: the tests, and the client that one of them starts.
func TestMain(m *testing.M) {
	if addr, length, child := strings.Cut(os.Getenv(historyClient), " "); child {
		if err := beOther(addr, length, os.Getenv(historyClient+"_FILE")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beOther is the other process.
func beOther(addr, text, file string) error {
	length, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	c := newClient(addr)
	defer c.Close()
	d, err := redislock.New(c, redislock.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	ctx, stop := context.WithTimeout(context.Background(), length)
	defer stop()
	ops := history.Crowd{Driver: func(int) driver.Driver { return d }, First: 100, Clients: 1}.Run(ctx)
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(history.Write(f, ops), f.Close())
}

// limits has tolerances for the delays by the disturbances, and by a busy machine.
func limits(t *testing.T) history.Limits {
	return history.Limits{Late: 2 * time.Second, Over: 100 * time.Millisecond, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
}

// Clients, one of which is stopped now and then, use a server that is stopped, forgets its scripts and
// kills its connections, over a network that loses, delays and cuts. A correct store could have sent
// all replies.
func TestRedis(t *testing.T) {
	length := 10 * time.Second
	if text := os.Getenv(historyFor); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		must(t, err)
	}
	ops := record(t, func(d driver.Driver) driver.Driver { return d }, 8, length, 1, disturbances...)
	unknown := 0
	for _, o := range ops {
		if o.Outcome == history.Unknown {
			unknown++
		}
	}
	t.Logf("%d requests, %d in doubt", len(ops), unknown)
	if unknown == 0 {
		t.Error("nothing was disturbed")
	}
	began := time.Now()
	if err := history.Check(ops, limits(t)); err != nil {
		t.Error(err)
	}
	t.Logf("judged in %v", time.Since(began))
}

// The same check finds each planted fault; otherwise its success would prove nothing.
func TestRedisPlantedAreFound(t *testing.T) {
	for _, p := range history.Planted {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			clients, faults := 6, []disturbance(nil)
			if p.Disturbed { // it shows while replies are lost on the way to a few clients
				clients, faults = 2, []disturbance{func(d *disturber) { d.faulty(rig.Faults{Swallow: 4}) }}
			}
			found(t, history.Find(clients, limits(t), func(pace time.Duration) []history.Op {
				return record(t, p.Into, clients, 2*time.Second, pace, faults...)
			}))
		})
	}
}
