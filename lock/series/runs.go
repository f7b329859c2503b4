package series

import (
	"cmp"
	"time"
)

// RunState is the state of a run in the store.
type RunState uint8

// The states of a run. An open run is alive until its deadline. A run that is open past its
// deadline, given back or unstarted is over; one that is done or lost is settled.
const (
	RunNone RunState = iota
	RunOpen
	RunGivenBack // interrupted after it was started, as by a drain, and its function has returned; may run again
	RunUnstarted // granted and never started: the grant came too late, or its node stopped first; any owner may take it over, and it is no counted attempt
	RunWaiting   // decided to run after the alive run; may be taken over with its fence once that run is over
	RunDone      // its function returned, with any outcome
	RunLost
)

// A Run is one run of a series in the store.
type Run struct {
	Number   int64
	State    RunState
	Owner    string
	Fence    int64
	Attempt  int
	Granted  int64 // when its first attempt was granted, Unix ms
	Until    int64 // its deadline, Unix ms
	Replaced bool  // a newer number waits for its end

	Cancelled bool // an operator ended it: no attempt of it is granted any more; see [ActionCancel]

	// StartBy is the latest instant at which the first attempt of a manual run may start, Unix ms; 0: the
	// run is not manual. See [ActionRun].
	StartBy int64

	// For is the earlier number of the spec whose work the run does, for a backfill, and Room is the Room
	// of that backfill; 0: no run of a backfill. See [ActionBackfill].
	For, Room int64

	// Shards is how many shards the run has, from the grant on that opened its sheet: Until is the latest
	// instant then at which a free shard may start. 0: the run is not sharded.
	Shards int
}

// Manual reports whether an operator requested the run: see [ActionRun] and [ActionBackfill].
func (r *Run) Manual() bool { return r.StartBy != 0 }

// A Series is the state of a key in the store.
type Series struct {
	Key    string
	Now    int64         // the store's clock, Unix ms
	Mark   int64         // the highest decided number; 0: the series is not open
	Fence  int64         // the last fence
	Last   int64         // the latest number that ended ok
	Change int64         // how many control changes were made: see [Controlled]
	Paused bool          // also after the end of Pause, until a step of the store has recorded the numbers that it covered
	Pause  Pause         // zero unless Paused
	Left   int           // how many numbers of a backfill have no run yet: see [ActionBackfill]
	Skip   int64         // a number above the mark that is skipped for an operator when it is due; 0: none
	Runs   []Run         // not settled, waiting ones included, by number
	Sheet  Sheet         // of the run that is sharded
	Other  string        // a revision other than the caller's that another node used since the caller's was first seen, and within the last two minutes; "" if none
	Since  int64         // the start of the time in which the caller's spec has been in force without a break, by its text and zone, under any revision; Unix ms (Open only)
	Former []RevisionUse // the uses of other specs, and of this one before a break, by First, if numbers after Mark may be undecided that one of them has; Since of each is the start of its use (Open only)
	Err    error
}

// PausedAt reports whether a number at ms is recorded as paused if nothing changes.
func (s *Series) PausedAt(ms int64) bool { return s.Paused && s.Pause.Covers(ms) }

// Retired reports whether the series is retired: see [ActionRetire].
func (s *Series) Retired() bool { return s.Paused && s.Pause.Retired() }

// Until returns the deadline of an open run of the series, Unix ms. A sharded run has the latest deadline of the shards
// that were granted and are not settled; without any, the latest instant at which a free shard may start or another one was settled.
func (s *Series) Until(r *Run) (ms int64) {
	if r.Shards == 0 {
		return r.Until
	}
	settled := int64(0)
	for i := range s.Sheet.Shards {
		switch h := &s.Sheet.Shards[i]; {
		case h.settled():
			settled = max(settled, h.Ended)
		case h.Fence != 0:
			ms = max(ms, h.Until)
		}
	}
	return cmp.Or(ms, max(r.Until, settled))
}

// A RunRef identifies a granted run.
type RunRef struct {
	Key    string
	Number int64
	Owner  string
	Fence  int64
	TTL    time.Duration

	Replicas int // how many replicas must have a renewal; with fewer the answer is doubt with a *ReplicasError; 0: none

	Shard, Shards int // its index and the number of shards, if it is a shard: Fence is then the fence of the shard. Shards 0: the whole run
}

// A RenewAnswer is the answer to the renewal of a run.
type RenewAnswer struct {
	Alive    bool          // false with Err nil: lost
	Left     time.Duration // from the answer to the deadline
	Replaced bool          // a newer number waits: end soon
	Err      error         // doubt

	Cancelled bool // an operator cancelled the run: end soon
}

// An EndRequest ends a run.
type EndRequest struct {
	RunRef
	State   RunState // of the run after this: RunDone (also if zero), RunUnstarted or RunGivenBack
	Outcome string   // of RunDone: one of the outcomes, for the journal
	OK      bool     // of RunDone: the outcome is a success
	Error   string   // why it ended so, for the journal: at most MaxErrorText bytes of UTF-8, see ErrorText
}

// An EndAnswer is the answer to an EndRequest.
type EndAnswer struct {
	Ended   bool  // false with Err nil: lost, another step has settled the run
	Waiting int64 // the number that waits for this end; 0 if none
	Fence   int64 // the fence to take it over with
	Sum     *Sum  // the end of the number, if this was its last shard
	Err     error // doubt
}
