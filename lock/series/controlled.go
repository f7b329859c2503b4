package series

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cronce/cronce/lock/driver"
)

// Controlled is a Numbered driver in which an operator steers series. Each change is one
// atomic step of the store: it changes the series, writes one line with
// [VerdictControl] into its journal, and appends one [AuditRecord].
type Controlled interface {
	// Control makes a change. A repeated request with the same Op changes nothing more and returns
	// the Change and Audit of the first answer, as long as the Op is among the latest [KeptOps] of
	// the series; a copy that arrives later is refused by its Seen. An answer whose
	// Err is set is doubt: repeat the request, with the same Op.
	Control(ctx context.Context, c Control) ControlAnswer
	// Audit returns the newest n records (n <= 0: all that are kept) of a series, or of the
	// namespace if key is empty, in the order of their instants; the records of one partition are in
	// the order of their numbers. A store keeps the newest MaxAudit of each partition. The records of a
	// series come with those that cannot be read and may be of it.
	Audit(ctx context.Context, key string, n int) ([]AuditRecord, error)
}

// A RunNotifier is a Controlled driver that notifies nodes of requests and cancels of runs. On other
// stores a node reads the audit for requests, and learns of a cancel when it renews the run next.
type RunNotifier interface {
	// NotifyRuns calls notify with the key of each series in which a run is requested or cancelled,
	// until ctx ends, the connection breaks or the store refuses that: then it returns the error. A notice may be
	// lost, and a call of notify delays the next one.
	NotifyRuns(ctx context.Context, notify func(key string)) error
}

// The bounds of control changes and their records.
const (
	MaxAudit = 10_000 // records of one partition
	KeptOps  = 16     // operations of one series that are recognized when they are repeated

	MaxRequested = 16     // manual runs of one series that have not started yet
	MaxBackfill  = 10_000 // numbers of one backfill
)

// An Action is the kind of a control change.
type Action string

// The actions.
const (
	ActionPause  Action = "pause"  // no number is granted, takeovers included; runs go on; see Control.Due
	ActionResume Action = "resume" // runs that are over are settled, (mark, now] is paused, and the pause ends
	ActionRetire Action = "retire" // runs that are over are settled, and the series is retired until it is opened again; see Pause.Retired
	ActionCancel Action = "cancel" // no attempt of the run of Control.Number is granted any more, and its holder ends it; a run that is not alive is settled
	ActionSkip   Action = "skip"   // Control.Number, which is not decided yet, is skipped when it is due; 0 takes that back
	ActionRun    Action = "run"    // a manual run waits for a claim with its fence: see MaxRequested and Control.Overlap
	// ActionBackfill starts a backfill: one after another, a manual run waits for the work of each of
	// Control.Numbers, and the step that settles one makes the next. Without Numbers it ends the
	// backfill, and cancels the run that waits; an alive one goes on. A pause and a retirement end a backfill in the same way.
	ActionBackfill Action = "backfill"

	ActionLapse Action = "until" // a pause reached its end: made by the store itself, without an audit record
)

// actions are those that an operator may request.
var actions = []Action{ActionPause, ActionResume, ActionRetire, ActionCancel, ActionSkip, ActionRun, ActionBackfill}

// AnySeen is the [Control.Seen] of a caller that has not read the series.
const AnySeen = -1

const (
	maxOp       = 64 // bytes
	leastReason = 3  // characters
	mostReason  = 500
)

// A Control is a request for one change.
type Control struct {
	Key      string
	Action   Action
	Op       string  // of this request, new for each intent and the same when it is repeated: 1 to 64 bytes, as an owner
	Who      string  // the operator or the program that sends the request; 1 to 200 bytes, as an owner
	Reason   string  // 3 to 500 characters that print; may be empty in a resume
	Until    int64   // of a pause: the last paused instant, Unix ms; 0: until a resume. Of a run: the latest instant at which it may start
	Due      int64   // of a pause or a retirement: the latest number that was due before it; undecided numbers up to it are missed, unless the series is paused; 0: none
	Revision string  // the revision of the spec that has Due
	Number   int64   // of a cancel: the number of the run; of a skip: the number
	Fence    int64   // of a cancel: the fence of the attempt that the caller has read; 0: any
	Overlap  Overlap // of a run: OverlapSkip refuses it while a run is alive or another manual run may still start, OverlapQueue waits for that run's end, OverlapAllow does not, OverlapReplace also requests that end
	Anyway   bool    // of a run and a backfill: also in a pause
	Numbers  []int64 // of a backfill: numbers of the spec that are decided, in rising order, at most MaxBackfill
	Room     int64   // of a backfill: how long a run of it may take, in ms. None is granted so shortly before the next number of the spec, unless runs may overlap
	Scope    string  // of a run: the request beside its Until; of a backfill with Numbers: the interval and the choice that they were planned for; in 1 to 200 bytes as an owner, or empty. A repeated request has the same, and the audit keeps it
	Replicas int     // how many replicas must have the change; with fewer it was made, and the answer is doubt with a *ReplicasError; 0: none

	Seen int64 // the series' Change that the caller has read: if it has changed, the request is refused; AnySeen: any
}

// Body returns a digest of the fields that a repeated request must have in common with the first
// one. Seen, Due and Revision are no part of it, because the caller may have read the series again.
func (c *Control) Body() string {
	text := string(c.Action) + "\x00" + c.Who + "\x00" + c.Reason + "\x00" + strconv.FormatInt(c.Until, 10)
	if c.Number != 0 || c.Fence != 0 || c.Action == ActionRun {
		text += fmt.Sprintf("\x00%d\x00%d\x00%d\x00%v", c.Number, c.Fence, c.Overlap, c.Anyway)
	}
	if c.Action == ActionRun && c.Scope != "" {
		text += "\x00" + c.Scope
	}
	if c.Action == ActionBackfill {
		text += fmt.Sprintf("\x00%v\x00%d\x00%v\x00%s", c.Numbers, c.Room, c.Anyway, c.Scope)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// A Refusal is the reason why a change was not made.
type Refusal string

// The refusals.
const (
	RefusedNotOpen   Refusal = "not-open"   // the series was never opened
	RefusedOp        Refusal = "op-used"    // the Op was used for another change of the series
	RefusedChanged   Refusal = "changed"    // another change was made since the one that the caller has read: see Latest
	RefusedNotPaused Refusal = "not-paused" // there is no pause to end
	RefusedPast      Refusal = "past"       // Until is not after the store's now
	RefusedAlive     Refusal = "alive"      // a run is alive, or a manual run may still start
	RefusedOver      Refusal = "over"       // the run is settled, or the store has none of this number; of a skip: the number is decided; of the end of a backfill: there is nothing left to end
	RefusedFence     Refusal = "fence"      // the run has another attempt than the one with Fence
	RefusedCancelled Refusal = "cancelled"  // the run is cancelled already
	RefusedPaused    Refusal = "paused"     // the series is paused, and the run was not requested anyway
	RefusedFull      Refusal = "full"       // MaxRequested manual runs have not started yet, or of a backfill: another one is not over
	RefusedUndecided Refusal = "undecided"  // of a backfill: its last number is not decided
)

// A ControlAnswer is the answer to a [Control]. Without an Err, either Change or Refusal is set.
type ControlAnswer struct {
	Made    bool    // this request made the change; if Change is set and Made is not, an earlier request with the same Op did
	Change  int64   // the number of the change that the Op made in its series; 0: none
	Audit   int64   // the number of its record in the audit of its partition
	Number  int64   // of a run, if Made: its number; of a backfill: of its first run
	Refusal Refusal // why nothing was changed; "" if the change was made
	Latest  Change  // the latest change of the series
	Series  Series  // after this step
	Err     error   // doubt: repeat the request with the same Op
}

// A Change is the latest control change of a series. The zero Change is none.
type Change struct {
	Action Action
	Op     string
	Who    string
	Reason string
	At     int64 // the store's clock, Unix ms
}

// A Pause describes the pause of a series. The zero Pause is none.
type Pause struct {
	Op     string
	Who    string
	Reason string
	Since  int64 // Unix ms
	Until  int64 // the last instant that is paused, Unix ms; 0: until a resume
}

// Retired reports whether the series is retired: it is paused, its mark does not change, and the
// next [Numbered.Open] ends the retirement at the store's now.
func (p *Pause) Retired() bool { return p.Until == driver.MaxNumber }

// Covers reports whether a number at ms is paused by this pause. A pause whose end has passed stays
// recorded until a step of the store writes the verdicts of the numbers that it covered.
func (p *Pause) Covers(ms int64) bool { return p.Until == 0 || ms <= p.Until }

// An AuditRecord is the record of one control change.
type AuditRecord struct {
	Partition int    `json:"-"`      // see Partitioned; 0 if the store has none
	Number    int64  `json:"number"` // in the partition, from 1 on, without gaps
	At        int64  `json:"at"`     // the store's clock, Unix µs
	Who       string `json:"who"`
	Action    Action `json:"action"`
	Key       string `json:"key"`
	Change    int64  `json:"change"` // its number in the series
	Before    string `json:"before"` // the state of the series before: "running", "retired", "paused", or "paused until " and the instant in Unix ms
	After     string `json:"after"`  // and after; of a cancel: "cancelled " and the number of the run; of a run and a skip: the action and the number; of a backfill: "backfill of " and how many numbers it has; behind ": " the Scope of a run or a backfill, if it has one
	Reason    string `json:"reason,omitempty"`
	Op        string `json:"op"`

	Unreadable string `json:"-"` // the stored text, cut, if it is no record; all other fields but Partition are zero then
}

// scoped returns the state after a run or a backfill for its [AuditRecord]: a text, and the Scope behind it.
func (c *Control) scoped(text string) string {
	if c.Scope == "" {
		return text
	}
	return text + ": " + c.Scope
}

// condition returns the state of a series for an [AuditRecord].
func condition(paused bool, until int64) string {
	switch {
	case !paused:
		return "running"
	case until == driver.MaxNumber:
		return "retired"
	case until == 0:
		return "paused"
	}
	return "paused until " + strconv.FormatInt(until, 10)
}

// Check returns an *ArgumentError for a change that no store supports.
func (c *Control) Check() error {
	if err := cmp.Or(driver.CheckKey(c.Key), driver.CheckName("op", c.Op), driver.CheckName("who", c.Who), checkReason(c)); err != nil {
		return err
	}
	switch {
	case len(c.Op) > maxOp:
		return driver.Refuse("op", driver.Quote(c.Op), fmt.Sprintf("1 to %d bytes", maxOp))
	case !slices.Contains(actions, c.Action):
		return driver.Refuse("action", driver.Quote(string(c.Action)), fmt.Sprintf("one of %q", actions))
	case c.Action == ActionRun && c.Until <= 0:
		return driver.Refuse("until", fmt.Sprint(c.Until), "more than 0 in a run")
	case c.Action != ActionPause && c.Action != ActionRun && c.Until != 0:
		return driver.Refuse("until", fmt.Sprint(c.Until), "0, but in a pause or a run")
	case c.Until == driver.MaxNumber: // marks a retired series
		return driver.Refuse("until", fmt.Sprint(c.Until), fmt.Sprintf("0 to %d", int64(driver.MaxNumber-1)))
	}
	if c.Action != ActionPause && c.Action != ActionRetire && c.Due != 0 {
		return driver.Refuse("due", fmt.Sprint(c.Due), "0 in a "+string(c.Action))
	}
	return cmp.Or(checkNumber(c), checkRequested(c), checkBackfill(c), driver.CheckRange("until", c.Until, 0), driver.CheckRange("due", c.Due, 0), driver.CheckWord("revision", c.Revision), driver.CheckRange("seen", c.Seen, AnySeen), driver.CheckReplicas(c.Replicas))
}

// checkNumber returns an *ArgumentError for a run that cannot be cancelled, and for a number that cannot
// be skipped.
func checkNumber(c *Control) error {
	switch {
	case c.Action == ActionCancel:
		return cmp.Or(driver.CheckRange("number", c.Number, 1), driver.CheckRange("fence", c.Fence, 0))
	case c.Fence != 0:
		return driver.Refuse("fence", fmt.Sprint(c.Fence), "0, but in a cancel")
	case c.Action == ActionSkip:
		return driver.CheckRange("number", c.Number, 0)
	case c.Number != 0:
		return driver.Refuse("number", fmt.Sprint(c.Number), "0, but in a cancel or a skip")
	}
	return nil
}

// checkRequested returns an *ArgumentError for the fields of a manual run.
func checkRequested(c *Control) error {
	switch {
	case c.Action == ActionRun:
		return cmp.Or(checkOverlap(c.Overlap), checkScope(c))
	case c.Overlap != 0:
		return driver.Refuse("overlap", fmt.Sprint(c.Overlap), "0, but in a run")
	case c.Anyway && c.Action != ActionBackfill:
		return driver.Refuse("anyway", "true", "false, but in a run or a backfill")
	}
	return nil
}

// checkScope returns an *ArgumentError for a Scope that no run and no backfill can have.
func checkScope(c *Control) error {
	if c.Scope == "" {
		return nil
	}
	return driver.CheckName("scope", c.Scope)
}

func checkReason(c *Control) error {
	n := utf8.RuneCountInString(c.Reason)
	if n == 0 && c.Action == ActionResume {
		return nil
	}
	if n < leastReason || n > mostReason || !driver.Printable(c.Reason) {
		return driver.Refuse("reason", driver.Quote(c.Reason), fmt.Sprintf("%d to %d characters of printable UTF-8", leastReason, mostReason))
	}
	return nil
}
