package verify

import (
	"fmt"
	"time"
)

// A Report counts the ticks of a job by their latest verdict. Due is the sum of Once, Again,
// Running, Waiting, Skipped, Superseded, Missed, Paused, Lost, PassedOver, Undecided, Overdue and
// Unknown; each tick is in exactly one of these. A tick from before the proof, or from before
// Options.Since, only counts if its run was left, as overdue.
type Report struct {
	Job    string    `json:"job"`
	Begins time.Time `json:"begins,omitzero"` // ticks after it are proven; for an empty journal the mark in Options.State, or Options.Now without one
	Mark   time.Time `json:"mark,omitzero"`   // the highest decided instant; zero if there is none

	// SeenOn is the node that was last seen with the spec in force, and Seen is when it was seen.
	SeenOn string    `json:"seen_on,omitempty"`
	Seen   time.Time `json:"seen,omitzero"`

	// Complete is set if the journal reaches back to the job's opening.
	Complete bool `json:"complete"`
	// TooEarly is set if ticks from Options.Since to Begins cannot be proven, because older lines
	// are gone.
	TooEarly bool `json:"too_early"`

	Due        int            `json:"due"`                // ticks in the counted range, without undecided ones inside the grace
	Once       int            `json:"once"`               // ran and ended, with any outcome, including takeovers
	Again      int            `json:"again"`              // ran more than once: granted again without permission
	Running    int            `json:"running"`            // granted, and no end recorded
	Waiting    int            `json:"waiting"`            // waiting for the end of a run or of a pause, or for a node that starts, takes over or settles the tick
	Skipped    map[string]int `json:"skipped,omitempty"`  // by reason
	Superseded int            `json:"superseded"`         // waited, and a newer tick replaced them
	Missed     map[string]int `json:"missed,omitempty"`   // by reason
	Paused     int            `json:"paused"`             // due in a pause
	Lost       int            `json:"lost"`               // lost with the node
	PassedOver int            `json:"passed_over"`        // ticks of a spec that other nodes did not have
	Undecided  int            `json:"undecided"`          // passed by the mark without a verdict: a violation has the place
	Overdue    int            `json:"overdue"`            // past their deadline, or left by their node: Late lists them
	Unknown    int            `json:"unknown"`            // their verdicts may be in lines that cannot be read
	Outcomes   map[string]int `json:"outcomes,omitempty"` // of the ticks that ran, by the outcome of the last attempt

	// Failed counts the ticks whose last attempt failed, panicked, timed out or lost its lease.
	// They are included in the ticks that ran.
	Failed int `json:"failed"`

	// Manual counts the manual runs by their states, as a Judge returns them. They are no ticks of a spec, and
	// not included in Due or in any other count of ticks. Late lists those that were left.
	Manual map[string]int `json:"manual,omitempty"`

	// The following count attempts, not ticks.
	TakenOver  int `json:"taken_over"` // granted because the node of the previous attempt died
	GivenBack  int `json:"given_back"` // interrupted by a drain
	Unstarted  int `json:"unstarted"`  // granted, and never started
	Overlapped int `json:"overlapped"` // a first attempt, granted while an earlier run was open

	// RerunShards counts the shards that had another attempt, of the sharded ticks that have ended. The journal does not
	// have whether the node of the previous attempt died, or a drain interrupted it.
	RerunShards int `json:"rerun_shards"`

	Late       []Overdue   `json:"late,omitempty"`       // the overdue ticks
	Violations []Violation `json:"violations,omitempty"` // in the order of the journal
	Faults     []string    `json:"faults,omitempty"`     // data that could not be read or counted: nothing is proven there
}

// OK reports whether no invariant is broken, no tick is overdue, and all data could be read.
func (r *Report) OK() bool { return r.Sound() && len(r.Faults) == 0 }

// Sound reports whether no invariant is broken and no tick is overdue in the data that could be
// read.
func (r *Report) Sound() bool { return len(r.Violations) == 0 && len(r.Late) == 0 }

// Broken returns the number of violations of one invariant, such as "I2": fences out of order.
func (r *Report) Broken(invariant string) (n int) {
	for i := range r.Violations {
		if r.Violations[i].Invariant == invariant {
			n++
		}
	}
	return n
}

// A Violation is one broken invariant.
type Violation struct {
	Invariant string    `json:"invariant"` // I1, I2, I3, I4, I7, I9, I10, I12, S2, S3, S4 or S5
	Tick      time.Time `json:"tick"`      // the tick, or the end of the range, at which it was noticed
	Text      string    `json:"text"`      // describes the violation
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.Invariant, stamp(v.Tick.UnixMilli()), v.Text)
}

// stamp formats an instant as the logs do.
func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
