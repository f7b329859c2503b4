package series

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// Verdict is the recorded decision of a number.
type Verdict string

// The verdicts. Ran is provisional until its outcome is known, and waiting until the number ran,
// was superseded or was missed.
const (
	VerdictOpened     Verdict = "opened"     // the series begins after To
	VerdictRan        Verdict = "ran"        // To was granted
	VerdictEnded      Verdict = "ended"      // attempt of To ended with Outcome
	VerdictSkipped    Verdict = "skipped"    // a run was alive, or an operator skipped the number: see Reason
	VerdictWaiting    Verdict = "waiting"    // To runs after the alive run
	VerdictSuperseded Verdict = "superseded" // To waited and a newer number took its place
	VerdictMissed     Verdict = "missed"
	VerdictPaused     Verdict = "paused"
	VerdictLost       Verdict = "lost"    // To was granted and never ended
	VerdictControl    Verdict = "control" // no number: an operator changed the series, or a pause reached its end; Reason is the [Action]

	VerdictUnreadable Verdict = "unreadable" // the line cannot be read; Error has its text, quoted and cut
)

// The reasons of a verdict.
const (
	ReasonDeadline = "deadline" // too late to start
	ReasonMisfire  = "misfire"  // passed over after an interruption
	ReasonOverlap  = "overlap"  // a run was alive
	ReasonLost     = "lost"     // its node died

	ReasonCancelled = "cancelled" // an operator cancelled its run
	ReasonOperator  = "operator"  // an operator skipped it

	ReasonRespecified = "respecified" // another spec replaced the spec of the number before it was decided
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
	OutcomeCancelled   = "cancelled"   // an operator cancelled it
	OutcomeInterrupted = "interrupted" // given back by a drain
	OutcomeUnstarted   = "unstarted"   // granted and never started
)

// A Line is one line of a journal. A line with From < To moved the mark: it is the verdict of To
// and of every number of the spec in (From, To]. A line with From == To is about To alone. The
// reason of the numbers between is Reason if Between is the line's own verdict, else ReasonMisfire.
type Line struct {
	At       int64   `json:"at"`                // the store's clock when it was written, Unix ms
	Verdict  Verdict `json:"verdict"`           // of To
	From     int64   `json:"from"`              // the mark before this step
	To       int64   `json:"to"`                // the number; of a merged line the highest one
	Between  Verdict `json:"between,omitempty"` // of the numbers strictly between From and To: VerdictMissed, or the line's own verdict in a merged or paused line; "" if the caller knew of none
	Reason   string  `json:"reason,omitempty"`
	Node     string  `json:"node,omitempty"`
	Revision string  `json:"revision,omitempty"`
	Fence    int64   `json:"fence,omitempty"`
	Attempt  int     `json:"attempt,omitempty"`
	Outcome  string  `json:"outcome,omitempty"` // of VerdictEnded; of VerdictRan if its end was written into the same line
	Ended    int64   `json:"ended,omitempty"`   // when it ended, Unix ms, if Outcome is set
	Error    string  `json:"error,omitempty"`   // the text of the error it ended with, as the function returned it: escape it before you show it

	// Of VerdictSkipped and VerdictWaiting: the run that blocked the number. A merged line names
	// one run alone. 0: not known.
	Blocker      int64 `json:"blocker,omitempty"` // its number
	BlockerFence int64 `json:"blockerFence,omitempty"`

	// Of VerdictRan and VerdictEnded of a sharded run: how many shards it has, and once they are settled
	// the end of each: see [ReadSheet].
	Shards int    `json:"shards,omitempty"`
	Sheet  string `json:"sheet,omitempty"`

	For int64 `json:"for,omitempty"` // of VerdictWaiting of a run of a backfill: the number whose work it does

	// Of VerdictControl, where From and To are the mark and Node is the operator. Of a cancel, Fence
	// and Attempt name the cancelled run; of a request for a run, Fence is the fence with which it waits.
	Change int64 `json:"change,omitempty"` // its number in the series
	Audit  int64 `json:"audit,omitempty"`  // the number of its record in the audit; 0: no record, since the store made the change itself
}

// UnreadableLine replaces, in a journal, a stored line that cannot be read.
func UnreadableLine(text string) Line {
	return Line{Verdict: VerdictUnreadable, Error: driver.Quote(text)}
}

// A RevisionUse is a time in which a revision was in use. A spec that comes back has one use more.
type RevisionUse struct {
	Revision string
	Spec     string
	Zone     string
	Policies string // of the latest opening
	Node     string // the latest node that opened with it
	First    int64  // Unix ms
	Last     int64  // Unix ms
	Since    int64  // the start of the time in which its spec has been in force without a break, under any revision; Unix ms
}

// A Journal is the history that a store keeps of a series.
type Journal struct {
	Key       string
	Lines     []Line        // oldest first, without gaps
	Revisions []RevisionUse // by First
	Truncated bool          // older lines were deleted
	Faults    []string      // other data of it that cannot be read, quoted and cut

	// Exceptions are the lines before Lines that were not deleted with their neighbours, oldest first:
	// see [Line.Exception]. Only a request for all lines returns them.
	Exceptions []Line
	// ExceptionsSince is when the exceptions begin to be complete, Unix ms: older ones were deleted too.
	// Zero: none was.
	ExceptionsSince int64
}

// All returns the exceptions, and after them the lines. Between two exceptions other lines are missing.
func (j *Journal) All() []Line { return slices.Concat(j.Exceptions, j.Lines) }

// Journaled is a Numbered driver that keeps the verdicts of each series, in
// order, bounded: the oldest go first.
type Journaled interface {
	// Journal returns the newest n lines of a series, oldest first (n <= 0: all
	// that are kept), and the revisions that were seen.
	Journal(ctx context.Context, key string, n int) (Journal, error)
	// Keys lists the series of the namespace, sorted.
	Keys(ctx context.Context) ([]string, error)
}
