package lock

import (
	"context"
	"strings"
	"time"
)

// Numbered is a Driver whose keys can be series: in a series each number is
// decided once, in one atomic step of the store: granted, or settled with a
// reason. For a scheduler the key is a job and the number a tick in Unix
// milliseconds.
//
// The methods take batches, split them as the store needs, and answer in the
// order of the request, one answer per request. An answer whose Err is set, or
// whose Kind is [Unknown], is doubt: ask again, with the same owner.
// All methods may be called concurrently.
type Numbered interface {
	// Open registers series and reads them. Only Open creates a mark.
	Open(ctx context.Context, os []Opening) []Series
	// Claim asks for numbers.
	Claim(ctx context.Context, cs []Claim) []Answer
	// RenewRuns moves the deadlines of runs to now + TTL.
	RenewRuns(ctx context.Context, rs []RunRef) []Renewed
	// ReleaseRuns ends runs.
	ReleaseRuns(ctx context.Context, es []Ending) []Ended
	// Look reads series and writes nothing. A key that was never opened has Mark 0.
	Look(ctx context.Context, keys []string) []Series
	// Pause stops grants of a series, takeovers included; runs go on. Change is
	// the operator's number for this change, one above the series' PauseChange;
	// a change that was made already is not made twice. Of a series that was never
	// opened the Err is ErrNotOpen: there is nothing to pause.
	Pause(ctx context.Context, key string, change int64) Series
	// Resume settles runs that are over, covers (mark, now] as paused and ends
	// the pause. The mark never goes down. ErrNotOpen as of Pause.
	Resume(ctx context.Context, key string, change int64) Series
}

// Journaled is a Numbered driver that keeps the verdicts of each series, in
// order, bounded: the oldest go first.
type Journaled interface {
	// Journal returns the newest n lines of a series, oldest first (n <= 0: all
	// that are kept), and the revisions that were seen.
	Journal(ctx context.Context, key string, n int) (Journal, error)
	// Keys lists the series of the namespace, sorted.
	Keys(ctx context.Context) ([]string, error)
}

// Overlap says what a claim does while an earlier run of its series is alive.
type Overlap uint8

// The overlap policies.
const (
	OverlapSkip    Overlap = iota // the number is spent as skipped
	OverlapQueue                  // the number waits; an older waiting one is superseded
	OverlapAllow                  // runs may overlap
	OverlapReplace                // as queue, and the alive run is told to end
)

// An Opening registers a series.
type Opening struct {
	Key      string
	Node     string // who opens it, for the journal
	Revision string // what the spec means to this node; recorded, never part of the identity
	Spec     string // the text the revision was made from
	Zone     string // the zone's name
	Policies string // what else readers of the journal must know, in the asker's words; recorded with the revision
	Mark     int64  // the highest mark this node has seen; 0 if none
}

// A Claim asks for one number of a series.
type Claim struct {
	Key      string
	Owner    string        // node/unique: fresh for each attempt to get a lease, the same when asking again after doubt
	Number   int64         // what is asked for: Unix milliseconds
	After    int64         // the number before Number in the asker's own spec, or the mark of a gap it covers
	Between  int           // how many numbers of the asker's spec lie between After and Number; they are missed
	From     int64         // 0, or the fence of the run (or waiting number) to take over
	TTL      time.Duration // at least MinTTL
	Deadline time.Duration // how late the first attempt may start
	Late     string        // the reason recorded when Deadline has passed: ReasonDeadline (also if empty) or ReasonMisfire
	Attempts int           // how many attempts a number may have; at least 1
	Rerun    bool          // whether a run whose node died may have another attempt
	Window   time.Duration // how long after Number another attempt may be granted; 0: no bound
	Overlap  Overlap
	Backlog  bool   // never spend Number because of an alive run: answer Held
	Latest   int64  // the latest store instant, Unix ms, at which an answer is still wanted; in the past it asks only whether this owner was granted
	Fence    int64  // the highest fence of this key the asker has seen
	Revision string // of the asker's spec
	Replicas int    // how many replicas must have a grant, or it is undone and doubt with a *ReplicasError; 0: not asked for
}

// Kind is the kind of an answer.
type Kind uint8

// The kinds of answers. Granted is the only one that allows to run.
const (
	Unknown Kind = iota // doubt: no answer, or no mark; ask again with the same owner
	Granted             // yours until Left has passed
	Over                // yours once, and over: this owner is never granted again
	Passed              // decided already; the fields name the run if it is known
	Held                // a run is alive and Number must wait: look again when it ends
	Early               // not due on the store's clock: ask again after Wait
	Ahead               // the mark lies in the store's future: doubt, an operator has to rewind
	Gap                 // numbers between Mark and After are undecided
	Orphan              // the named run is over and may run again: take it over first
	Expired             // the store read the request after its Latest instant; nothing was done
	Skipped             // spent by this claim: a run is alive
	Waiting             // spent by this claim and recorded as waiting for the alive run's end
	Missed              // spent by this claim: too late
	Paused              // spent by this claim: the series is paused
)

// An Answer is the store's answer to a claim.
type Answer struct {
	Kind    Kind
	Number  int64         // the number of the run that the answer speaks of: the granted one, the alive one, the orphan
	Node    string        // the node of that run, or who decided Number
	Fence   int64         // the fence of that run; of Waiting: the fence to take the waiting number over with
	Attempt int           // the attempt of that run
	State   RunState      // the state of that run; NoRun if the store knows of none
	Left    time.Duration // how long that run stays alive; 0 if it is over
	Wait    time.Duration // Early: ask again after it. Granted: start after it
	Mark    int64         // the mark after this step
	Last    int64         // the latest number that ended ok; 0 if none
	Now     int64         // the store's clock, Unix ms
	From    int64         // if this step moved the mark: where it stood before; else 0
	Settled []Settled     // other numbers that this step settled
	Lease   *Lease        // of a grant; a Locker sets it
	Err     error         // why Kind is Unknown
}

// NodeOf returns the node in an owner: what stands before the last slash.
func NodeOf(owner string) string {
	owner, _, _ = CutNote(owner)
	return owner[:max(strings.LastIndexByte(owner, '/'), 0)]
}

// A Settled is a number that a step settled on its way.
type Settled struct {
	Number  int64
	Fence   int64
	Attempt int
	Verdict Verdict // VerdictLost, VerdictMissed or VerdictSuperseded
}

// RunState is the state of a run in the store.
type RunState uint8

// The states of a run. Open is alive until its deadline; open past its
// deadline, given back and unstarted are over; done and lost are settled.
const (
	NoRun RunState = iota
	RunOpen
	RunGivenBack // interrupted after it was started; may run again
	RunUnstarted // granted and never started; anyone may take it, and it is no counted attempt
	RunWaiting   // decided to run after the alive run; may be taken over with its fence once that is over
	RunDone
	RunLost
)

// A Run is one run of a series as the store has it.
type Run struct {
	Number   int64
	State    RunState
	Owner    string
	Fence    int64
	Attempt  int
	Granted  int64 // when its first attempt was granted, Unix ms
	Until    int64 // its deadline, Unix ms
	Replaced bool  // it was told to end
}

// A Series is the state of a key as the store has it.
type Series struct {
	Key         string
	Now         int64 // the store's clock, Unix ms
	Mark        int64 // the highest decided number; 0: the series is not open
	Fence       int64 // the last fence
	Last        int64 // the latest number that ended ok
	Paused      bool
	PauseChange int64
	Runs        []Run  // that are not settled, waiting ones included, by number
	Other       string // a revision other than the asker's that another node used since the asker's was seen first; "" if none
	Since       int64  // when the asker's spec was seen first, by its text and zone, whatever its revision was then; Unix ms (Open only)
	Err         error
}

// A RunRef names a granted run.
type RunRef struct {
	Key    string
	Number int64
	Owner  string
	Fence  int64
	TTL    time.Duration

	Replicas int // how many replicas must have a renewal, or it is doubt with a *ReplicasError; 0: not asked for
}

// A Renewed is the answer to a renewal.
type Renewed struct {
	Alive    bool          // false with Err nil: lost
	Left     time.Duration // from the answer to the deadline
	Replaced bool          // a newer number waits: end soon
	Err      error         // doubt

	lost error // of a plain lease that is not alive: the driver's answer
}

// How says how a run ends.
type How uint8

// The ways to end a run.
const (
	Done         How = iota // the function returned, whatever its outcome
	NeverStarted            // the grant came too late, or the node stopped first
	GivenBack               // interrupted by a drain, its function has returned
)

// An Ending ends a run.
type Ending struct {
	RunRef
	How     How
	Outcome string // Done: one of the outcomes, for the journal
	OK      bool   // Done: the outcome is a success
	Error   string // why it ended so, for the journal: at most MaxErrorText bytes of UTF-8, see ErrorText
}

// An Ended is the answer to an ending.
type Ended struct {
	Ended   bool  // false with Err nil: lost, another step has settled the run
	Waiting int64 // the number that waits for this end; 0 if none
	Fence   int64 // the fence to take it over with
	Err     error // doubt
}
