package verify

import (
	"fmt"
	"time"
)

// A Report accounts for the ticks of a job. Due is the sum of Once, Again,
// Running, Waiting, Skipped, Superseded, Missed, Paused, Lost, PassedOver, Undecided,
// Overdue and Unknown: each tick is counted in one of them, by its latest verdict. A tick from before
// the proof, or from before Options.Since, counts only if its run was left: it is overdue.
type Report struct {
	Job    string    `json:"job"`
	Begins time.Time `json:"begins,omitzero"` // ticks after it are proven; of an empty journal Options.Now
	Mark   time.Time `json:"mark,omitzero"`   // the highest decided instant; zero if there is none

	// SeenOn is the node that was seen last with the spec in force, and Seen is when.
	SeenOn string    `json:"seen_on,omitempty"`
	Seen   time.Time `json:"seen,omitzero"`

	// Complete: the journal reaches back to the job's opening.
	Complete bool `json:"complete"`
	// TooEarly: ticks from Options.Since to Begins cannot be proven, since older
	// lines are gone.
	TooEarly bool `json:"too_early"`

	Due        int            `json:"due"`                // ticks in question; not those inside the grace and without a verdict
	Once       int            `json:"once"`               // ran and ended, whatever the outcome; takeovers included
	Again      int            `json:"again"`              // ran more than once: granted again without a right to it
	Running    int            `json:"running"`            // granted, and no end recorded
	Waiting    int            `json:"waiting"`            // waits for the end of a run or of a pause, or for a node that starts it, takes it over or settles it
	Skipped    map[string]int `json:"skipped,omitempty"`  // by reason
	Superseded int            `json:"superseded"`         // waited, and a newer tick took the place
	Missed     map[string]int `json:"missed,omitempty"`   // by reason
	Paused     int            `json:"paused"`             // due in a pause
	Lost       int            `json:"lost"`               // lost with the node
	PassedOver int            `json:"passed_over"`        // of a spec that other nodes did not have
	Undecided  int            `json:"undecided"`          // passed by the mark without a verdict: a violation says where
	Overdue    int            `json:"overdue"`            // past their deadline, or left by their node: Late says which
	Unknown    int            `json:"unknown"`            // what became of them stands in lines that cannot be read
	Outcomes   map[string]int `json:"outcomes,omitempty"` // of the ticks that ran, by the outcome of the last attempt

	// Failed counts the ticks whose last attempt failed, panicked, ran out of time or
	// lost its lease. They are among those that ran.
	Failed int `json:"failed"`

	// These count attempts, not ticks.
	TakenOver  int `json:"taken_over"` // granted because the node of the attempt before died
	GivenBack  int `json:"given_back"` // interrupted by a drain
	Unstarted  int `json:"unstarted"`  // granted, and never started
	Overlapped int `json:"overlapped"` // a first attempt, granted while an earlier run was open

	Late       []Overdue   `json:"late,omitempty"`       // what is overdue
	Violations []Violation `json:"violations,omitempty"` // in the order of the journal
	Faults     []string    `json:"faults,omitempty"`     // what could not be read or counted: there nothing is proven
}

// OK reports whether no invariant is broken, no tick is overdue, and all could be read.
func (r *Report) OK() bool { return r.Sound() && len(r.Faults) == 0 }

// Sound reports whether no invariant is broken and no tick is overdue in what could be
// read.
func (r *Report) Sound() bool { return len(r.Violations) == 0 && len(r.Late) == 0 }

// Broken counts the violations of one invariant, such as "I2": fences out of order.
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
	Invariant string    `json:"invariant"` // I1, I2, I3, I4, I7 or I10
	Tick      time.Time `json:"tick"`      // the tick, or the end of the range, it was noticed at
	Text      string    `json:"text"`      // what is wrong
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.Invariant, stamp(v.Tick.UnixMilli()), v.Text)
}

// stamp writes an instant as the logs do.
func stamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
