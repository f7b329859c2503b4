package contend

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The board distinguishes a tick that ran twice, a tick that never ran and a tick outside the
// window.
func TestBoardSeparatesTwiceFromMissed(t *testing.T) {
	b := NewBoard(Setup{Nodes: 2, Jobs: 2, Every: time.Second}, midnight, 2)
	for _, r := range []struct {
		node, job int
		tick      time.Duration
	}{{0, 0, 0}, {1, 0, 0}, {0, 0, time.Second}, {0, 1, time.Second + time.Millisecond}, {0, 1, 2 * time.Second}, {0, 1, -1}} {
		b.Started(r.node, r.job, midnight.Add(r.tick))
	}
	got := b.Tally()
	if got.Expected != 4 || got.Runs != 4 || got.Extra != 1 || got.Missed != 1 || got.Most != 2 || got.Early != 0 {
		t.Errorf("Tally = %+v, want 4 of 4 runs, 1 extra, 1 missed", got)
	}
	if got.Shares[0] != 0.75 || got.Shares[1] != 0.25 {
		t.Errorf("shares %v, want 3/4 and 1/4", got.Shares)
	}
}

func TestBoardSeesEarlyRuns(t *testing.T) {
	b := NewBoard(Setup{Nodes: 1, Jobs: 1, Every: time.Second}, time.Now().Add(time.Hour), 1)
	b.Started(0, 0, b.from)
	if got := b.Tally().Early; got != 1 {
		t.Errorf("%d early runs, want 1", got)
	}
}

// A node whose clock is ahead fires before the tick and names the same tick as the others.
func TestSkewedNamesTheTick(t *testing.T) {
	spec, err := cron.ParseStandard("* * * * *")
	if err != nil {
		t.Fatal(err)
	}
	s := &skewed{spec: spec, skew: 10 * time.Second}
	if got, want := s.Next(midnight), midnight.Add(50*time.Second); !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	s.Next(midnight.Add(50 * time.Second))
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute} {
		if got := s.tick(); !got.Equal(midnight.Add(want)) {
			t.Errorf("tick = %v, want %v", got, midnight.Add(want))
		}
	}
}
