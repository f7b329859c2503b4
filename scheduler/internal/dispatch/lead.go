package dispatch

import "time"

// A lead is how long before its tick a claim is sent, so that the answer is there when the
// tick is: twice as long as answers took lately. The store grants a tick a little early,
// and says for how long the run has to wait.
type lead struct{ took time.Duration }

// MaxLead is half of what the store grants early: the rest is for the error of this node's
// clock.
const MaxLead = 10 * time.Millisecond

// answered takes how long an answer took.
func (l *lead) answered(took time.Duration) { l.took += (took - l.took) / 8 }

// ms returns the lead. An answer that comes at once is not worth a wait.
func (l *lead) ms() int64 {
	twice := (2 * l.took).Milliseconds()
	if twice == 0 {
		return 0
	}
	return min(twice+1, MaxLead.Milliseconds())
}
