package claims

import (
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/timetable"
)

// Config is what Claims need. All fields but Spread are required.
type Config struct {
	Slots     int           // how many runs the node has at once
	Spread    time.Duration // how long ticks are left to the node that comes first for them
	Timeout   time.Duration // of one request
	Shards    int
	Peek      bool // the store can be peeked at
	Nodes     rendezvous.Nodes
	Revisions *job.Revisions
}

// Claims are the timetable and the pending claims of a node. They are not safe for
// concurrent use.
type Claims struct {
	cfg       Config
	entries   job.Rows[entry]
	table     timetable.Table
	retries   retryQueue
	waiting   localQueue            // for a free slot
	parked    map[*entry][]*Pending // waiting for the answer to an end of a run, or to an older claim
	stalled   map[*entry]*stall     // jobs whose claims are not answered
	probes    map[run]probe
	lookAt    int64              // when runs are looked at next; 0: none is
	changes   map[*entry]*change // jobs of which ticks of former specs have no verdict
	deferred  deferred
	nodes     rendezvous.Nodes
	free      int // slots
	draining  bool
	fenced    map[*entry]struct{} // jobs that have a fence more than a day ahead
	regressed map[*entry]int64    // the mark that the store is known to have forgotten
	effects   Effects
}

// An entry is what a node knows of a registered job. There may be hundreds of thousands,
// so it is small: what belongs to a tick in progress lives in Pending claims and in runs.
type entry struct {
	timetable.Entry
	open       bool         // the store has the job
	removed    bool         // the node has the job no more
	unanswered uint8        // claims whose requests were not answered
	ending     atomic.Int32 // see runs.Grant
	mark       int64        // the highest mark seen
	since      int64        // since when the spec has been in force, when this node opened the job first
	latest     *Pending     // of the tick handed out last, while it has no verdict
	chain      *Pending     // of the next missed tick, while missed ticks run one after the other
}

// Effects are what follows from answers outside of the claims.
type Effects struct {
	Open      []*job.Job // the store does not know them
	Replace   []Replace
	Regressed []Regressed
	Short     []Short
	Fenced    []Fenced
	ReadClock bool // this node's clock may be behind the store's
}

// Replace says that runs of a job with ticks before Newer have to end.
type Replace struct {
	Job   *job.Job
	Newer int64
}

// Regressed says that the store knows a mark of a job below one that this node has seen,
// or none.
type Regressed struct {
	Job        *job.Job
	Mark, Seen int64
}

// Short says that too few replicas have a claim.
type Short struct {
	Job         *job.Job
	Tick        int64
	Want, Acked int
}

// Fenced says that the store grants nothing to a job, because of a fence that is more than
// a day ahead. First: that was not so before.
type Fenced struct {
	Job   *job.Job
	First bool
}

// New returns Claims without a job.
func New(cfg Config) *Claims {
	return &Claims{
		cfg: cfg, nodes: cfg.Nodes, free: cfg.Slots, deferred: newDeferred(cfg.Shards),
		parked: map[*entry][]*Pending{}, stalled: map[*entry]*stall{}, probes: map[run]probe{}, changes: map[*entry]*change{},
		fenced: map[*entry]struct{}{}, regressed: map[*entry]int64{},
	}
}

// Effects returns what follows outside of the claims, and forgets it.
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

// Nodes sets the nodes that were seen alive.
func (c *Claims) Nodes(nodes rendezvous.Nodes) { c.nodes = nodes }

// FenceAhead names at most so many of the jobs that have a fence more than a day ahead,
// and counts all.
func (c *Claims) FenceAhead(most int) (names []string, count int) {
	for e := range c.fenced {
		if len(names) == most {
			break
		}
		names = append(names, e.Name)
	}
	return names, len(c.fenced)
}

// Free returns how many slots are free. It may be below zero: the bound gives way to a
// lease that is there.
func (c *Claims) Free() int { return c.free }

// Unsettled returns how many claims will be sent again or for the first time.
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

// InDoubt counts the claims that a drain has to wait for, beside those on their way, and names
// at most so many.
func (c *Claims) InDoubt(most int) (names []string, count int) {
	for _, ps := range c.retries.all {
		for _, p := range ps[:min(len(ps), most-len(names))] {
			names = append(names, p.String())
		}
	}
	return names, c.retries.count
}

// Shift moves all that is planned along with a step of the clock, in milliseconds: pauses
// stay as long as they were.
func (c *Claims) Shift(step int64) {
	c.retries = c.retries.shifted(step)
	if c.lookAt != 0 {
		c.lookAt += step
	}
	c.deferred.shift(step)
	for r, p := range c.probes {
		p.at += step
		c.probes[r] = p
	}
}

// Drain gives up all claims but those that may hold a lease. From now on claims only ask
// whether they were granted.
func (c *Claims) Drain(now int64) {
	c.draining = true
	c.retries.add(now, c.waiting.all()...)
	for e := range c.stalled {
		c.resume(e, now)
	}
	for e := range c.parked {
		c.unpark(e, now)
	}
	c.retries = c.retries.inDoubt()
	c.deferred = newDeferred(c.cfg.Shards)
}
