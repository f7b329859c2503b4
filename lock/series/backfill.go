package series

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// A Backfill is the rest of a backfill: the numbers whose work has no run yet. The zero Backfill is
// none. One run of a backfill waits or is alive while numbers are left.
type Backfill struct {
	Numbers []int64 // whole seconds in Unix ms, in rising order
	Room    int64   // see Control.Room
}

// String returns the backfill as it is stored: the room, the first number in seconds, and for each
// further one its distance from the one before; "" if no number is left.
func (b *Backfill) String() string {
	if len(b.Numbers) == 0 {
		return ""
	}
	text := strconv.AppendInt(nil, b.Room, 10)
	last := int64(0)
	for i, n := range b.Numbers {
		text = append(text, "|,"[min(i, 1)])
		text = strconv.AppendInt(text, n/second-last, 10)
		last = n / second
	}
	return string(text)
}

// readBackfill reads the text of [Backfill.String]. It returns an error that quotes any other text.
func readBackfill(text string) (b Backfill, err error) {
	if text == "" {
		return Backfill{}, nil
	}
	room, list, _ := strings.Cut(text, "|")
	b.Room, err = strconv.ParseInt(room, 10, 64)
	last := int64(0)
	for field := range strings.SplitSeq(list, ",") {
		n, wrong := strconv.ParseInt(field, 10, 64)
		last += n
		if wrong != nil || err != nil || b.Room < 0 || n <= 0 || last > driver.MaxNumber/second {
			return Backfill{}, fmt.Errorf("%s is no backfill", driver.Quote(text))
		}
		b.Numbers = append(b.Numbers, last*second)
	}
	return b, nil
}

// backfilling returns the run of a backfill that is not settled, or nil.
func (s *State) backfilling() *Run {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.For != 0 && r.State < RunDone {
			return r
		}
	}
	return nil
}

// mayBackfill returns why the backfill of c, or its end, is refused, or "".
func (s *State) mayBackfill(c *Control) Refusal {
	r := s.backfilling()
	if len(c.Numbers) == 0 {
		if len(s.Backfill.Numbers) == 0 && (r == nil || !r.pending() || r.Cancelled) {
			return RefusedOver
		}
		return ""
	}
	switch {
	case s.Paused && (!c.Anyway || s.Pause.Retired()):
		return RefusedPaused
	case r != nil || len(s.Backfill.Numbers) > 0:
		return RefusedFull
	case c.Numbers[len(c.Numbers)-1] > s.Mark:
		return RefusedUndecided
	}
	return ""
}

// endBackfill deletes the numbers that have no run yet, and cancels the run that waits.
func (s *State) endBackfill(ms int64, w Writer) {
	s.Backfill = Backfill{}
	if r := s.backfilling(); r != nil && r.pending() {
		r.Cancelled = true
		s.settle(r, ms, w)
	}
}

// refill makes the next run of a backfill once the run before it is settled, and reports whether it
// made one. Each step that may settle a run calls it last, so no node has to be alive in between.
func (s *State) refill(us int64, w Writer) bool {
	if len(s.Backfill.Numbers) == 0 || s.backfilling() != nil || driver.CheckFence(s.Fence+1, us) != nil {
		return false
	}
	r := Run{Fence: s.nextFence(us, 0), StartBy: driver.MaxNumber, For: s.Backfill.Numbers[0], Room: s.Backfill.Room}
	s.Backfill.Numbers = s.Backfill.Numbers[1:]
	s.waits(us/1000, r, w)
	return true
}

// yields reports whether r leaves the time up to the next number of the spec to that number.
func (r *Run) yields(c *Claim, ms int64) bool {
	return r.For != 0 && c.Overlap != OverlapAllow && c.Next > ms && c.Next-ms <= r.Room
}

// checkBackfill returns an *ArgumentError for the fields of a backfill.
func checkBackfill(c *Control) error {
	if c.Action != ActionBackfill {
		switch {
		case len(c.Numbers) > 0:
			return driver.Refuse("numbers", fmt.Sprint(len(c.Numbers)), "none, but in a backfill")
		case c.Room != 0:
			return driver.Refuse("room", fmt.Sprint(c.Room), "0, but in a backfill")
		case c.Scope != "" && c.Action != ActionRun:
			return driver.Refuse("scope", driver.Quote(c.Scope), "empty, but in a run or a backfill")
		}
		return nil
	}
	if len(c.Numbers) > MaxBackfill {
		return driver.Refuse("numbers", fmt.Sprint(len(c.Numbers)), fmt.Sprintf("at most %d", MaxBackfill))
	}
	last := int64(0)
	for _, n := range c.Numbers {
		if n%second != 0 || n <= last || n > driver.MaxNumber {
			return driver.Refuse("numbers", fmt.Sprint(n), "whole seconds in rising order")
		}
		last = n
	}
	return cmp.Or(driver.CheckRange("room", c.Room, 0), checkScope(c))
}
