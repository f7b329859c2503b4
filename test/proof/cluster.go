package proof

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/series"
)

const namespace = "proof"

// patience is the longest wait for a condition that should soon be true. It only decides how late a
// broken run is detected.
const patience = 2 * time.Minute

// A Cluster is the store, the witness and the nodes of one scenario. Its methods must be called from the
// goroutine of the test.
type Cluster struct {
	*Board
	*rig.Meter
	Store *redisserver.Server // nil on another Backend

	t       testing.TB
	addr    string           // of the store
	version string           // of the store
	strike  func(c *Cluster) // a fault of the store; nil: the scenario has its own
	program Program
	witness *redisserver.Server
	teller  *Witness
	procs   []*Process
	from    time.Time
	probes  probes
}

// NewCluster starts a store and a witness. The store is a Redis with the given arguments, unless the
// program has another backend. Everything stops at the end of the test.
func NewCluster(t testing.TB, program Program, storeArgs ...string) *Cluster {
	t.Helper()
	c := &Cluster{Board: newBoard(), Meter: rig.NewMeter(t), t: t, program: program}
	c.witness = redisserver.Start(t)
	if program.backend != nil {
		c.addr, c.strike = program.backend.start(t)
		c.version = versionOf(t, c.addr)
	} else {
		c.Store = redisserver.Start(t, storeArgs...)
		c.addr = c.Store.Addr()
	}
	c.teller = NewWitness(c.witness.Addr(), os.Getpid())
	c.probeServers()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.teller.Follow(ctx, c.addRecord); err != nil {
			t.Errorf("%v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
		_ = c.teller.Close()
		c.dump()
	})
	return c
}

// probeServers adds slow replies of the store and of the witness to the meter.
func (c *Cluster) probeServers() {
	c.t.Helper()
	d, done, err := openStore(c.t.Context(), c.addr, namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(done)
	probe(c.t, c.Meter, c.teller.Ping)
	probe(c.t, c.Meter, func(ctx context.Context) error {
		if err := c.probes.renew(ctx, d); err != nil {
			return err
		}
		_, err := d.Now(ctx)
		return err
	})
}

// dump writes the logs of a failed scenario to the test's log.
func (c *Cluster) dump() {
	if !c.t.Failed() || !testing.Verbose() {
		return
	}
	for _, l := range c.View().Lines {
		c.t.Logf("%d %s", l.Pid, l.Text)
	}
}

// Start starts a node. A node without an address of a store uses the cluster's.
func (c *Cluster) Start(n Node) *Process {
	c.t.Helper()
	n.Witness, n.Namespace = c.witness.Addr(), namespace
	c.probes.add(n.Jobs)
	if n.Store == "" {
		n.Store = c.addr
	}
	cmd, err := c.program.command(n, c.t.TempDir())
	if err != nil {
		c.t.Fatal(err)
	}
	p := launch(c.t, cmd, n, c.arrived)
	c.procs = append(c.procs, p)
	return p
}

// StartBehind starts a node with a proxy of its own before each server of the store, unless the store's servers name others to their
// clients, as a Sentinel does.
func (c *Cluster) StartBehind(n Node) *Process {
	c.t.Helper()
	var w way
	if b := c.program.backend; b == nil || !b.names {
		n.Store, w = newWay(c.t, c.addr)
	}
	p := c.Start(n)
	p.way = w
	return p
}

// arrived receives a line that a node printed.
func (c *Cluster) arrived(l Line) {
	c.addLine(l)
	if c.program.record == nil {
		return
	}
	if r, ok := c.program.record(&l); ok {
		c.addRecord(r)
	}
}

// Must ends the test if cond does not come true in time.
func (c *Cluster) Must(what string, cond func(View) bool) {
	c.t.Helper()
	if !c.Await(patience, cond) {
		c.t.Fatalf("not within %v: %s", patience, what)
	}
}

// Warm waits until every job has run once since the call, so that all of its nodes have started. It
// returns the time from which on ticks are accounted for.
func (c *Cluster) Warm(jobs ...Job) time.Time {
	c.t.Helper()
	begun := time.Now()
	c.Must("every job runs", func(v View) bool {
		seen := map[string]bool{}
		for _, r := range v.Records {
			if r.Kind == Start && r.At.After(begun) {
				seen[r.Job] = true
			}
		}
		return len(seen) == len(jobs)
	})
	c.from = time.Now()
	return c.from
}

// Pass waits for d. It is the duration of a scenario, and never a wait for a condition.
func (c *Cluster) Pass(d time.Duration) { <-time.After(d) }

// Strike disturbs the store, and returns when it can serve again.
func (c *Cluster) Strike() { c.strike(c) }

// Alive returns the processes that have not ended.
func (c *Cluster) Alive() (alive []*Process) {
	for _, p := range c.procs {
		if p.Alive() {
			alive = append(alive, p)
		}
	}
	return alive
}

// Process returns the process with this id.
func (c *Cluster) Process(pid int) *Process {
	for _, p := range c.procs {
		if p.Pid == pid {
			return p
		}
	}
	return nil
}

// settle is the time between the last checked tick and the end of a scenario: the shortest interval and
// half a second. The next tick may belong to a node that was just requested to drain, and a
// tick that waits for a run gets its verdict with the next tick.
const settle = 1500 * time.Millisecond

// Finish waits until no tick is overdue while nodes are alive, drains all nodes and returns the
// evidence about the jobs: their ticks from Warm until a moment before this call.
func (c *Cluster) Finish(jobs ...Job) *Evidence {
	c.t.Helper()
	e := &Evidence{Meter: c.Meter, Jobs: jobs, From: c.from, To: time.Now().Add(-settle), Ends: map[int]error{}}
	alive := c.Alive()
	if len(alive) > 0 {
		e.Late = c.overdue(e.To, jobs...)
	}
	for _, p := range alive {
		p.Terminate()
	}
	for _, p := range alive {
		_ = p.Wait(patience) // the check judges it, with all others
	}
	for _, p := range c.procs {
		if err := p.Wait(0); err != nil {
			e.Ends[p.Pid] = err
		}
		e.Faults = append(e.Faults, p.Faults()...)
	}
	c.barrier()
	e.View = c.View()
	e.Records = slices.Clone(e.Records)
	slices.SortStableFunc(e.Records, func(a, b Record) int { return a.At.Compare(b.At) })
	e.Journals = c.Journals(jobs...)
	return e
}

// barrier waits until the board has all records that were reported so far.
func (c *Cluster) barrier() {
	c.t.Helper()
	mark := Record{Kind: "barrier", Tick: time.Now().UnixMicro()}
	if err := c.teller.Tell(mark); err != nil {
		c.t.Fatal(err)
	}
	c.Must("the whole ledger arrives", func(v View) bool {
		return len(v.Find(func(r *Record) bool { return r.Kind == mark.Kind && r.Tick == mark.Tick })) == 1
	})
}

// Journals reads the journals of the jobs, not through the proxies.
func (c *Cluster) Journals(jobs ...Job) map[string]series.Journal {
	c.t.Helper()
	d, done, err := openStore(c.t.Context(), c.addr, namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	defer done()
	all := map[string]series.Journal{}
	for _, j := range jobs {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		all[j.Name], err = d.Journal(ctx, j.Name, 0)
		stop()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return all
}
