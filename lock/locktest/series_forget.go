package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

var forgetTests = []test{
	{"a series that was forgotten is doubt until it is opened, and then decided from there on", forgetSeries},
	{"fences grow over a store that forgot", forgetFence},
	{"what ran when the store forgot is lost to its holder", forgetRun},
}

func (s *fixture) forget() {
	s.env.Forget()
	s.env.Wait(5 * time.Millisecond)
}

func forgetSeries(s *fixture) {
	s.open()
	_, run := s.granted(s.next(3))
	s.ended(run, series.RunDone)
	mark := s.look().Mark
	s.forget()
	equal(s, "the mark", s.look().Mark, 0)
	s.claimed(s.next(3), series.KindUnknown)
	is := s.opened(series.OpenRequest{Key: s.key, Node: "n", Revision: "r1", Mark: mark})
	if is.Mark < mark {
		s.Fatalf("the mark went from %d to %d", mark, is.Mark)
	}
	s.claimed(s.next(3), series.KindPassed)
	s.claimed(s.next(1), series.KindPassed)
}

func forgetFence(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.key = "other"
	s.open()
	c := s.next(1)
	c.Fence = run.Fence + 1e9
	_, high := s.granted(c)
	s.forget()
	s.key = "job"
	s.open()
	_, second := s.granted(s.next(1))
	if second.Fence <= run.Fence {
		s.Fatalf("the fence is %d, before the store forgot %d", second.Fence, run.Fence)
	}
	s.key = "other"
	s.open()
	c = s.next(1)
	c.Fence = high.Fence
	_, third := s.granted(c)
	equal(s, "the fence of an asker who has seen more", third.Fence, high.Fence+1)
}

func forgetRun(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	_, h := s.acquire(s.acquisition(long))
	s.forget()
	equal(s, "alive", s.renew(run).Alive, false)
	equal(s, "ended", s.end(run, series.RunDone).Ended, false)
	_, err := s.driver.Renew(s.ctx, h)
	s.lost(err)
	equal(s, "the mark", s.look().Mark, 0)
}
