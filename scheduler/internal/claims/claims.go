package claims

import (
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/spread"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// Config has the dependencies and settings of Claims. All fields but Spread and Shards are required.
type Config struct {
	Slots      int           // number of runs that the node has at once
	Spread     time.Duration // how long a tick is left to the node that is first for it
	Timeout    time.Duration // of one request
	Partitions int
	Shards     int  // how many shards the store lets a tick have; 0: none
	Peek       bool // the store supports peeking
	Groups     bool // and keeps which groups are decided
	Nodes      rendezvous.Nodes
	Revisions  *job.Revisions
}

// Claims are the timetable and the pending claims of a node. They are not safe for concurrent use.
type Claims struct {
	cfg       Config
	entries   job.Rows[entry]
	table     timetable.Table
	retries   retryQueue
	waiting   localQueue            // for a free slot
	parked    map[*entry][]*Pending // claims that wait for the answer to an end of a run, or to an older claim
	stalled   map[*entry]*stall     // jobs whose claims are not answered
	probes    map[run]probe
	runPeekAt int64              // when this node peeks at runs next; 0: never
	changes   map[*entry]*change // jobs with undecided ticks of former specs
	deferred  deferred
	sent      sent
	groups    []*group
	bundles   bundles             // nil: the list of nodes has changed
	watching  []*rendezvous.Nodes // the watchers of each partition; nil: not known yet
	nodes     rendezvous.Nodes
	free      int // free slots
	draining  bool
	fenced    map[*entry]struct{} // jobs that have a fence more than a day ahead
	regressed map[*entry]int64    // the highest mark that this node has seen and the store has forgotten
	divisions map[layout]*spread.Table
	listing   bool    // a claim waits for the list of nodes
	lists     int     // how often the list was read
	learned   []int64 // for each partition the period in which this node last learned of its runs in place of the watchers, for a group that was decided
	guessed   []int64 // the same, for a group that was not
	grouped   []int64 // for each partition when its last group ends
	effects   Effects
}

// An entry is the state of a registered job. There may be hundreds of thousands of entries, so each
// is small: the state of a tick in progress is in Pending claims and in runs.
type entry struct {
	timetable.Entry
	open       bool         // the job is open in the store
	removed    bool         // the job was removed from the node
	unanswered uint8        // number of claims whose requests were not answered
	ending     atomic.Int32 // see job.Run
	mark       int64        // the highest mark seen
	fence      int64        // the highest fence granted to this node: the floor of the next one
	since      int64        // when the spec came into force, as returned when this node first opened the job
	latest     *Pending     // claim of the tick handed out last, while it has no verdict
	chain      *Pending     // claim of the next missed tick, while missed ticks run one after the other
}

// Effects are the actions outside of the claims that answers require.
type Effects struct {
	Open      []*job.Job // jobs that the store does not have
	Replace   []Replace
	Regressed []Regressed
	Short     []Short
	Fenced    []Fenced
	ReadClock bool     // this node's clock may be behind the store's
	Learn     []uint16 // partitions whose runs this node must know, which others have watched
}

// Replace requires runs of a job with ticks before Newer to end.
type Replace struct {
	Job   *job.Job
	Newer int64
}

// Regressed reports that the store's mark of a job is below one that this node has seen, or
// missing.
type Regressed struct {
	Job        *job.Job
	Mark, Seen int64
}

// Short reports that too few replicas have a claim.
type Short struct {
	Job         *job.Job
	Tick        int64
	Want, Acked int
}

// Fenced reports that the store grants nothing to a job, because of a fence that is more than a day
// ahead. First is set if the job had no such fence before.
type Fenced struct {
	Job   *job.Job
	First bool
}

// New returns Claims without jobs.
func New(cfg Config) *Claims {
	return &Claims{
		cfg: cfg, nodes: cfg.Nodes, free: cfg.Slots, deferred: newDeferred(cfg.Partitions), sent: make(sent, max(cfg.Partitions, 1)),
		parked: map[*entry][]*Pending{}, stalled: map[*entry]*stall{}, probes: map[run]probe{}, changes: map[*entry]*change{},
		fenced: map[*entry]struct{}{}, regressed: map[*entry]int64{},
		learned: make([]int64, max(cfg.Partitions, 1)), guessed: make([]int64, max(cfg.Partitions, 1)), grouped: make([]int64, max(cfg.Partitions, 1)),
	}
}

// Effects returns the collected effects and resets them.
func (c *Claims) Effects() Effects {
	fx := c.effects
	c.effects = Effects{}
	return fx
}

// Restart sets all jobs to the ticks around now.
func (c *Claims) Restart(now int64) {
	c.table.ResetAll(func(no int) int64 {
		e := c.entries.At(no)
		e.Start(now)
		return e.Due()
	})
}

func (c *Claims) entry(j *job.Job) *entry { return c.entries.At(int(j.No)) }

// Nodes sets the list of live nodes. If this node becomes a watcher of a partition, it must learn of its runs, which the
// nodes before it watched.
func (c *Claims) Nodes(nodes rendezvous.Nodes) {
	before := make([]bool, max(c.cfg.Partitions, 1))
	for p := range before {
		before[p] = c.watches(uint16(p))
	}
	c.nodes, c.divisions, c.watching, c.bundles = nodes, nil, nil, nil
	c.lists++
	for p := range before {
		if !before[p] && c.watches(uint16(p)) {
			c.effects.Learn = append(c.effects.Learn, uint16(p))
		}
	}
}

// FenceAhead returns the count of the jobs that have a fence more than a day ahead, and the names of
// up to most of them.
func (c *Claims) FenceAhead(most int) (names []string, count int) {
	for e := range c.fenced {
		if len(names) == most {
			break
		}
		names = append(names, e.Name)
	}
	return names, len(c.fenced)
}

// Free returns the number of free slots. It may be negative, because a lease that exists counts
// even above the bound.
func (c *Claims) Free() int { return c.free }

// Unsettled returns the number of claims that will be sent, again or for the first time.
func (c *Claims) Unsettled() int {
	count := c.retries.count + c.waiting.count()
	for _, parked := range c.parked {
		count += len(parked)
	}
	for _, s := range c.stalled {
		count += len(s.idle)
	}
	return count
}

// InDoubt counts the claims that a drain must wait for, not counting those on their way, and returns
// up to most of their names.
func (c *Claims) InDoubt(most int) (names []string, count int) {
	for _, ps := range c.retries.all {
		for _, p := range ps[:min(len(ps), most-len(names))] {
			names = append(names, p.String())
		}
	}
	return names, c.retries.count
}

// Shift moves all planned instants by a step of the clock, in milliseconds, so that pauses keep
// their length.
func (c *Claims) Shift(step int64) {
	c.retries = c.retries.shifted(step)
	if c.runPeekAt != 0 {
		c.runPeekAt += step
	}
	c.deferred.shift(step)
	for _, g := range c.groups {
		g.at += step
	}
	for r, p := range c.probes {
		p.at += step
		c.probes[r] = p
	}
}

// Drain gives up all claims except those that may hold a lease. From now on claims are sent only to
// find out whether earlier requests were granted.
func (c *Claims) Drain(now int64) {
	c.draining = true
	c.retries.add(now, c.waiting.all()...)
	for e := range c.stalled {
		c.resume(e, now)
	}
	for e := range c.parked {
		c.unpark(e, now)
	}
	c.keepDoubts(now)
	c.deferred, c.groups = newDeferred(c.cfg.Partitions), nil
}

// keepDoubts forgets the claims that hold no lease. Each of the others is sent once its earlier
// requests can no longer be granted, or before: the drain waits for its answer.
func (c *Claims) keepDoubts(now int64) {
	all := c.retries.all
	c.retries = retryQueue{}
	for at, ps := range all {
		for _, p := range ps {
			if p.mayHoldLease() {
				c.retries.add(min(at, onGrid(max(now, p.until+1), retryGrid)), p)
			} else {
				c.forget(p, now)
			}
		}
	}
}

// forget drops a claim that certainly holds no lease, or whose lease has expired.
func (c *Claims) forget(p *Pending, now int64) {
	p.state = stateOver
	c.resolve(p, false, now)
	c.freeSlot(p)
}
