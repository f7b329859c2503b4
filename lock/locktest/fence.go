package locktest

import (
	"strconv"
	"time"

	"github.com/cronce/cronce/lock"
)

var fenceTests = []test{
	{"fences grow over endings, expiry, takeovers, waiting and reopening", fenceGrows},
	{"a fence is above what the asker has seen, to the last digit", fenceAboveFloor},
	{"a fence of an older lease renews and ends nothing", fenceABA},
}

// grows fails the test unless the fence is above the last one, which it replaces.
func (s *stand) grows(last *int64, fence int64) {
	s.Helper()
	if fence <= *last {
		s.Fatalf("the fence is %d, after %d", fence, *last)
	}
	*last = fence
}

func fenceGrows(s *stand) {
	s.open()
	last := int64(0)
	c := s.next(1)
	c.TTL = short
	_, run := s.granted(c)
	s.grows(&last, run.Fence)
	s.env.Wait(short + slack)
	_, run = s.granted(s.after(run))
	s.grows(&last, run.Fence)
	s.env.Wait(5 * time.Millisecond)
	c = s.ask(s.look().Now, s.due(1))
	c.Overlap = lock.OverlapQueue
	w := s.claimed(c, lock.Waiting)
	s.grows(&last, w.Fence)
	s.opened(lock.Opening{Key: s.key, Node: "other", Revision: "r2"})
	s.ended(run, lock.Done)
	_, run = s.granted(s.takes(c, w.Fence))
	s.grows(&last, run.Fence)
	s.ended(run, lock.Done)
	for range 10 {
		s.env.Wait(2 * time.Millisecond)
		is := s.look()
		a, run := s.granted(s.ask(is.Now, is.Mark))
		s.grows(&last, a.Fence)
		s.ended(run, lock.Done)
		equal(s, "the series' fence", s.look().Fence, last)
	}
}

// Fences up to the last one that a double holds are kept to the digit: a renewal
// must name its fence exactly, and a neighbour is another run's.
func fenceAboveFloor(s *stand) {
	for i, floor := range []int64{1_999_999_999_999_999, 1<<52 + 1, 1<<53 - 3} {
		s.key = "job" + strconv.Itoa(i)
		s.open()
		c := s.next(1)
		c.Fence = floor
		a, run := s.granted(c)
		equal(s, "the fence", a.Fence, floor+1)
		equal(s, "the fence of the run", s.look().Runs[0].Fence, floor+1)
		near := run
		near.Fence--
		equal(s, "alive under the fence before", s.renew(near).Alive, false)
		equal(s, "alive", s.renew(run).Alive, true)
		again, _ := s.granted(c)
		equal(s, "the fence asked for again", again.Fence, a.Fence)
		if s.journaled != nil {
			equal(s, "the fence of the line", s.lines()[0].Fence, a.Fence)
		}
	}
}

func fenceABA(s *stand) {
	first := s.dead()
	_, second := s.granted(s.after(first))
	old := second
	old.Fence = first.Fence // the right owner with an old fence
	s.unchanged(func() {
		for _, r := range []lock.RunRef{first, old} {
			equal(s, "alive", s.renew(r).Alive, false)
			equal(s, "ended", s.end(r, lock.Done).Ended, false)
		}
	})
	s.ended(second, lock.Done)
	_, third := s.granted(s.ask(s.look().Now, first.Number))
	s.unchanged(func() {
		for _, r := range []lock.RunRef{first, second} {
			r.Number = third.Number // and the right number under an old owner
			equal(s, "alive", s.renew(r).Alive, false)
			equal(s, "ended", s.end(r, lock.Done).Ended, false)
		}
	})
}
