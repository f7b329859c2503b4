package shards_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A scale is the size of a scenario.
type scale struct {
	nodes, shards, ticks int
	every, faults        time.Duration
}

func scaleOf() scale {
	if os.Getenv("CRONCE_SOAK") != "" {
		return scale{nodes: 10, shards: 100, ticks: 120, every: 5 * time.Second, faults: 20 * time.Second}
	}
	return scale{nodes: 4, shards: 24, ticks: 6, every: 4 * time.Second, faults: 6 * time.Second}
}

// While nodes are killed and others are stopped for longer than a lease, each shard of each tick is done, by one
// node at a time, and each tick has its sum.
func TestShardsOfKilledNodes(t *testing.T) {
	t.Parallel()
	s := scaleOf()
	c := newCluster(t, redisserver.Start(t).Addr())
	for range s.nodes {
		c.start(s.shards, s.every)
	}
	from := c.began()
	faults := 0
	for next := time.Now().Add(s.faults / 2); c.summed(from) < s.ticks; {
		if time.Now().After(next) {
			next = next.Add(s.faults/2 + rand.N(s.faults)) // at each moment of a tick
			c.kill(s.shards, s.every)
			c.stop()
			faults++
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.end()
	c.check(from, func(int) bool { return true })
	t.Logf("%d kills, and as many stops", faults)
}

// The number of shards changes in a rolling deploy. No tick has two numbers, and each has all of its shards.
func TestShardsInARollingDeploy(t *testing.T) {
	t.Parallel()
	s := scaleOf()
	c := newCluster(t, redisserver.Start(t).Addr())
	counts := []int{s.shards, s.shards * 2 / 3, s.shards * 4 / 3}
	for range s.nodes {
		c.start(counts[0], s.every)
	}
	from := c.began()
	for _, n := range counts[1:] {
		for i := range s.nodes {
			before := c.summed(from)
			c.hurt[c.nodes[i].Process.Pid] = true
			c.nodes[i].kill()
			c.nodes[i] = start(t, c.settings(n, s.every))
			c.await("a tick more", func() bool { return c.summed(from) > before })
		}
	}
	done := c.summed(from)
	c.await("ticks of the last number", func() bool { return c.summed(from) > done+1 })
	c.end()
	c.check(from, func(n int) bool { return slices.Contains(counts, n) })
}

// Each node reaches the store through a proxy that loses replies. No shard runs twice, and none is left.
func TestShardsWithLostRepliesOnRedis(t *testing.T) {
	t.Parallel()
	s := scaleOf()
	server := redisserver.Start(t)
	c := newCluster(t, server.Addr())
	var proxies []*rig.Proxy
	for range s.nodes {
		p := rig.NewProxy(t, server.Addr())
		proxies = append(proxies, p)
		of := c.settings(s.shards, s.every)
		of.Addr = p.Addr()
		c.nodes = append(c.nodes, start(t, of))
	}
	from := c.began()
	for _, p := range proxies {
		p.Set(rig.Faults{Cut: 9})
	}
	c.await("the ticks are settled", func() bool { return c.summed(from) >= s.ticks })
	c.end()
	c.check(from, func(int) bool { return true })
	lost := 0
	for _, p := range proxies {
		lost += p.Lost()
	}
	if lost == 0 {
		t.Error("no reply was lost")
	}
	t.Logf("%d replies were lost", lost)
}

// A cluster is nodes on one Redis.
type cluster struct {
	t     *testing.T
	addr  string
	dir   string
	store *redislock.Driver
	nodes []*process
	hurt  map[int]bool // processes that were killed or stopped, by their ids

	killed    map[int]time.Time // processes that were killed and not stopped before
	takeovers []time.Duration   // from such a kill to the next attempt of a shard that ran then
	starts    []time.Duration   // from a tick to the first attempt of each of its shards
}

func newCluster(t *testing.T, addr string) *cluster {
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { client.Close() })
	store, err := redislock.New(client, redislock.Options{Namespace: "shards"})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, addr: addr, dir: t.TempDir(), store: store, hurt: map[int]bool{}, killed: map[int]time.Time{}}
}

func (c *cluster) settings(shards int, every time.Duration) settings {
	return settings{Addr: c.addr, Dir: c.dir, Every: every, Work: every * 5 / 8, Shards: shards}
}

func (c *cluster) start(shards int, every time.Duration) {
	c.nodes = append(c.nodes, start(c.t, c.settings(shards, every)))
}

// kill kills a node and starts another one in its place.
func (c *cluster) kill(shards int, every time.Duration) {
	i := rand.IntN(len(c.nodes))
	pid := c.nodes[i].Process.Pid
	if !c.hurt[pid] {
		c.killed[pid] = time.Now()
	}
	c.hurt[pid] = true
	c.nodes[i].kill()
	c.nodes[i] = start(c.t, c.settings(shards, every))
}

// stop stops a node for longer than its lease.
func (c *cluster) stop() {
	p := c.nodes[rand.IntN(len(c.nodes))]
	c.hurt[p.Process.Pid] = true
	if p.Process.Signal(syscall.SIGSTOP) == nil {
		time.AfterFunc(lease+lease/2, func() { _ = p.Process.Signal(syscall.SIGCONT) })
	}
}

func (c *cluster) end() {
	for _, p := range c.nodes {
		p.kill()
	}
}

func (c *cluster) await(what string, reached func() bool) {
	c.t.Helper()
	s := scaleOf()
	limit := 5*time.Minute + 2*time.Duration(s.ticks)*s.every
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	for !reached() {
		if wait.Sleep(ctx, 50*time.Millisecond) != nil {
			c.t.Fatalf("within %v not reached: %s", limit, what)
		}
	}
}

func (c *cluster) lines() []series.Line {
	j, err := c.store.Journal(context.Background(), job, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return j.All()
}

// began waits for the first settled tick and returns it: the nodes may have started during it.
func (c *cluster) began() (tick int64) {
	c.t.Helper()
	c.await("a tick is settled", func() bool {
		for _, l := range c.lines() {
			if l.Ended != 0 {
				tick = l.To
			}
		}
		return tick != 0
	})
	return tick
}

// summed returns how many ticks after from are settled.
func (c *cluster) summed(from int64) (n int) {
	for _, l := range c.lines() {
		if l.To > from && l.Ended != 0 {
			n++
		}
	}
	return n
}

type shard struct {
	tick  int64
	shard int
}

// check holds the records of the nodes against the journal: each shard of each settled tick was done, an attempt
// after the first follows the death or the stop of a node, never beside it, and all runs of a tick saw one number of shards.
func (c *cluster) check(from int64, allowed func(shards int) bool) {
	c.t.Helper()
	runs := map[shard][]record{}
	for _, r := range records(c.t, c.dir) {
		runs[shard{r.Tick, r.Shard}] = append(runs[shard{r.Tick, r.Shard}], r)
	}
	ticks, reruns := 0, 0
	for _, l := range c.lines() {
		if l.To <= from || l.Ended == 0 {
			continue
		}
		ticks++
		if l.Outcome != series.OutcomeOK || !allowed(l.Shards) {
			c.t.Errorf("the tick %d is settled as %+v", l.To, l)
		}
		for i := range l.Shards {
			reruns += c.shard(l, i, runs[shard{l.To, i}])
		}
		for key := range runs {
			if key.tick == l.To && key.shard >= l.Shards {
				c.t.Errorf("shard %d of %d of the tick %d ran", key.shard, l.Shards, l.To)
			}
		}
	}
	c.t.Logf("%d ticks, %d attempts after the first", ticks, reruns)
	c.logDelays("first attempts after their tick", c.starts)
	c.logDelays(fmt.Sprintf("takeovers after a kill, with a lease of %v", lease), c.takeovers)
}

// logDelays logs delays, which depend on the machine and decide no verdict.
func (c *cluster) logDelays(of string, all []time.Duration) {
	slices.Sort(all)
	if n := len(all); n > 0 {
		c.t.Logf("%d %s: median %v, the 99th of 100 %v, the slowest %v", n, of, all[n/2], all[n*99/100], all[n-1])
	}
}

// shard checks the records of one shard, and returns how many attempts it had after the first.
func (c *cluster) shard(l series.Line, i int, all []record) (reruns int) {
	c.t.Helper()
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Or(cmp.Compare(a.Fence, b.Fence), a.At.Compare(b.At)) })
	ends, attempt, fence, pid := 0, 0, l.Fence, 0
	var last time.Time
	for _, r := range all {
		if r.Shards != l.Shards || r.Param != fmt.Sprintf("%d of %d", i, l.Shards) {
			c.t.Errorf("shard %d of %d of the tick %d is %+v", i, l.Shards, l.To, r)
		}
		if r.End {
			if r.Fence != fence {
				c.t.Errorf("shard %d of the tick %d ended under the fence %d after a grant of %d", i, l.To, r.Fence, fence)
			}
			ends++
			last = r.At
			continue
		}
		if r.Fence <= fence || r.Attempt <= attempt || r.At.Before(last) {
			c.t.Errorf("shard %d of the tick %d: %+v follows attempt %d at %v", i, l.To, r, attempt, last)
		}
		if attempt > 0 {
			if reruns++; !c.hurt[pid] {
				c.t.Errorf("shard %d of the tick %d: %+v follows attempt %d, whose node lives", i, l.To, r, attempt)
			}
			if at := c.killed[pid]; !at.IsZero() && last.Before(at) {
				c.takeovers = append(c.takeovers, r.At.Sub(at))
			}
		} else {
			c.starts = append(c.starts, r.At.Sub(time.UnixMilli(l.To)))
		}
		ends, fence, attempt, pid, last = 0, r.Fence, r.Attempt, r.Pid, r.At
	}
	if ends != 1 { // of the last attempt: a node may be killed after the work, before the store has its end
		c.t.Errorf("shard %d of the tick %d has %d ends: %+v", i, l.To, ends, all)
	}
	return reruns
}
