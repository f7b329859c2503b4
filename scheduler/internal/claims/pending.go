package claims

import (
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Pending claim is one that this node wants an answer to. It is sent by the same owner
// until the store has answered it, since a lost answer may have been a grant.
type Pending struct {
	e       *entry
	job     *job.Job // the job as it was when the claim was made; that of the entry may have been replaced since
	tick    int64
	after   int64       // the tick before it, or the mark of a gap it covers
	between int         // how many ticks it covers as missed
	from    int64       // the fence of the run to take over; 0: a fresh tick
	former  *job.Former // the spec that has the tick, if that is not in force any more
	owner   string      // one for its life, so that it learns of whatever it was granted
	tries   int
	seen    int64 // the mark that this node knew when it was sent last
	latest  int64 // the latest instant at which the request sent last may be granted
	until   int64 // the same of requests that were not answered; 0: all were, or are void

	probe   bool // of a run that another owner has
	doubt   bool // sent, and not answered yet
	failed  bool // its latest request that is over was not answered
	freed   bool // a run ended since it was sent: the run in its way may be gone
	held    bool // answered so: a run is in the way
	stale   bool // a newer tick took its place: only ask whether it was granted
	backlog bool // one of the missed ticks that run in order
	slot    bool // has a place among the concurrent runs
	queued  bool // waits for one
	settle  bool // its deadline is over: it needs no slot to be recorded as missed
}

// Job returns the job of the claim.
func (p *Pending) Job() *job.Job { return p.job }

// String names the claim, as job@tick.
func (p *Pending) String() string { return p.job.Name + "@" + text.Tick(p.tick) }

// spec returns the spec that has the tick.
func (p *Pending) spec() *spec.Schedule {
	if p.former != nil {
		return p.former.Spec
	}
	return p.job.Spec
}

// Shard returns the shard of the store that the claim goes to.
func (p *Pending) Shard() int { return int(p.job.Shard) }

// Lease returns for how long the tick is leased when it is granted.
func (p *Pending) Lease() time.Duration {
	if l := p.job.Rules.Lease; l != 0 {
		return l
	}
	return p.job.Rules.LeaseOf(p.interval())
}

// interval returns the distance from the claimed tick to the one after it; 0 if there is none.
func (p *Pending) interval() time.Duration {
	if p.job == p.e.Job {
		return p.e.Interval(p.tick)
	}
	return p.job.Spec.Interval(p.tick)
}

// mayHoldLease reports whether the claim may have been granted, or may be yet, by a
// request that was not answered.
func (p *Pending) mayHoldLease() bool { return p.doubt || p.until != 0 }

// leaseOver reports whether a lease that the claim may hold is over by now: the node that
// finds the run settles it.
func (p *Pending) leaseOver(now int64) bool {
	return p.until != 0 && now > p.until+p.Lease().Milliseconds()
}

// pause is how long to wait before the claim is sent again. It doubles with each request.
func (p *Pending) pause(longest time.Duration) int64 {
	return min(50<<min(p.tries, 7), longest.Milliseconds())
}

// past is an instant, in Unix milliseconds, until which nothing is granted now.
const past = 1

// Send returns the request of a claim that is sent now. The owner makes a fresh owner.
func (c *Claims) Send(p *Pending, owner func() string, now int64) series.Claim {
	if p.owner == "" {
		p.owner = owner()
	}
	if p.probe && p.tries == 0 {
		p.job = p.e.Job // the run is judged by the rules of now
	}
	p.doubt, p.freed, p.held = true, false, false
	p.tries++
	r := p.job.Rules
	interval := p.interval()
	deadline, late := r.StartWithin(interval)
	q := series.Claim{
		Key: p.job.Name, Owner: p.owner, Number: p.tick, After: p.after, Between: p.between, From: p.from,
		TTL: r.LeaseOf(interval), Deadline: deadline, Late: late, Attempts: r.Attempts, Rerun: r.Rerun,
		Window: r.Window, Overlap: r.Overlap, Backlog: p.backlog,
		Latest: now + c.cfg.Timeout.Milliseconds(), Revision: c.cfg.Revisions.Of(p.job.Spec, now), Replicas: r.Replicas,
	}
	if p.former != nil {
		q.Late, q.Revision = series.ReasonRespecified, p.former.Revision
	}
	if p.stale || c.leaves(p.e) {
		q.Latest = past // only an owner that was granted gets more than a no
	}
	p.latest, p.seen = q.Latest, p.e.mark
	return q
}
