package dispatch

import "time"

// A lead is how long before its tick a claim is sent, so that the answer arrives by the time of the
// tick: twice the recent duration of an answer. The store grants a tick a little early, and the
// grant has the time that the run must wait.
type lead struct{ took time.Duration }

// MaxLead is half of the time by which the store grants early. The rest covers the error of this
// node's clock.
const MaxLead = 10 * time.Millisecond

// answered adds the duration of an answer to the average.
func (l *lead) answered(took time.Duration) { l.took += (took - l.took) / 8 }

// ms returns the lead in milliseconds. It is 0 if answers arrive at once, since a wait would cost
// more.
func (l *lead) ms() int64 {
	twice := (2 * l.took).Milliseconds()
	if twice == 0 {
		return 0
	}
	return min(twice+1, MaxLead.Milliseconds())
}
