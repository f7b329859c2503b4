package series

import (
	"time"
)

// RunState is the state of a run in the store.
type RunState uint8

// The states of a run. Open is alive until its deadline; open past its
// deadline, given back and unstarted are over; done and lost are settled.
const (
	RunNone RunState = iota
	RunOpen
	RunGivenBack // interrupted after it was started; may run again
	RunUnstarted // granted and never started; any owner may take it, and it is no counted attempt
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
	Replaced bool  // a newer number waits for its end
}

// A Series is the state of a key as the store has it.
type Series struct {
	Key    string
	Now    int64         // the store's clock, Unix ms
	Mark   int64         // the highest decided number; 0: the series is not open
	Fence  int64         // the last fence
	Last   int64         // the latest number that ended ok
	Change int64         // how many control changes were made: see [Controlled]
	Paused bool          // also after the end of Pause, until a step of the store has written what it covered
	Pause  Pause         // zero unless Paused
	Runs   []Run         // that are not settled, waiting ones included, by number
	Other  string        // a revision other than the asker's that another node used since the asker's was seen first; "" if none
	Since  int64         // since when the asker's spec has been in force without a break, by its text and zone, whatever its revision was then; Unix ms (Open only)
	Former []RevisionUse // the uses of other specs, and of this one before a break, of which numbers after Mark may be undecided, by First; Since of each is that of its use (Open only)
	Err    error
}

// PausedAt reports whether a number at ms is recorded as paused if nothing changes.
func (s *Series) PausedAt(ms int64) bool { return s.Paused && s.Pause.Covers(ms) }

// Retired reports whether the series is retired: see [ActionRetire].
func (s *Series) Retired() bool { return s.Paused && s.Pause.Retired() }

// A RunRef names a granted run.
type RunRef struct {
	Key    string
	Number int64
	Owner  string
	Fence  int64
	TTL    time.Duration

	Replicas int // how many replicas must have a renewal, or it is doubt with a *ReplicasError; 0: not asked for
}

// A RenewAnswer is the answer to the renewal of a run.
type RenewAnswer struct {
	Alive    bool          // false with Err nil: lost
	Left     time.Duration // from the answer to the deadline
	Replaced bool          // a newer number waits: end soon
	Err      error         // doubt
}

// EndKind is how a run ends.
type EndKind uint8

// The ways to end a run.
const (
	EndDone      EndKind = iota // the function returned, whatever its outcome
	EndUnstarted                // the grant came too late, or the node stopped first
	EndGivenBack                // interrupted by a drain, its function has returned
)

// An EndRequest ends a run.
type EndRequest struct {
	RunRef
	Kind    EndKind
	Outcome string // EndDone: one of the outcomes, for the journal
	OK      bool   // EndDone: the outcome is a success
	Error   string // why it ended so, for the journal: at most MaxErrorText bytes of UTF-8, see ErrorText
}

// An EndAnswer is the answer to an EndRequest.
type EndAnswer struct {
	Ended   bool  // false with Err nil: lost, another step has settled the run
	Waiting int64 // the number that waits for this end; 0 if none
	Fence   int64 // the fence to take it over with
	Err     error // doubt
}
