package locktest

import (
	"errors"
	"strconv"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var fenceTests = []test{
	{"fences grow over endings, expiry, takeovers, waiting and reopening", fenceGrows},
	{"a fence is above what the asker has seen, to the last digit", fenceAboveFloor},
	{"a fence that lies more than a day ahead is doubt, and changes nothing", fenceBeyond},
	{"a fence that lies a day ahead is the last that is believed", fenceFurthest},
	{"a fence of an older lease renews and ends nothing", fenceABA},
}

// grows fails the test unless the fence is above the last one, and stores it as the last one.
func (s *fixture) grows(last *int64, fence int64) {
	s.Helper()
	if fence <= *last {
		s.Fatalf("the fence is %d, after %d", fence, *last)
	}
	*last = fence
}

func fenceGrows(s *fixture) {
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
	c.Overlap = series.OverlapQueue
	w := s.claimed(c, series.KindWaiting)
	s.grows(&last, w.Fence)
	s.opened(series.OpenRequest{Key: s.key, Node: "other", Revision: "r2"})
	s.ended(run, series.RunDone)
	_, run = s.granted(s.takes(c, w.Fence))
	s.grows(&last, run.Fence)
	s.ended(run, series.RunDone)
	for range 10 {
		s.env.Wait(2 * time.Millisecond)
		is := s.look()
		a, run := s.granted(s.ask(is.Now, is.Mark))
		s.grows(&last, a.Fence)
		s.ended(run, series.RunDone)
		equal(s, "the series' fence", s.look().Fence, last)
	}
}

// An hour and a day in µs.
const (
	hour = int64(time.Hour / time.Microsecond)
	day  = 24 * hour
)

// A fence that an owner has seen and that is more than a day ahead of the store's clock is doubt
// for its series, which is left unchanged, and for no other series.
func fenceBeyond(s *fixture) {
	s.key = "other"
	s.open()
	other := s.next(1)
	s.key = "job"
	s.open()
	s.unchanged(func() {
		for _, fence := range []int64{s.look().Now*1000 + day + hour, driver.MaxNumber} {
			c := s.next(1)
			c.Fence = fence
			a := s.numbered.Claim(s.ctx, []series.Claim{c})[0]
			if a.Kind != series.KindUnknown || !errors.Is(a.Err, driver.ErrFence) || !errors.Is(a.Err, driver.ErrNotDone) {
				s.Fatalf("with the floor %d the answer is %+v", fence, a)
			}
		}
	})
	s.granted(s.next(1))
	s.granted(other)
}

// fenceFurthest needs a clock that stands still. A fence a day ahead is accepted, to the µs; once
// it has been granted, no further fence is, until the clock has gone on.
func fenceFurthest(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.next(1)
	c.Fence = s.look().Now*1000 + day - 1
	a, run := s.granted(c)
	equal(s, "the fence", a.Fence, c.Fence+1)
	s.ended(run, series.RunDone)
	c = s.next(2)
	c.After = run.Number
	s.unchanged(func() {
		if a := s.numbered.Claim(s.ctx, []series.Claim{c})[0]; !errors.Is(a.Err, driver.ErrFence) {
			s.Fatalf("above a fence of a day ahead the answer is %+v", a)
		}
	})
	s.env.Wait(time.Millisecond)
	again, _ := s.granted(c)
	equal(s, "the fence after it", again.Fence, a.Fence+1)
}

// shardFurthest needs a clock that stands still. A claim with shards is refused before its run is granted, if there is no room
// below the bound for a fence of each shard.
func shardFurthest(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.divide(1, 2, 0, 1)
	furthest := s.look().Now*1000 + day
	s.unchanged(func() {
		for _, below := range []int64{1, 2, series.MaxShards} {
			c.Fence = furthest - below
			if a := s.numbered.Claim(s.ctx, []series.Claim{c})[0]; !errors.Is(a.Err, driver.ErrFence) || !errors.Is(a.Err, driver.ErrNotDone) {
				s.Fatalf("%d µs below the bound the answer is %+v", below, a)
			}
		}
	})
	c.Fence = furthest - series.MaxShards - 1
	a, _ := s.shared(c)
	s.hasShards(a, 0, 1)
	equal(s, "the highest fence", a.Highest(), c.Fence+3)
}

// Fences ahead of the store's clock are kept exactly: a renewal must name its exact fence, and a
// neighbouring fence belongs to another run.
func fenceAboveFloor(s *fixture) {
	for i, above := range []int64{1, hour + 999_999, day - hour} {
		s.key = "job" + strconv.Itoa(i)
		s.open()
		c := s.next(1)
		floor := s.look().Now*1000 + above + 60_000_001 // µs: beyond the store's clock
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

func fenceABA(s *fixture) {
	first := s.dead()
	_, second := s.granted(s.after(first))
	old := second
	old.Fence = first.Fence // the right owner with an old fence
	s.unchanged(func() {
		for _, r := range []series.RunRef{first, old} {
			equal(s, "alive", s.renew(r).Alive, false)
			equal(s, "ended", s.end(r, series.RunDone).Ended, false)
		}
	})
	s.ended(second, series.RunDone)
	_, third := s.granted(s.ask(s.look().Now, first.Number))
	s.unchanged(func() {
		for _, r := range []series.RunRef{first, second} {
			r.Number = third.Number // and the right number with an old owner
			equal(s, "alive", s.renew(r).Alive, false)
			equal(s, "ended", s.end(r, series.RunDone).Ended, false)
		}
	})
}
