package locktest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var changeTests = []test{
	{"each step that changes a series is a change, and a step that changes nothing is none", changeSteps},
	{"the steps of a batch are changes of its series alone, each series once", changeBatch},
	{"the end of a pause, and of a retirement, is a change", changeEnds},
	{"without a position of this store no reading is complete", changeNoPosition},
	{"changes whose context has ended are not read", changeDoubt},
}

var changeLossTests = []test{{"after the store lost its data a reading is not complete", changeForget}}

var changeClockTests = []test{{"a change after the clock was put back is found, or the reading is not complete", changeClock}}

// A changeReader reads the changes of a store from one position to the next.
type changeReader struct {
	s  *fixture
	at series.Position
}

// reader returns a reader from now on.
func (s *fixture) reader() *changeReader {
	s.Helper()
	r := &changeReader{s: s}
	r.read()
	return r
}

// read returns the changes since the last reading, sorted, and whether there can be no others. It lets
// the clock move on first, because the changes at the instant of a reading are read once more.
func (r *changeReader) read() (keys []string, complete bool) {
	r.s.Helper()
	r.s.env.Wait(time.Millisecond)
	keys, now, complete, err := r.s.driver.(series.Changes).ChangedSince(r.s.ctx, r.at)
	if err != nil {
		r.s.Fatalf("unexpected doubt: %v", err)
	}
	r.at = now
	slices.Sort(keys)
	return keys, complete
}

// want checks the changes since the last reading.
func (r *changeReader) want(step string, want ...string) {
	r.s.Helper()
	keys, complete := r.read()
	equal(r.s, "complete after "+step, complete, true)
	if !slices.Equal(keys, want) {
		r.s.Errorf("the changes by %s are %q, want %q", step, keys, want)
	}
}

func changeSteps(s *fixture) {
	s.opened(series.OpenRequest{Key: "other", Node: "n1"})
	r := s.reader()
	s.open()
	r.want("a first opening", s.key)
	opening := series.OpenRequest{Key: s.key, Node: "n2", Revision: "r1", Spec: "* * * * *", Zone: "UTC"}
	s.env.Wait(2 * time.Millisecond)
	s.opened(opening)
	r.want("an opening with the same revision")
	opening.Policies = "overlap:skip"
	s.opened(opening)
	r.want("an opening with other policies", s.key)
	opening.Revision = "r2"
	s.opened(opening)
	r.want("an opening with another revision", s.key)
	s.env.Wait(2 * time.Millisecond)
	opening.Revision = "r1"
	s.opened(opening)
	r.want("an opening with the former revision", s.key)

	c := s.next(1)
	_, run := s.granted(c)
	r.want("a grant", s.key)
	s.granted(c)
	s.claimed(s.next(1), series.KindPassed)
	s.renew(run)
	s.look()
	r.want("a repeated grant, a refusal, a renewal and a reading")
	s.ended(run, series.RunDone)
	r.want("an end", s.key)
	s.ended(run, series.RunDone)
	r.want("a repeated end")
	s.missed(2)
	r.want("a number that is missed", s.key)
	_, run = s.granted(s.ask(s.due(3), s.due(2)))
	r.want("another grant", s.key)
	s.makes(s.cancel(run.Number))
	r.want("a cancel", s.key)
	s.ended(run, series.RunDone)
	s.pause()
	r.want("an end and a pause", s.key)
	s.claimed(s.ask(s.due(4), s.due(3)), series.KindPaused)
	r.want("a number in the pause", s.key)
	s.resume()
	r.want("a resumption", s.key)
	s.refuses(s.change(series.ActionResume), series.RefusedNotPaused)
	r.want("a refused change")
}

func changeBatch(s *fixture) {
	var os []series.OpenRequest
	for _, key := range []string{"a", "b", "c|{}", "1"} {
		os = append(os, series.OpenRequest{Key: key, Node: "n1"})
	}
	r := s.reader()
	marks := s.numbered.Open(s.ctx, os)
	r.want("openings", "1", "a", "b", "c|{}")
	s.env.Wait(20 * time.Millisecond)
	var cs []series.Claim
	for i, n := range map[int]int64{1: 1, 2: 2, 3: 1 << 40} { // the last is early
		c := s.ask(marks[i].Mark+n, marks[i].Mark)
		c.Key = os[i].Key
		cs = append(cs, c)
	}
	second := s.ask(marks[1].Mark+5, marks[1].Mark+1)
	second.Key, second.Overlap = os[1].Key, series.OverlapAllow
	s.numbered.Claim(s.ctx, append(cs, second))
	r.want("claims", "b", "c|{}")
}

func changeEnds(s *fixture) {
	s.open()
	until := s.pausedUntil(5 * time.Millisecond)
	r := s.reader()
	s.passed(until)
	s.claimed(s.next(1), series.KindPassed)
	r.want("a pause that reached its end", s.key)
	s.makes(s.change(series.ActionRetire))
	r.want("a retirement", s.key)
	s.env.Wait(2 * time.Millisecond)
	s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1", Spec: "* * * * *", Zone: "UTC"})
	r.want("the return of a series", s.key)
}

func changeNoPosition(s *fixture) {
	s.open()
	for _, at := range []series.Position{nil, "foreign", 7} {
		_, complete := (&changeReader{s, at}).read()
		equal(s, "complete", complete, false)
	}
}

func changeForget(s *fixture) {
	s.open()
	r := s.reader()
	s.env.Forget()
	_, complete := r.read()
	equal(s, "complete", complete, false)
}

func changeClock(s *fixture) {
	for _, back := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		s.key += "+"
		s.env.Wait(10 * time.Second)
		s.open()
		r := s.reader()
		s.env.Wait(2 * time.Second)
		s.env.SetClock(time.UnixMilli(s.look().Now).Add(-back))
		s.makes(s.change(series.ActionPause))
		if keys, complete := r.read(); complete && !slices.Contains(keys, s.key) {
			s.Errorf("put back by %v: the changes are %q", back, keys)
		}
	}
}

func changeDoubt(s *fixture) {
	s.open()
	_, _, complete, err := s.driver.(series.Changes).ChangedSince(s.done(), s.reader().at)
	equal(s, "complete", complete, false)
	if err == nil {
		s.Error("changes were read although the context has ended")
	}
}
