package sms

import "testing"

// Messages that were given back do not count as taken, neither against the batch nor in the summary of
// the run. The run takes more only if a request was made.
func TestTally(t *testing.T) {
	p := Piece{Message: Message{ID: "a", To: "+12025550101"}}
	var sum tally
	if sum.add([]Mark{p.Back(), p.Back()}) {
		t.Error("no request was made, and another handful is taken")
	}
	if sum.taken != 0 {
		t.Errorf("%d taken, want 0", sum.taken)
	}
	if !sum.add([]Mark{p.Back(), p.Retry(0, 0, "busy")}) || !sum.add([]Mark{p.Failed(0, "no")}) || !sum.add([]Mark{p.Sent(0)}) {
		t.Error("requests were made, and no other handful is taken")
	}
	if sum.taken != 3 || sum.sent != 1 || sum.failed != 1 || sum.waiting != 1 {
		t.Errorf("%+v", sum)
	}
}
