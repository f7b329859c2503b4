package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var instantTests = []test{
	{"each bound of a claim holds to the millisecond", claimInstants},
	{"a lease is renewed until the millisecond at which it ends", renewInstants},
	{"a resume covers what is after the mark, and nothing at it", resumeInstants},
	{"a pause gives a number that is due its verdict, and none to a later one", pauseInstants},
	{"a number due at the grant of the alive run is skipped, one due before it is held", grantInstants},
	{"a revision that another node used at the instant of an opening is returned", openInstants},
}

// An instant is a limit of the rules. Its scene prepares a series and returns a claim and the
// limit, in Unix milliseconds; the claim is sent one millisecond before the limit, at it, and one
// millisecond after it.
type instant struct {
	name  string
	scene func(s *fixture) (c series.Claim, bound int64)
	want  [3]series.Kind
}

var instants = []instant{
	{"the latest instant", func(s *fixture) (series.Claim, int64) {
		c := s.next(1)
		c.Latest = s.mark + 500
		return c, c.Latest
	}, [3]series.Kind{series.KindGranted, series.KindGranted, series.KindExpired}},
	{"the tolerance before a number", func(s *fixture) (series.Claim, int64) {
		return s.ask(s.mark+500, s.mark), s.mark + 500 - 20
	}, [3]series.Kind{series.KindEarly, series.KindGranted, series.KindGranted}},
	{"the tolerance before the mark", func(s *fixture) (series.Claim, int64) {
		n := s.look().Now + 20
		s.granted(s.ask(n, s.mark))
		return s.ask(n-1, s.mark), n - 20
	}, [3]series.Kind{series.KindAhead, series.KindPassed, series.KindPassed}},
	{"a number beside an alive run", func(s *fixture) (series.Claim, int64) {
		s.granted(s.next(1))
		return s.ask(s.mark+500, s.due(1)), s.mark + 500
	}, [3]series.Kind{series.KindEarly, series.KindSkipped, series.KindSkipped}},
	{"a number while paused", func(s *fixture) (series.Claim, int64) {
		s.pause()
		return s.ask(s.mark+500, s.mark), s.mark + 500
	}, [3]series.Kind{series.KindEarly, series.KindPaused, series.KindPaused}},
	{"the deadline", func(s *fixture) (series.Claim, int64) {
		c := s.next(1)
		c.Deadline = time.Second
		return c, c.Number + 1000
	}, [3]series.Kind{series.KindGranted, series.KindGranted, series.KindMissed}},
	{"the deadline of an unstarted run", func(s *fixture) (series.Claim, int64) {
		_, run := s.granted(s.next(1))
		s.ended(run, series.RunUnstarted)
		c := s.after(run)
		c.Deadline = time.Second
		return c, c.Number + 1000
	}, [3]series.Kind{series.KindGranted, series.KindGranted, series.KindPassed}},
	{"the window of another attempt", func(s *fixture) (series.Claim, int64) {
		_, run := s.granted(s.next(1))
		s.ended(run, series.RunGivenBack)
		c := s.after(run)
		c.Window = time.Second
		return c, c.Number + 1000
	}, [3]series.Kind{series.KindGranted, series.KindGranted, series.KindPassed}},
	{"the window of an orphan", func(s *fixture) (series.Claim, int64) {
		_, run := s.granted(s.next(1))
		s.ended(run, series.RunGivenBack)
		c := s.ask(s.due(2), s.due(1))
		c.Rerun, c.Window = true, time.Second
		return c, run.Number + 1000
	}, [3]series.Kind{series.KindOrphan, series.KindOrphan, series.KindGranted}},
	{"the start of a requested run", func(s *fixture) (series.Claim, int64) {
		c := s.request(series.OverlapSkip)
		a := s.makes(c)
		return s.after(series.RunRef{Key: s.key, Number: a.Number, Fence: a.Series.Fence}), c.Until
	}, [3]series.Kind{series.KindGranted, series.KindGranted, series.KindPassed}},
	{"the room of a backfill", func(s *fixture) (series.Claim, int64) {
		c := s.fill(1)
		c.Room = time.Minute.Milliseconds()
		q := s.after(s.filled(c))
		q.Next = s.look().Now + 2*c.Room
		return q, q.Next - c.Room
	}, [3]series.Kind{series.KindGranted, series.KindEarly, series.KindEarly}},
	{"the number of the spec after a run of a backfill", func(s *fixture) (series.Claim, int64) {
		c := s.fill(1)
		c.Room = time.Minute.Milliseconds()
		q := s.after(s.filled(c))
		q.Next = s.look().Now + c.Room/2
		return q, q.Next
	}, [3]series.Kind{series.KindEarly, series.KindGranted, series.KindGranted}},
	{"the end of a lease, for another number", func(s *fixture) (series.Claim, int64) {
		a, _ := s.granted(s.next(1))
		c := s.ask(a.Now, s.due(1))
		return c, a.Now + long.Milliseconds()
	}, [3]series.Kind{series.KindSkipped, series.KindGranted, series.KindGranted}},
	{"the end of a lease, for a takeover", func(s *fixture) (series.Claim, int64) {
		a, run := s.granted(s.next(1))
		return s.after(run), a.Now + long.Milliseconds()
	}, [3]series.Kind{series.KindPassed, series.KindGranted, series.KindGranted}},
	{"the end of a lease, for its owner", func(s *fixture) (series.Claim, int64) {
		c := s.next(1)
		a, _ := s.granted(c)
		return c, a.Now + long.Milliseconds()
	}, [3]series.Kind{series.KindGranted, series.KindOver, series.KindOver}},
}

// around opens a series for each of the three milliseconds around a limit, and calls f at that
// millisecond.
func (s *fixture) around(name string, scene func() (bound int64), f func(i int)) {
	s.Helper()
	for i, off := range []int64{-1, 0, 1} {
		s.key = fmt.Sprintf("%s %+d ms", name, off)
		s.open()
		bound := scene()
		s.env.SetClock(time.UnixMilli(bound + off))
		if now := s.look().Now; now != bound+off {
			s.Fatalf("%s: the store's clock shows %d, it was set to %d", s.key, now, bound+off)
		}
		f(i)
	}
}

func claimInstants(s *fixture) {
	for _, at := range instants {
		var c series.Claim
		s.around(at.name, func() (bound int64) {
			c, bound = at.scene(s)
			return bound
		}, func(i int) {
			if got := s.claim(c); got.Kind != at.want[i] {
				s.Errorf("%s: the answer is %v, want %v", s.key, name(got.Kind), name(at.want[i]))
			}
		})
	}
}

func renewInstants(s *fixture) {
	var run series.RunRef
	s.around("the end of a lease", func() int64 {
		a, r := s.granted(s.next(1))
		run = r
		return a.Now + long.Milliseconds()
	}, func(i int) {
		if r := s.renew(run); r.Alive != (i == 0) {
			s.Errorf("%s: the renewal is answered %+v", s.key, r)
		}
	})
}

func resumeInstants(s *fixture) {
	var mark int64
	s.around("the mark", func() int64 {
		mark = s.look().Now + 20
		s.granted(s.ask(mark, s.mark))
		s.pause()
		return mark
	}, func(i int) {
		lines := len(s.lines())
		now := s.resume()
		want, more := mark, 1
		if i == 2 {
			want, more = mark+1, 2
		}
		if now.Mark != want || now.Paused {
			s.Errorf("%s: after the resume the series is %+v, want the mark %d", s.key, now, want)
		}
		if s.journaled != nil && len(s.lines()) != lines+more {
			s.Errorf("%s: the resume wrote %d lines, want %d", s.key, len(s.lines())-lines, more)
		}
	})
}

func pauseInstants(s *fixture) {
	var c series.Control
	s.around("the latest number that was due", func() int64 {
		c = s.change(series.ActionPause)
		c.Due = s.look().Now + 50
		return c.Due
	}, func(i int) {
		want := c.Due
		if i == 0 {
			want = s.mark
		}
		if got := s.makes(c).Series.Mark; got != want {
			s.Errorf("%s: the mark is %d, want %d", s.key, got, want)
		}
	})
}

func grantInstants(s *fixture) {
	var granted int64
	s.around("the grant", func() int64 {
		a, _ := s.granted(s.next(1))
		granted = a.Now
		return granted + 10
	}, func(i int) {
		want := series.KindSkipped
		if i == 0 {
			want = series.KindHeld
		}
		if got := s.claim(s.ask(granted-1+int64(i), s.due(1))); got.Kind != want {
			s.Errorf("a number due %d ms after the grant: the answer is %v, want %v", i-1, name(got.Kind), name(want))
		}
	})
}

func openInstants(s *fixture) {
	s.open()
	s.opened(series.OpenRequest{Key: s.key, Node: "a", Revision: "r1", Spec: "* * * * *", Zone: "UTC"})
	r := s.opened(series.OpenRequest{Key: s.key, Node: "b", Revision: "r2", Spec: "@hourly", Zone: "UTC"})
	equal(s, "the other revision", r.Other, "r1")
	opened := func() string {
		return s.opened(series.OpenRequest{Key: s.key, Node: "c", Revision: "r2", Spec: "@hourly", Zone: "UTC"}).Other
	}
	s.env.Wait(2 * time.Minute)
	equal(s, "the other revision, last used two minutes ago", opened(), "r1")
	s.env.Wait(time.Millisecond)
	equal(s, "a revision that no node has used for longer", opened(), "")
}
