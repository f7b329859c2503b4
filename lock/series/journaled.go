package series

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

// Verdict is the recorded decision of a number.
type Verdict string

// The verdicts. Ran is provisional until its outcome is known, waiting until it
// ran, was superseded or was missed.
const (
	VerdictOpened     Verdict = "opened"     // the series begins after To
	VerdictRan        Verdict = "ran"        // To was granted
	VerdictEnded      Verdict = "ended"      // attempt of To ended with Outcome
	VerdictSkipped    Verdict = "skipped"    // a run was alive
	VerdictWaiting    Verdict = "waiting"    // To runs after the alive run
	VerdictSuperseded Verdict = "superseded" // To waited and a newer number took its place
	VerdictMissed     Verdict = "missed"
	VerdictPaused     Verdict = "paused"
	VerdictLost       Verdict = "lost"    // To was granted and never ended
	VerdictControl    Verdict = "control" // no number: an operator changed the series, or a pause reached its end; Reason is the [Action]

	VerdictUnreadable Verdict = "unreadable" // what stands here cannot be read; Error has it, quoted and cut
)

// The reasons of a verdict.
const (
	ReasonDeadline = "deadline" // too late to start
	ReasonMisfire  = "misfire"  // passed over after an interruption
	ReasonOverlap  = "overlap"  // a run was alive
	ReasonLost     = "lost"     // its node died

	ReasonRespecified = "respecified" // another spec took the place of its own before it was decided
)

// The outcomes of a run.
const (
	OutcomeOK          = "ok"
	OutcomeSkipped     = "skipped" // its function found nothing to do
	OutcomeFailed      = "failed"
	OutcomePanic       = "panic"
	OutcomeTimeout     = "timeout"
	OutcomeLost        = "lost"
	OutcomeReplaced    = "replaced"
	OutcomeInterrupted = "interrupted" // given back by a drain
	OutcomeUnstarted   = "unstarted"   // granted and never started
)

// A Line is one line of a journal. A line with From < To moved the mark: it is
// the verdict of To and of every number of the spec in (From, To]. A line with
// From == To speaks of To alone. The reason of the numbers between is Reason if
// Between is the line's own verdict, else ReasonMisfire.
type Line struct {
	At       int64   // the store's clock when it was written, Unix ms
	Verdict  Verdict // of To
	From     int64   // the mark before this step
	To       int64   // the number; of a merged line the highest
	Between  Verdict // of the numbers strictly between From and To: VerdictMissed, or the line's own verdict in a merged or paused line; "" if the asker knew of none
	Reason   string
	Node     string
	Revision string
	Fence    int64
	Attempt  int
	Outcome  string // of VerdictEnded; of VerdictRan when its end was written into the same line
	Ended    int64  // when it ended, Unix ms, if Outcome is set
	Error    string // the text of the error it ended with, as the function returned it: escape it before showing it

	// Of VerdictSkipped and VerdictWaiting: the run that was in the way. A merged
	// line speaks of one run alone. 0: not known.
	Blocker      int64 // its number
	BlockerFence int64

	// Of VerdictControl, where From and To are the mark and Node is the operator.
	Change int64 // its number in the series
	Audit  int64 // the number of its record in the audit; 0: it has none, since the store did it by itself
}

// UnreadableLine stands in a journal for what a store has there and cannot read.
func UnreadableLine(text string) Line {
	return Line{Verdict: VerdictUnreadable, Error: driver.Quote(text)}
}

// A RevisionUse says when a revision was in use. A spec that comes back has one use more.
type RevisionUse struct {
	Revision string
	Spec     string
	Zone     string
	Policies string // of the opening that was seen last
	Node     string // which node was seen with it last
	First    int64  // Unix ms
	Last     int64  // Unix ms
	Since    int64  // since when its spec has been in force without a break, whatever its revision was then; Unix ms
}

// A Journal is what a store kept of a series.
type Journal struct {
	Key       string
	Lines     []Line        // oldest first
	Revisions []RevisionUse // by First
	Truncated bool          // older lines existed
	Faults    []string      // what else of it cannot be read, quoted and cut
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
