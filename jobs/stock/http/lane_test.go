package stockhttp

import (
	"testing"
)

// A place that is free is given, even if the time to wait for one is over already.
func TestFreePlaceIsGiven(t *testing.T) {
	l := make(lane, 1)
	for range 1000 {
		if !l.enter(t.Context(), 0) {
			t.Fatal("refused")
		}
		l.leave()
	}
	l.enter(t.Context(), 0)
	if l.enter(t.Context(), 0) {
		t.Error("a second one has the only place")
	}
}
