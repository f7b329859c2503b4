package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

var errCut = errors.New("the node is cut off")

// A cuttable store answers a node until it is cut off.
type cuttable struct {
	*memlock.Store
	off  atomic.Bool
	drop atomic.Int64 // each n-th answer to a claim or an end is lost; 0: none
	sent atomic.Int64
	asks atomic.Int64 // claims
	most int          // shards of a tick; 0: as many as the store in memory keeps
}

func (s *cuttable) MostShards() int { return cmp.Or(s.most, s.Store.MostShards()) }

func (s *cuttable) lost() bool {
	n := s.drop.Load()
	return s.off.Load() || n > 0 && s.sent.Add(1)%n == 0
}

func (s *cuttable) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	if s.off.Load() {
		return slices.Repeat([]series.Answer{{Err: errCut}}, len(cs))
	}
	s.asks.Add(int64(len(cs)))
	if as := s.Store.Claim(ctx, cs); !s.lost() {
		return as
	}
	return slices.Repeat([]series.Answer{{Err: errCut}}, len(cs))
}

func (s *cuttable) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	if s.off.Load() {
		return slices.Repeat([]series.RenewAnswer{{Err: errCut}}, len(rs))
	}
	return s.Store.RenewRuns(ctx, rs)
}

func (s *cuttable) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	if s.off.Load() {
		return slices.Repeat([]series.EndAnswer{{Err: errCut}}, len(es))
	}
	if as := s.Store.ReleaseRuns(ctx, es); !s.lost() {
		return as
	}
	return slices.Repeat([]series.EndAnswer{{Err: errCut}}, len(es))
}

// Leave does nothing for a node that is cut off: it is expected until its last beat is old.
func (s *cuttable) Leave(ctx context.Context, node string) error {
	if s.off.Load() {
		return errCut
	}
	return s.Store.Leave(ctx, node)
}

// Local makes nodes beat, as they do on a store that other processes share.
func (s *cuttable) Local() bool { return false }

// A sharing is a cluster whose job is divided into shards. Its nodes record each run.
type sharing struct {
	t      *testing.T
	store  *memlock.Store
	job    scheduler.Job
	work   func(ctx context.Context, r *scheduler.Run) error
	setup  func(cfg *scheduler.Config)
	nodes  []*sharer
	shards int // that the store lets a tick have; 0: as many as it keeps
	mu     sync.Mutex
	runs   []scheduler.Run
	alive  int
	most   int // at once
	starts []time.Time
}

type sharer struct {
	wire   *cuttable
	events eventLog
	dead   atomic.Bool
	stop   context.CancelFunc
	ended  chan error
}

func share(t *testing.T, job scheduler.Job) *sharing {
	job.Name = "rows"
	return &sharing{t: t, store: memlock.New(memlock.Options{Now: time.Now}), job: job, work: nothing}
}

func (c *sharing) start() *sharer {
	n := &sharer{wire: &cuttable{Store: c.store, most: c.shards}, ended: make(chan error, 1)}
	j := c.job
	j.Func = func(ctx context.Context, r *scheduler.Run) error {
		if n.dead.Load() {
			return nil
		}
		c.mu.Lock()
		c.runs, c.starts = append(c.runs, *r), append(c.starts, time.Now())
		c.alive++
		c.most = max(c.most, c.alive)
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.alive--
		}()
		return c.work(ctx, r)
	}
	cfg := scheduler.Config{Name: fmt.Sprintf("node%d", len(c.nodes)), Store: n.wire, Jobs: []scheduler.Job{j}, Observers: []scheduler.Observer{&n.events}, Logger: slog.New(slog.DiscardHandler)}
	if c.setup != nil {
		c.setup(&cfg)
	}
	node, err := scheduler.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go func() { n.ended <- node.Run(ctx) }()
	c.nodes = append(c.nodes, n)
	return n
}

// kill cuts a node off, as if its process had been killed.
func (n *sharer) kill() {
	n.dead.Store(true)
	n.wire.off.Store(true)
	n.stop()
}

func (c *sharing) end() {
	for _, n := range c.nodes {
		n.stop()
		<-n.ended
	}
}

// sums returns the ended ticks of the journal.
func (c *sharing) sums() (all []series.Line) {
	c.t.Helper()
	j, err := c.store.Journal(context.Background(), "rows", 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, l := range j.All() {
		if l.Shards > 0 && l.Outcome != "" {
			all = append(all, l)
		}
	}
	return all
}

// byShard counts the runs of each tick and shard.
func (c *sharing) byShard() map[string]int {
	count := map[string]int{}
	for _, r := range c.runs {
		count[r.ID]++
	}
	return count
}

// wantOnce fails the test unless each shard of so many ticks ran once, with its parameter and fences.
func (c *sharing) wantOnce(ticks, shards int) {
	c.t.Helper()
	if sums := c.sums(); len(sums) != ticks {
		c.t.Errorf("%d ticks are settled, want %d: %+v", len(sums), ticks, sums)
	}
	count := c.byShard()
	if len(count) != ticks*shards {
		c.t.Errorf("%d shards ran, want %d", len(count), ticks*shards)
	}
	for id, n := range count {
		if n != 1 {
			c.t.Errorf("%s ran %d times", id, n)
		}
	}
	fences := map[int64]bool{}
	for _, r := range c.runs {
		if want := fmt.Sprintf("#%d", r.Shard); r.Shards != shards || !strings.HasSuffix(r.ID, want) || r.Fence <= r.TickFence || r.TickFence == 0 || fences[r.Fence] {
			c.t.Errorf("a run is %+v", r)
		}
		fences[r.Fence] = true
	}
}

// Three idle nodes divide each tick evenly, in the instant of the tick, and the same nodes have the same shards.
func TestShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 10, ShardParams: []string{"a", "b"}})
		c.work = func(ctx context.Context, r *scheduler.Run) error {
			if want := map[int]string{0: "a", 1: "b"}[r.Shard]; r.Param != want {
				t.Errorf("shard %d has the parameter %q, want %q", r.Shard, r.Param, want)
			}
			return takes(5*time.Second)(ctx, r)
		}
		for range 3 {
			c.start()
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		c.end()
		c.wantOnce(10, 10)
		owners := map[int]string{}
		loads := map[string]int{}
		for i, r := range c.runs {
			if late := c.starts[i].Sub(r.Tick); late > 50*time.Millisecond {
				t.Errorf("%s started %v late", r.ID, late)
			}
			if loads[r.Node]++; owners[r.Shard] == "" {
				owners[r.Shard] = r.Node
			} else if owners[r.Shard] != r.Node {
				t.Errorf("shard %d ran on %s and %s", r.Shard, owners[r.Shard], r.Node)
			}
		}
		for node, n := range loads {
			if n < 30 || n > 40 {
				t.Errorf("%s ran %d of 100 shards", node, n)
			}
		}
		for _, l := range c.sums() {
			if l.Outcome != series.OutcomeOK {
				t.Errorf("a tick is settled as %+v", l)
			}
		}
	})
}

// The shards of a dead node run again on the others within their lease and a second, each with a higher fence. No
// other shard runs twice.
func TestShardsOfADeadNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 12, Takeover: scheduler.TakeoverRerun, Lease: 5 * time.Second})
		c.work = takes(20 * time.Second)
		for range 3 {
			c.start()
		}
		time.Sleep(time.Minute + 2*time.Second)
		died := time.Now()
		c.nodes[0].kill()
		time.Sleep(2 * time.Minute)
		c.end()
		again := map[string]scheduler.Run{}
		first := map[string]scheduler.Run{}
		for i, r := range c.runs {
			switch r.Attempt {
			case 1:
				first[r.ID] = r
			case 2:
				again[r.ID] = r
				if took := c.starts[i].Sub(died); took > 6*time.Second || r.Fence <= first[r.ID].Fence || !strings.HasPrefix(first[r.ID].Node, "node0-") {
					t.Errorf("%s was taken over %v after the kill, with the fence %d after %d of %s", r.ID, took, r.Fence, first[r.ID].Fence, first[r.ID].Node)
				}
			default:
				t.Errorf("%s has attempt %d", r.ID, r.Attempt)
			}
		}
		if len(again) != 4 {
			t.Errorf("%d shards were taken over, want the 4 of the dead node", len(again))
		}
		for _, l := range c.sums() {
			if l.Outcome != series.OutcomeOK {
				t.Errorf("a tick is settled as %+v", l)
			}
		}
	})
}

// Without takeover the shards of a dead node are lost, and the tick says so. The next tick runs.
func TestLostShards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 9, Lease: 5 * time.Second})
		c.work = takes(8 * time.Second)
		for range 3 {
			c.start()
		}
		time.Sleep(time.Minute + 2*time.Second)
		c.nodes[0].kill()
		time.Sleep(2 * time.Minute)
		c.end()
		sums := c.sums()
		if len(sums) != 3 || sums[0].Outcome != series.OutcomeLost || sums[1].Outcome != series.OutcomeOK {
			t.Fatalf("the ticks are settled as %+v", sums)
		}
		shards, err := series.ReadSheet(sums[0].Sheet, sums[0].Fence, sums[0].At)
		if err != nil {
			t.Fatal(err)
		}
		lost := 0
		for _, h := range shards {
			if h.Outcome == string(series.VerdictLost) {
				lost++
			}
		}
		if lost != 3 {
			t.Errorf("%d shards are lost, want 3: %s", lost, sums[0].Sheet)
		}
	})
}

// A tick whose shard fails has failed, and each shard has its verdict. With FailAll one good shard is enough.
func TestFailedShards(t *testing.T) {
	for _, p := range []struct {
		fail scheduler.ShardFail
		want string
	}{{scheduler.FailAny, series.OutcomeFailed}, {scheduler.FailAll, series.OutcomeOK}} {
		t.Run(p.want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 4, ShardFail: p.fail})
				c.work = func(_ context.Context, r *scheduler.Run) error {
					if r.Shard != 2 {
						return errBroken
					}
					return nil
				}
				c.start()
				time.Sleep(time.Minute + 30*time.Second)
				c.end()
				c.wantOnce(1, 4)
				if sums := c.sums(); len(sums) != 1 || sums[0].Outcome != p.want {
					t.Errorf("the tick is settled as %+v, want %s", sums, p.want)
				}
				finished := 0
				for _, e := range c.nodes[0].events.all {
					if e.Kind == scheduler.EventTickFinished {
						if finished++; e.Outcome != p.want || e.Shards != 4 {
							t.Errorf("the event is %+v", e)
						}
					}
				}
				if finished != 1 {
					t.Errorf("%d events of the end of the tick, want 1", finished)
				}
			})
		})
	}
}

// A drained node gives its shards back, and the others run them within a second.
func TestShardsOfADrainedNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 9, Lease: 30 * time.Second})
		c.setup = func(cfg *scheduler.Config) { cfg.Grace = time.Second }
		c.work = takes(20 * time.Second)
		for range 3 {
			c.start()
		}
		time.Sleep(time.Minute + 2*time.Second)
		c.nodes[0].stop()
		<-c.nodes[0].ended
		c.nodes[0].ended <- nil
		given := time.Now()
		time.Sleep(time.Minute)
		c.end()
		again := 0
		for i, r := range c.runs {
			if r.Attempt == 2 {
				if again++; c.starts[i].Sub(given) > 1100*time.Millisecond {
					t.Errorf("%s ran again %v after it was given back", r.ID, c.starts[i].Sub(given))
				}
			}
		}
		if again != 3 {
			t.Errorf("%d shards ran again, want 3", again)
		}
	})
}

// Lost replies to claims and ends run no shard twice, and leave none.
func TestShardsWithLostReplies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@every 1m", Shards: 7})
		c.work = takes(time.Second)
		for i := range 3 {
			c.start().wire.drop.Store(int64(2 + i))
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		c.end()
		c.wantOnce(10, 7)
		for i, r := range c.runs {
			if late := c.starts[i].Sub(r.Tick); late > 2*time.Second {
				t.Errorf("%s started %v late", r.ID, late)
			}
		}
	})
}

// An unpeeked store does not support peeking, as databases do not.
type unpeeked struct {
	scheduler.Store
	series.Sharder
}

// All nodes die in the middle of a tick of a rare job. Nodes that start later run its shards, although no other
// tick is due and the store supports no peeks, which would find them too.
func TestShardsAfterTheFleetDied(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := share(t, scheduler.Job{Spec: "@daily", Shards: 6, Takeover: scheduler.TakeoverRerun, Lease: 5 * time.Second})
		c.work = takes(20 * time.Second)
		c.setup = func(cfg *scheduler.Config) { cfg.Store = unpeeked{cfg.Store, cfg.Store.(series.Sharder)} }
		time.Sleep(24*time.Hour - time.Minute)
		c.start()
		c.start()
		time.Sleep(time.Minute + 2*time.Second)
		for _, n := range c.nodes {
			n.kill()
		}
		time.Sleep(time.Minute)
		began := time.Now()
		c.start()
		time.Sleep(time.Minute)
		c.end()
		again := 0
		for i, r := range c.runs {
			if r.Attempt == 2 {
				if again++; c.starts[i].Sub(began) > 3*time.Second {
					t.Errorf("%s ran again %v after the start of a node", r.ID, c.starts[i].Sub(began))
				}
			}
		}
		if sums := c.sums(); again != 6 || len(sums) != 1 || sums[0].Outcome != series.OutcomeOK {
			t.Errorf("%d shards ran again, want 6; the tick is settled as %+v", again, sums)
		}
	})
}

// A tick that must wait for the shards of an earlier one is claimed about once a second, not all the time.
func TestTickBehindShards(t *testing.T) {
	for _, job := range []scheduler.Job{
		{Spec: "@every 10s", Shards: 3, Misfire: scheduler.MisfireAll},
		{Spec: "@every 10s", Shards: 3, Overlap: scheduler.OverlapQueue},
		{Spec: "@every 10s", Shards: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := share(t, job)
			c.work = takes(35 * time.Second)
			c.start()
			c.start()
			time.Sleep(5*time.Minute + 5*time.Second)
			asks := c.nodes[0].wire.asks.Load() + c.nodes[1].wire.asks.Load()
			c.end()
			if asks > 5*60*2*3 {
				t.Errorf("%d claims in five minutes under overlap %d and misfire %d", asks, job.Overlap, job.Misfire)
			}
			if sums := c.sums(); len(sums) < 6 {
				t.Errorf("%d ticks ran in five minutes, want each 40 s", len(sums))
			}
		})
	}
}
