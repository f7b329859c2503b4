package locktest

import (
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var clockTests = []test{
	{"the clock names its server and returns when it was asked", clockReads},
	{"the clock is the one that judges leases", clockJudges},
	{"the clock of a context that has ended is doubt", clockDoubt},
}

var clockStepTests = []test{
	{"a clock that steps back decides nothing twice and lowers no mark", clockBack},
	{"fences of a series grow over a clock that steps back", clockBackFence},
	{"a clock that steps forward ends leases", clockForward},
}

func (s *fixture) readings() []driver.ClockReading {
	s.Helper()
	rs, err := s.driver.(driver.Clocked).Now(s.ctx)
	if err != nil || len(rs) == 0 {
		s.Fatalf("the readings are %+v, %v", rs, err)
	}
	return rs
}

func clockReads(s *fixture) {
	before := time.Now()
	rs := s.readings()
	after := time.Now()
	for _, r := range rs {
		if r.Server == "" || r.Sent.Before(before) || r.Received.After(after) || r.Received.Before(r.Sent) || r.Time.IsZero() {
			s.Errorf("the reading is %+v, asked between %v and %v", r, before, after)
		}
	}
	s.env.Wait(50 * time.Millisecond)
	later := s.readings()
	if later[0].Time.Sub(rs[0].Time) < 50*time.Millisecond {
		s.Errorf("50ms later the clock went from %v to %v", rs[0].Time, later[0].Time)
	}
	equal(s, "the process that answers", later[0].Process, rs[0].Process)
}

func clockJudges(s *fixture) {
	if s.numbered == nil {
		return
	}
	before := s.readings()[0].Time.UnixMilli()
	now := s.look().Now
	after := s.readings()[0].Time.UnixMilli()
	if now < before || now > after {
		s.Fatalf("a series is judged at %d, the clock said %d before and %d after", now, before, after)
	}
}

func clockDoubt(s *fixture) {
	rs, err := s.driver.(driver.Clocked).Now(s.done())
	s.canceled("now", err)
	equal(s, "readings", len(rs), 0)
}

// step moves the store's clock by d, in either direction.
func (s *fixture) step(d time.Duration) {
	s.env.SetClock(time.UnixMilli(s.look().Now).Add(d))
}

func clockBack(s *fixture) {
	s.open()
	_, run := s.granted(s.next(3))
	s.ended(run, series.RunDone)
	is := s.look()
	s.step(-time.Hour)
	s.unchanged(func() {
		s.claimed(s.next(3), series.KindEarly)
		old := s.ask(s.look().Now, 0)
		s.claimed(old, series.KindAhead)
		equal(s, "the mark", s.opened(series.OpenRequest{Key: s.key, Node: "n", Revision: "r1"}).Mark, is.Mark)
	})
	s.step(time.Hour + 10*time.Millisecond)
	s.unchanged(func() { s.claimed(s.next(3), series.KindPassed) })
}

func clockBackFence(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.step(-30 * time.Millisecond) // the mark stays within the tolerance
	c := s.ask(s.due(2), s.due(1))
	c.Overlap = series.OverlapAllow
	_, second := s.granted(c)
	if second.Fence <= run.Fence {
		s.Fatalf("the fence is %d, after %d", second.Fence, run.Fence)
	}
}

func clockForward(s *fixture) {
	_, h := s.acquire(s.acquisition(long))
	s.open()
	_, run := s.granted(s.next(1))
	s.step(long + time.Second)
	s.unchanged(func() { equal(s, "alive", s.renew(run).Alive, false) })
	_, err := s.driver.Renew(s.ctx, h)
	if !errors.Is(err, driver.ErrLost) {
		s.Fatalf("the plain lease: %v", err)
	}
	s.granted(s.after(run))
}
