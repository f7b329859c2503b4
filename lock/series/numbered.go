package series

import (
	"context"
	"fmt"
	"time"
)

// Numbered is a Driver whose keys can be series: in a series each number is decided once, in one
// atomic step of the store: granted, or settled with a reason. For a scheduler the key is a job and
// the number a tick in Unix milliseconds.
//
// The methods take batches, split them as the store needs, and return one answer per request, in
// the order of the requests. An answer whose Err is set, or whose Kind is [KindUnknown], is doubt:
// repeat the request, with the same owner. All methods may be called concurrently.
type Numbered interface {
	// Open registers series and reads them. Only Open creates a mark.
	Open(ctx context.Context, os []OpenRequest) []Series
	// Claim claims numbers.
	Claim(ctx context.Context, cs []Claim) []Answer
	// RenewRuns moves the deadlines of runs to now + TTL.
	RenewRuns(ctx context.Context, rs []RunRef) []RenewAnswer
	// ReleaseRuns ends runs.
	ReleaseRuns(ctx context.Context, es []EndRequest) []EndAnswer
	// ReadSeries reads series and writes nothing. A key that was never opened has Mark 0.
	ReadSeries(ctx context.Context, keys []string) []Series
}

// Overlap is the policy of a claim while an earlier run of its series is alive.
type Overlap uint8

// The overlap policies.
const (
	OverlapSkip    Overlap = iota // the number is spent as skipped
	OverlapQueue                  // the number waits; an older waiting one is superseded
	OverlapAllow                  // runs may overlap
	OverlapReplace                // as OverlapQueue, and the renewal of the alive run requests its end
)

// An OpenRequest registers a series.
type OpenRequest struct {
	Key      string
	Node     string // the node that opens it, for the journal
	Revision string // the meaning of the spec to this node; recorded, never part of the identity
	Spec     string // the text from which the revision was made
	Zone     string // the zone's name
	Policies string // other facts for readers of the journal, in the caller's words; recorded with the revision
	Mark     int64  // the highest mark this node has seen; 0 if none

	// Begin is the mark of a series that is new to the store, and the start of the time in which
	// its spec has been in force, if Begin is before the store's now and not before Mark. 0: the
	// store's now.
	Begin int64

	// Unseen is the longest time for which the spec may not have been seen, while another one was,
	// and still count as in force without a break. 0: any time, because this node has had the
	// series open since.
	Unseen time.Duration
}

// A Claim is a request for one number of a series.
type Claim struct {
	Key      string
	Owner    string        // node/unique: new for each attempt to get a lease, the same when the claim is repeated after doubt
	Number   int64         // the claimed number: Unix milliseconds
	After    int64         // the number before Number in the caller's own spec, or the mark of a gap it covers
	Between  int           // how many numbers of the caller's spec lie between After and Number; they are missed
	From     int64         // 0, or the fence of the run (or waiting number) to take over
	Next     int64         // of a takeover: the next number of the caller's spec; 0: there is none. A run of a backfill does not start shortly before it: see Control.Room
	TTL      time.Duration // at least driver.MinTTL
	Deadline time.Duration // how late the first attempt may start
	Late     string        // the reason recorded when Deadline has passed: ReasonDeadline (also if empty) or ReasonMisfire. With ReasonRespecified Number is never granted: Deadline has passed
	Attempts int           // how many attempts a number may have; at least 1
	Rerun    bool          // whether a run whose node died may have another attempt
	Window   time.Duration // how long after Number another attempt may be granted; 0: no bound
	Overlap  Overlap
	Backlog  bool      // never spend Number because of an alive run: answer Held
	Latest   int64     // the latest store instant, Unix ms, at which an answer is of use; if it is past, the claim only returns whether this owner was granted
	Fence    int64     // the highest fence of this key that the caller has seen
	Revision string    // of the caller's spec
	Sharding *Sharding // nil: the number is not sharded
	Replicas int       // how many replicas must have a grant; with fewer it is undone, and the answer is doubt with a *ReplicasError; 0: none
}

// Kind is the kind of an answer.
type Kind uint8

// The kinds of answers. KindGranted is the only one that permits a run.
const (
	KindUnknown  Kind = iota // doubt: no answer, or no mark; repeat the claim with the same owner
	KindGranted              // this owner has the run until Left has passed
	KindOver                 // this owner had the run, which is over: it is never granted again
	KindPassed               // decided already; the fields describe the run if it is known
	KindHeld                 // a run is alive and Number must wait: claim it again when that run ends
	KindEarly                // not due on the store's clock: claim it again after Wait
	KindAhead                // the mark lies in the store's future: doubt, an operator must rewind it
	KindGap                  // numbers between Mark and After are undecided
	KindOrphan               // the named run is over and may run again: take it over first
	KindExpired              // the store read the request after its Latest instant; nothing was done
	KindSkipped              // spent by this claim: a run is alive
	KindWaiting              // spent by this claim and recorded as waiting for the alive run's end
	KindMissed               // spent by this claim: too late
	KindPaused               // spent by this claim: the series is paused
	KindOperator             // spent by this claim: an operator skips the number
)

var kinds = [...]string{"doubt", "granted", "over", "passed", "held", "early", "ahead", "gap", "orphan", "expired", "skipped", "waiting", "missed", "paused", "operator"}

// String returns the word for the kind in logs and metrics, as "granted".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Answer is the store's answer to a claim.
type Answer struct {
	Kind    Kind
	Number  int64         // the number of the run that the answer describes: the granted one, the alive one, the orphan
	Node    string        // the node of that run, or the node that decided Number
	Fence   int64         // the fence of that run; of KindWaiting: the fence to take the waiting number over with
	Attempt int           // the attempt of that run
	State   RunState      // the state of that run; RunNone if the store has none
	For     int64         // the number whose work that run does for a backfill; 0: its own
	Left    time.Duration // how long that run stays alive; 0 if it is over
	Wait    time.Duration // KindEarly: claim again after it. KindGranted: start after it
	Mark    int64         // the mark after this step
	Last    int64         // the latest number that ended ok; 0 if none
	Now     int64         // the store's clock, Unix ms
	From    int64         // if this step moved the mark: the mark before; else 0
	Settled []Settled     // other numbers that this step settled
	Of      int           // of a sharded run: how many shards it has
	Free    int           // how many of them may be granted to the caller's node now; Left is then the time until the first lease of a shard ends, or until other nodes may no longer start their shards of a broadcast
	Shards  []ShardGrant  // of KindGranted of a sharded run: the shards that this owner has; there may be none
	Sum     *Sum          // the sharded run that this step settled, because its last shard had its end or may not run again
	Err     error         // why Kind is KindUnknown
}

// Highest returns the highest fence that the answer grants.
func (a *Answer) Highest() int64 {
	fence := a.Fence
	for i := range a.Shards {
		fence = max(fence, a.Shards[i].Fence)
	}
	return fence
}

// A Settled is another number that a step settled.
type Settled struct {
	Number  int64
	Fence   int64
	Attempt int
	Verdict Verdict // VerdictLost, VerdictMissed, VerdictPaused or VerdictSuperseded
}

// Peeker is a Numbered driver that can return which numbers are decided at much less than the cost
// of claims. If many nodes claim each number, all but one of them need to know no more.
type Peeker interface {
	// Peek returns, in the order of ps, the answer to a claim by an owner that the store has not
	// seen, if that answer is KindPassed, and nil otherwise: then claim the number. It grants
	// nothing and decides nothing. Answers may share memory: do not write to them. Unless whole is
	// set, an answer may omit Last, and an answer about a settled run all fields but Kind, Number,
	// State, Mark and Now. An error is doubt about all numbers.
	Peek(ctx context.Context, ps []NumberRef, whole bool) ([]*Answer, error)
}

// A GroupPeeker is a Peeker that keeps for a few seconds which groups of numbers are decided. In a large
// fleet, a few nodes peek at each number of a group. All other nodes ask whether one of those found
// that all numbers of the group are decided, which costs the same for one number and for a thousand.
type GroupPeeker interface {
	Peeker
	// Decided reports whether KeepDecided was called for the group within GroupLife. The answer false
	// proves nothing, and neither does an error: then peek.
	Decided(ctx context.Context, g Group) (bool, error)
	// KeepDecided keeps for GroupLife that all numbers of the group are decided. If the store
	// forgets decisions, it has forgotten the groups that were kept after them too.
	KeepDecided(ctx context.Context, g Group) error
	// Noticed reports whether this driver was notified, within GroupLife, that KeepDecided was called for the group. It sends no
	// request. False proves nothing: then ask.
	Noticed(g Group) bool
}

// A Group is a set of numbers of the series of one partition. Callers choose the values so that sets that
// differ have different ones.
type Group struct {
	Partition int   // see [Partitioned]; 0 if the store has one partition
	At        int64 // when its numbers are due: the scheduler's span, in Unix milliseconds
	Count     int
	Sum       uint64 // of hashes of its numbers and their series
}

// String returns the name by which stores keep the group within its partition.
func (g *Group) String() string { return fmt.Sprintf("%d.%d.%x", g.At, g.Count, g.Sum) }

// GroupLife is the time for which a group is kept, by the store's clock.
const GroupLife = 10 * time.Second

// A NumberRef names one number of a series.
type NumberRef struct {
	Key    string
	Number int64 // Unix milliseconds
}
