package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler/verify"
)

// TestMain is two programs: the test, and the nodes that it starts.
func TestMain(m *testing.M) {
	text := os.Getenv(nodeEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := runNode(ctx, text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A scale is the size of the scenario.
type scale struct {
	jobs                  int
	lasts, faults, checks time.Duration
	// settling is the age of a tick when its verdict is read: in the long form more than a fault, a lease and the grace of verify.
	settling time.Duration
}

// scaleOf returns some seconds, so that a change of the code cannot break the long form unseen; with CRONCE_SOAK two hours, or the
// duration that it has.
func scaleOf(t *testing.T) scale {
	text := os.Getenv("CRONCE_SOAK")
	if text == "" {
		return scale{jobs: 50, lasts: 12 * time.Second, faults: 2 * time.Second, checks: 6 * time.Second, settling: 5 * time.Second}
	}
	long := scale{jobs: 1000, lasts: 2 * time.Hour, faults: time.Minute, checks: 4 * time.Minute, settling: 20 * time.Second}
	if text != "1" {
		var err error
		if long.lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("CRONCE_SOAK: %v", err)
		}
	}
	return long
}

const patience = 2 * time.Minute

// Three nodes run a thousand jobs each second. In turns, one of two nodes is killed and replaced, or stopped for longer than a lease,
// or shut down and replaced, or the store stands still or crashes; the third node lives all the time. Each tick has its verdict, and
// the third node and the store do not grow.
func TestSoak(t *testing.T) {
	s := scaleOf(t)
	c := newCluster(t, s)
	begun := time.Now()
	nextFault, nextCheck := begun.Add(s.faults), begun.Add(s.checks)
	for round := 0; time.Since(begun) < s.lasts || round < 5; {
		time.Sleep(min(time.Until(nextFault), time.Until(nextCheck)))
		if now := time.Now(); now.After(nextFault) {
			nextFault = nextFault.Add(s.faults)
			c.measure()
			c.disturb(round)
			round++
		} else {
			nextCheck = nextCheck.Add(s.checks)
			c.check()
		}
	}
	time.Sleep(s.settling) // the ticks of the last faults are judged, too
	c.check()
	c.grows()
	t.Logf("%v, %d faults: %v", time.Since(begun).Round(time.Second), c.faults, c.states)
}

// A cluster is three nodes and their Redis.
type cluster struct {
	t     *testing.T
	scale scale

	server *redisserver.Server
	client *redis.Client
	store  *redislock.Driver
	nodes  []*serverprocess.Server // the first one lives all the time

	judged time.Time // ticks before it are judged
	states map[verify.TickState]int
	faults int
	sizes  []measured
}

// measured is what the first node and the store take at one time.
type measured struct {
	size
	resident, redis uint64 // bytes
}

func newCluster(t *testing.T, s scale) *cluster {
	c := &cluster{t: t, scale: s, states: map[verify.TickState]int{}, server: redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")}
	c.client = redis.NewClient(&redis.Options{Addr: c.server.Addr(), ReadTimeout: patience})
	t.Cleanup(func() { _ = c.client.Close() })
	var err error
	if c.store, err = redislock.New(c.client, redislock.Options{Namespace: namespace}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.nodes = append(c.nodes, c.start())
	}
	c.judged = c.begin()
	return c
}

// begin waits until each job has a mark, and returns an instant after all of them.
func (c *cluster) begin() time.Time {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var latest int64
		open := true
		for i := range c.scale.jobs {
			state := c.store.ReadSeries(c.t.Context(), []string{jobName(i)})[0]
			open = open && state.Err == nil && state.Mark > 0
			latest = max(latest, state.Mark)
		}
		if open {
			return time.UnixMilli(latest).Truncate(time.Second).Add(2 * time.Second)
		}
		if time.Since(begun) > patience {
			c.t.Fatal("the nodes do not begin")
		}
	}
}

// start starts a node, and returns when it listens.
func (c *cluster) start() *serverprocess.Server {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	return serverprocess.Start(c.t, c.t.TempDir(), serverprocess.Program{
		Name: "node", Patience: patience,
		Command: func(port int) *exec.Cmd {
			text, err := json.Marshal(settings{Redis: c.server.Addr(), Listen: fmt.Sprint("127.0.0.1:", port), Jobs: c.scale.jobs})
			if err != nil {
				c.t.Fatal(err)
			}
			command := exec.Command(self)
			command.Env = append(os.Environ(), nodeEnv+"="+string(text))
			return command
		},
		Answers: func(s *serverprocess.Server) bool { _, err := sizeOf(s); return err == nil },
	})
}

func sizeOf(s *serverprocess.Server) (got size, err error) {
	reply, err := http.Get("http://" + s.Addr())
	if err != nil {
		return got, err
	}
	defer reply.Body.Close()
	return got, json.NewDecoder(reply.Body).Decode(&got)
}

// disturb makes one fault. Each of five in a row is another one.
func (c *cluster) disturb(round int) {
	c.faults++
	i := 1 + rand.IntN(2)
	switch round % 5 {
	case 0:
		c.nodes[i].Kill()
		c.nodes[i] = c.start()
	case 1:
		c.nodes[i].Freeze()
		time.Sleep(lease * 3 / 2)
		c.nodes[i].Thaw()
	case 2:
		c.server.Freeze()
		time.Sleep(time.Second)
		c.server.Thaw()
	case 3:
		c.nodes[i].Stop()
		c.nodes[i] = c.start()
	case 4:
		c.server.Kill()
		time.Sleep(time.Second)
		c.server.Restart()
	}
}

// check judges the ticks since the last check. A fault counts if it is still there after the time that nodes may need to recover.
func (c *cluster) check() {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Second) {
		states, faults := c.judge()
		if len(faults) == 0 {
			for state, n := range states {
				c.states[state] += n
			}
			c.t.Logf("ticks up to %s: %v", c.judged.Format(time.TimeOnly), states)
			return
		}
		if time.Since(begun) > patience {
			c.t.Fatalf("%d faults since %v, the first are\n%s", len(faults), c.judged, strings.Join(faults[:min(20, len(faults))], "\n"))
		}
	}
}

// judge counts the ticks since the last check by their states, and returns what is wrong with them.
func (c *cluster) judge() (states map[verify.TickState]int, faults []string) {
	c.t.Helper()
	roll, err := c.store.Members(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	alive := map[string]bool{}
	for i := range roll.Members {
		alive[roll.Members[i].Node] = roll.Members[i].Alive(roll.Now)
	}
	until := time.Now().Add(-c.scale.settling).Truncate(time.Second)
	states = map[verify.TickState]int{}
	for i := range c.scale.jobs {
		journal, err := c.store.Journal(c.t.Context(), jobName(i), 0)
		if err != nil {
			c.t.Fatal(err)
		}
		state := c.store.ReadSeries(c.t.Context(), []string{jobName(i)})[0]
		if state.Err != nil {
			c.t.Fatal(state.Err)
		}
		j := verify.NewJudge(journal, verify.Options{Since: c.judged, State: &state, Alive: func(node string) bool { return alive[node] }})
		if r := j.Report(); r.TooEarly || len(r.Violations)+len(r.Faults) > 0 {
			faults = append(faults, fmt.Sprintf("%s: too early %v, %v, %v", jobName(i), r.TooEarly, r.Violations, r.Faults))
		}
		for tick := c.judged; tick.Before(until); tick = tick.Add(time.Second) {
			switch state, _ := j.Tick(tick); state {
			case verify.TickOverdue, verify.TickUndecided, verify.TickFuture, verify.NotATick, verify.TickNotKnown, verify.TickPassedOver:
				faults = append(faults, fmt.Sprintf("%s at %s: %s", jobName(i), tick.Format(time.TimeOnly), state))
			default:
				states[state]++
			}
		}
	}
	if len(faults) == 0 {
		c.judged = until
	}
	return states, faults
}

// measure records the sizes of the first node and of the store.
func (c *cluster) measure() {
	c.t.Helper()
	var m measured
	var err error
	if m.size, err = sizeOf(c.nodes[0]); err != nil {
		c.t.Fatal(err)
	}
	for range 9 { // between two instants few goroutines are about ticks
		time.Sleep(70 * time.Millisecond)
		if again, err := sizeOf(c.nodes[0]); err == nil {
			m.Goroutines, m.Heap = min(m.Goroutines, again.Goroutines), min(m.Heap, again.Heap)
		}
	}
	m.resident = resident(c.nodes[0].Pid())
	m.redis = usedMemory(c.client.Info(c.t.Context(), "memory").Val())
	c.t.Logf("%d goroutines, %d bytes of heap, %d resident, %d of Redis", m.Goroutines, m.Heap, m.resident, m.redis)
	c.sizes = append(c.sizes, m)
}

// resident returns the memory of a process, on Linux, in bytes.
func resident(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ := strconv.ParseUint(fields[1], 10, 64)
		return pages * uint64(os.Getpagesize())
	}
	return 0
}

func usedMemory(info string) uint64 {
	_, rest, _ := strings.Cut(info, "used_memory:")
	text, _, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// grows compares the sizes in the last quarter of the time with those in the second one: in the first, journals fill up.
func (c *cluster) grows() {
	quarter := len(c.sizes) / 4
	for name, of := range map[string]func(measured) uint64{
		"goroutines":               func(m measured) uint64 { return uint64(m.Goroutines) },
		"heap of the node":         func(m measured) uint64 { return m.Heap },
		"resident set of the node": func(m measured) uint64 { return m.resident },
		"memory of Redis":          func(m measured) uint64 { return m.redis },
	} {
		before, after := median(c.sizes[quarter:2*quarter], of), median(c.sizes[3*quarter:], of)
		c.t.Logf("%s: %d, then %d", name, before, after)
		if c.scale.lasts >= time.Hour && after > before+before/10 {
			c.t.Errorf("%s grew from %d to %d", name, before, after)
		}
	}
}

func median(all []measured, of func(measured) uint64) uint64 {
	var values []uint64
	for _, m := range all {
		values = append(values, of(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
