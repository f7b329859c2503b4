package claims

import (
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Pending is a claim that this node needs an answer to. The same owner sends it until the store
// has answered, because a lost reply may have been a grant.
type Pending struct {
	e       *entry
	job     *job.Job // the job as it was when the claim was made; the job of the entry may have been replaced since
	tick    int64
	after   int64       // the tick before it, or the mark before a gap that it covers
	between int         // number of ticks that it covers as missed
	from    int64       // the fence of the run to take over; 0: a fresh tick
	first   *Pending    // the latest takeover of a run that blocked it
	former  *job.Former // the former spec that has the tick; nil: the spec in force
	owner   string      // the same for the claim's life, so that a repeated request returns any earlier grant
	tries   int
	seen    int64 // the mark that this node knew when the claim was sent last
	latest  int64 // the latest instant at which the last request may be granted
	until   int64 // the same for earlier requests without an answer; 0: none can be granted any more

	purpose purpose
	state   state
	reply   reply
	failed  bool // its last completed request was not answered, and the entry counts it
	freed   bool // a run ended since the claim was sent, so the run that blocked it may be gone
	stale   bool // a newer tick replaced it: send it only to find out whether it was granted
	slots   int  // how many of the node's slots for runs it has
	free    int  // of a claim of an open sheet: how many of its shards may start
	of      int  // and how many there are; 0: as many as the rules say
	wave    int  // and how many claims of this node found shards that may start, one after the other

	replaces bool // of a claim of shards: this node has no answer about an earlier tick, whose shards may still start

	lists    int // of a claim of a broadcast: how often the list of nodes had been read when it was due
	listings int // and how often it has waited for the next reading
}

// A purpose is the reason for a claim.
type purpose uint8

const (
	forTick     purpose = iota
	forBacklog          // one of the missed ticks that run in order
	forTakeOver         // the orphan that blocks another claim
	forProbe            // a run of another owner
	forVerdict          // a tick whose deadline has passed: it needs no slot to be recorded as missed
)

// A state is the place of a claim, and the event that it waits for. Each claim has one, and only
// the containers of Claims set it.
type state uint8

const (
	stateHandled state = iota // none: a method handles it now
	stateTimed                // in retries: an instant
	stateQueued               // in waiting: a free slot
	stateParked               // in parked: the end of a run of its job, or the answer to an older claim of its job
	stateIdle                 // in stalled: the answer to another claim of its job
	stateSent                 // the answer of the store
	stateOver                 // it is forgotten
)

// A reply is the answer to the requests of a claim so far.
type reply uint8

const (
	replyNone    reply = iota // every request has an answer, or none was sent
	replyOpen                 // a request has no answer, and may have been granted
	replyBlocked              // the last answer was held: a run blocks the claim
)

// String returns the claim as job@tick.
func (p *Pending) String() string { return p.job.Name + "@" + text.Tick(p.tick) }

// spec returns the spec that has the tick.
func (p *Pending) spec() *spec.Schedule {
	if p.former != nil {
		return p.former.Spec
	}
	return p.job.Spec
}

// Partition returns the partition of the store that the claim goes to.
func (p *Pending) Partition() int { return int(p.job.Partition) }

// lease returns the length of the lease that a grant of the tick gets.
func (p *Pending) lease() time.Duration {
	if l := p.job.Rules.Lease; l != 0 {
		return l
	}
	return p.job.Rules.LeaseOf(p.interval())
}

// interval returns the distance from the claimed tick to the next one; 0 if there is none. A manual run
// has the interval of the tick before it.
func (p *Pending) interval() time.Duration {
	tick := p.tick
	if spec.Manual(tick) {
		tick = p.job.Spec.PrevMilli(tick)
	}
	if p.job == p.e.Job {
		return p.e.Interval(tick)
	}
	return p.job.Spec.Interval(tick)
}

// mayHoldLease reports whether a request without an answer may have been granted, or may still be.
func (p *Pending) mayHoldLease() bool { return p.reply == replyOpen || p.until != 0 }

// leaseOver reports whether any lease that the claim may hold has expired by now. The node that
// finds such a run settles it.
func (p *Pending) leaseOver(now int64) bool {
	return p.until != 0 && now > p.until+p.lease().Milliseconds()
}

// pause returns the wait before the claim is sent again. It doubles with each request.
func (p *Pending) pause(longest time.Duration) int64 {
	return wait.Backoff{First: 50 * time.Millisecond, Longest: longest}.After(p.tries + 1).Milliseconds()
}

// past is an instant, in Unix milliseconds, that lies in the past: a claim with this latest instant
// is never granted anew.
const past = 1

// Send returns the request for a claim that is sent now. The function owner makes a fresh owner.
func (c *Claims) Send(p *Pending, owner func() string, now int64) series.Claim {
	if p.owner == "" {
		p.owner = owner()
	}
	if p.purpose == forProbe && p.tries == 0 {
		p.job = p.e.Job // current rules apply to the run
	}
	p.state, p.reply, p.freed = stateSent, replyOpen, false
	p.tries++
	c.sent[p.job.Partition]++
	r := p.job.Rules
	interval := p.interval()
	deadline, late := r.StartWithin(interval)
	q := series.Claim{
		Key: p.job.Name, Owner: p.owner, Number: p.tick, After: p.after, Between: p.between, From: p.from,
		TTL: r.LeaseOf(interval), Deadline: deadline, Late: late, Attempts: r.Attempts, Rerun: r.Rerun,
		Window: r.Window, Overlap: r.Overlap, Backlog: p.purpose == forBacklog,
		Latest: now + c.cfg.Timeout.Milliseconds(), Fence: p.e.fence, Revision: c.cfg.Revisions.Of(p.job.Spec, now), Replicas: r.Replicas,
	}
	if p.purpose == forProbe {
		q.Next = p.e.Due()
	}
	q.Sharding = c.sharding(p)
	if p.former != nil {
		q.Late, q.Revision = series.ReasonRespecified, p.former.Revision
	}
	if p.stale || c.leaves(p.e) {
		q.Latest = past // an owner that already has the grant still gets it; any other claim expires
	}
	p.latest, p.seen = q.Latest, p.e.mark
	return q
}
