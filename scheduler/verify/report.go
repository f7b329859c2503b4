package verify

import (
	"fmt"
	"time"
)

// A Report accounts for the ticks of a job. Due is the sum of Once, Again,
// Running, Waiting, Skipped, Superseded, Missed, Paused, Lost, PassedOver and
// Undecided: each tick is counted in one of them, by its latest verdict.
type Report struct {
	Job    string    `json:"job"`
	Begins time.Time `json:"begins,omitzero"` // ticks after it are proven; of an empty journal Options.Now
	Mark   time.Time `json:"mark,omitzero"`   // the highest decided instant; zero if there is none

	// Complete: the journal reaches back to the job's opening.
	Complete bool `json:"complete"`
	// TooEarly: ticks from Options.Since to Begins cannot be proven, since older
	// lines are gone.
	TooEarly bool `json:"too_early"`

	Due        int            `json:"due"`                // ticks in question; not those inside the grace and without a verdict
	Once       int            `json:"once"`               // ran and ended, whatever the outcome; takeovers included
	Again      int            `json:"again"`              // ran more than once: granted again without a right to it
	Running    int            `json:"running"`            // granted, and no end recorded: alive, or over and not looked at
	Waiting    int            `json:"waiting"`            // to be started: waits for a run's end, or was given away unstarted
	Skipped    map[string]int `json:"skipped,omitempty"`  // by reason
	Superseded int            `json:"superseded"`         // waited, and a newer tick took the place
	Missed     map[string]int `json:"missed,omitempty"`   // by reason
	Paused     int            `json:"paused"`             // due in a pause
	Lost       int            `json:"lost"`               // lost with the node
	PassedOver int            `json:"passed_over"`        // of a spec that other nodes did not have
	Undecided  int            `json:"undecided"`          // without a verdict; a violation unless a run stands in the way
	Outcomes   map[string]int `json:"outcomes,omitempty"` // of the ticks that ran, by the outcome of the last attempt

	// These count attempts, not ticks.
	TakenOver  int `json:"taken_over"` // granted because the node of the attempt before died
	GivenBack  int `json:"given_back"` // interrupted by a drain
	Unstarted  int `json:"unstarted"`  // granted, and never started
	Overlapped int `json:"overlapped"` // a first attempt, granted while an earlier run was open

	Violations []Violation `json:"violations,omitempty"` // in the order of the journal
}

// OK reports whether no invariant is broken.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

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
	Invariant string    `json:"invariant"` // I1, I2, I3, I4 or I7
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
