package verify_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// Journals that the rules themselves wrote are sound, and each tick is counted by its verdict.
func TestWhatTheRulesWriteHolds(t *testing.T) {
	for _, c := range []struct {
		name    string
		overlap bool // runs may overlap
		play    func(*store)
		want    verify.Report // counts only
	}{
		{"every tick runs", false, normal, verify.Report{Due: 5, Once: 5, Outcomes: counts("ok", 4, "failed", 1), Failed: 1}},
		{"the last run found nothing to do", false, nothingToDo, verify.Report{Due: 2, Once: 2, Outcomes: counts("ok", 1, "skipped", 1)}},
		{"skip", false, skip, verify.Report{Due: 4, Once: 2, Skipped: counts("overlap", 2), Outcomes: counts("ok", 2)}},
		{"queue", false, queue, verify.Report{Due: 3, Once: 2, Superseded: 1, Outcomes: counts("ok", 2)}},
		{"a tick still waits", false, stillWaiting, verify.Report{Due: 2, Running: 1, Waiting: 1}},
		{"replace", false, replace, verify.Report{Due: 3, Once: 2, Lost: 1, Outcomes: counts("ok", 2)}},
		{"an outage, then once", false, misfireOnce, verify.Report{Due: 7, Once: 2, Missed: counts("misfire", 5), Outcomes: counts("ok", 2)}},
		{"an outage, then all", false, misfireAll, verify.Report{Due: 4, Once: 4, Outcomes: counts("ok", 4)}},
		{"too late", false, tooLate, verify.Report{Due: 6, Once: 1, Missed: counts("deadline", 5), Outcomes: counts("ok", 1)}},
		{"a pause", false, pause, verify.Report{Due: 7, Once: 2, Paused: 5, Outcomes: counts("ok", 2)}},
		{"a pause with an end", false, pauseUntil, verify.Report{Due: 7, Once: 3, Paused: 4, Outcomes: counts("ok", 3)}},
		{"a pause with an end, and an outage beyond it", false, pauseOutage, verify.Report{Due: 7, Once: 2, Paused: 3, Missed: counts("misfire", 2), Outcomes: counts("ok", 2)}},
		{"a dead node, lost", false, lostTick, verify.Report{Due: 2, Once: 1, Lost: 1, Outcomes: counts("ok", 1)}},
		{"a dead node, taken over", false, takenOver, verify.Report{Due: 2, Once: 2, TakenOver: 1, Outcomes: counts("ok", 2)}},
		{"unstarted, then run", false, unstartedTick, verify.Report{Due: 1, Once: 1, Unstarted: 2, Outcomes: counts("ok", 1)}},
		{"unstarted, then missed", false, unstartedMissed, verify.Report{Due: 3, Once: 1, Unstarted: 1, Missed: counts("deadline", 1, "misfire", 1), Outcomes: counts("ok", 1)}},
		{"an unstarted second attempt is lost", false, unstartedSecond, verify.Report{Due: 2, Once: 1, Lost: 1, Unstarted: 1, TakenOver: 1, Outcomes: counts("ok", 1)}},
		{"given back, then run", false, givenBack, verify.Report{Due: 1, Once: 1, GivenBack: 1, Outcomes: counts("ok", 1)}},
		{"given back, and final", false, interrupted, verify.Report{Due: 2, Once: 2, GivenBack: 1, Outcomes: counts("ok", 1, "interrupted", 1)}},
		{"runs overlap", true, overlap, verify.Report{Due: 3, Once: 2, Running: 1, Overlapped: 2, Outcomes: counts("ok", 2)}},
		{"an end after the deadline", false, lateEnd, verify.Report{Due: 1, Once: 1, Outcomes: counts("ok", 1)}},
		{"a tick granted within the tolerance", false, tolerated, verify.Report{Due: 1, Once: 1, Outcomes: counts("ok", 1)}},
		{"a backlog waits for a run", false, backlogHeld, verify.Report{Due: 10, Running: 1, Waiting: 9}},
		{"no node was there", false, absent, verify.Report{Due: 357, Once: 1, Overdue: 356, Outcomes: counts("ok", 1)}},
		{"inside the grace", false, insideGrace, verify.Report{Due: 1, Once: 1, Outcomes: counts("ok", 1)}},
		{"two specs take turns", false, mixed, verify.Report{Due: 8, Once: 7, PassedOver: 1, Outcomes: counts("ok", 7)}},
		{"a changed spec is not due before it was seen", false, changed, verify.Report{Due: 3, Once: 3, Outcomes: counts("ok", 3)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := opened()
			c.play(s)
			got := s.report(verify.Options{Exclusive: !c.overlap})
			for _, v := range got.Violations {
				t.Errorf("violation: %v", v)
			}
			if !got.Complete || got.TooEarly || !got.Begins.Equal(instant(epoch)) {
				t.Errorf("complete %v, too early %v, begins %v", got.Complete, got.TooEarly, got.Begins)
			}
			if got := onlyCounts(got); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v\njournal %+v", got, c.want, s.lines)
			}
		})
	}
}

func counts(pairs ...any) map[string]int {
	m := map[string]int{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1].(int)
	}
	return m
}

// onlyCounts removes the fields that the tables do not compare.
func onlyCounts(r verify.Report) verify.Report {
	r.Job, r.Begins, r.Mark, r.Complete, r.TooEarly, r.Violations, r.Late = "", time.Time{}, time.Time{}, false, false, nil, nil
	r.SeenOn, r.Seen = "", time.Time{}
	return r
}

func normal(s *store) {
	for _, seconds := range []float64{10, 20, 30, 40} {
		s.run(policy{}, seconds)
	}
	s.now = at(50)
	s.end(s.ask(policy{}, s.now), series.RunDone, series.OutcomeFailed)
}

func nothingToDo(s *store) {
	s.run(policy{}, 10)
	s.now = at(20)
	s.end(s.ask(policy{}, s.now), series.RunDone, series.OutcomeSkipped)
}

// renewed keeps a run alive up to a second.
func (s *store) renewed(g grant, seconds float64) {
	for ; s.now < at(seconds); s.now += 1000 {
		ref := g.Ref()
		if !s.state.Renew(s.us(), &ref).Alive {
			panic("the run is lost")
		}
	}
}

func skip(s *store) {
	s.now = at(10)
	g := s.ask(policy{}, at(10))
	s.renewed(g, 20)
	s.ask(policy{}, at(20))
	s.renewed(g, 30)
	s.ask(policy{}, at(30)) // folds into one line
	s.ok(g)
	s.run(policy{}, 40)
}

func queue(s *store) {
	p := policy{overlap: series.OverlapQueue}
	s.now = at(10)
	g := s.ask(p, at(10))
	s.renewed(g, 20)
	s.ask(p, at(20))
	s.renewed(g, 30)
	w := s.ask(p, at(30))
	s.now += 1000
	s.ok(g)
	s.ok(s.takeOver(p, w.Number, w.Fence))
}

func stillWaiting(s *store) {
	p := policy{overlap: series.OverlapQueue}
	s.now = at(10)
	g := s.ask(p, at(10))
	s.renewed(g, 20)
	s.ask(p, at(20))
}

// replace: a run that must end does not, and its lease is not renewed.
func replace(s *store) {
	p := policy{overlap: series.OverlapReplace, rerun: true}
	s.now = at(10)
	g := s.ask(p, at(10))
	s.renewed(g, 20)
	w := s.ask(p, at(20))
	s.now = at(24)
	s.ok(s.takeOver(p, w.Number, w.Fence))
	s.run(p, 30)
}

func misfireOnce(s *store) {
	s.run(policy{}, 10)
	s.now = at(73)
	s.ok(s.ask(policy{}, at(70)))
}

func misfireAll(s *store) {
	p := policy{backlog: true, deadline: time.Minute}
	s.now = at(43)
	for _, seconds := range []float64{10, 20, 30, 40} {
		s.now += 500
		s.ok(s.ask(p, at(seconds)))
	}
}

func tooLate(s *store) {
	s.run(policy{}, 10)
	for _, seconds := range []float64{20, 30, 40} {
		s.now = at(seconds + 11)
		s.ask(policy{}, at(seconds))
	}
	s.now = at(75)
	c := policy{}.claim(s, at(60)) // covers the tick before it, for the same reason
	c.After, c.Between = at(40), 1
	s.state.Claim(s.us(), &c, s)
}

// pause: claims decide ticks as paused, and the resume covers the rest.
func pause(s *store) {
	s.run(policy{}, 10)
	s.change(series.ActionPause, 0)
	s.now = at(20)
	s.ask(policy{}, at(20))
	s.now = at(40)
	s.ask(policy{}, at(40))
	s.now = at(65)
	s.open(everyTen)
	s.change(series.ActionResume, 0)
	s.run(policy{}, 70)
}

// pauseUntil: a tick up to the end is claimed after it, and no node has seen the end.
func pauseUntil(s *store) {
	s.run(policy{}, 10)
	s.change(series.ActionPause, at(55))
	s.now = at(20)
	s.ask(policy{}, at(20))
	s.now = at(56)
	s.ask(policy{}, at(50))
	s.run(policy{}, 60)
	s.run(policy{}, 70)
}

// pauseOutage: misfire counts only ticks that were due after the end.
func pauseOutage(s *store) {
	s.run(policy{}, 10)
	s.change(series.ActionPause, at(45))
	s.now = at(73)
	s.ok(s.ask(policy{}, at(70)))
}

func lostTick(s *store) {
	s.now = at(10)
	s.ask(policy{}, at(10))
	s.run(policy{}, 20)
}

func takenOver(s *store) {
	p := policy{rerun: true}
	s.now = at(10)
	g := s.ask(p, at(10))
	s.now = at(14)
	s.ok(s.takeOver(p, g.Number, g.Fence))
	s.run(p, 20)
}

func unstartedTick(s *store) {
	s.now = at(10)
	g := s.ask(policy{}, at(10))
	for range 2 {
		s.end(g, series.RunUnstarted, "")
		s.now += 1000
		g = s.takeOver(policy{}, g.Number, g.Fence)
	}
	s.ok(g)
}

func unstartedMissed(s *store) {
	s.now = at(10)
	s.end(s.ask(policy{}, at(10)), series.RunUnstarted, "")
	s.run(policy{}, 30)
}

func unstartedSecond(s *store) {
	p := policy{rerun: true}
	s.now = at(10)
	g := s.ask(p, at(10))
	s.now = at(14)
	s.end(s.takeOver(p, g.Number, g.Fence), series.RunUnstarted, "")
	c := p.claim(s, at(20))
	s.now = at(20)
	c.After, c.Attempts, c.Latest = at(10), 1, at(21)
	s.ok(grant{Answer: s.state.Claim(s.us(), &c, s), Owner: c.Owner})
}

func givenBack(s *store) {
	s.now = at(10)
	g := s.ask(policy{}, at(10))
	s.now = at(11)
	s.end(g, series.RunGivenBack, "")
	s.ok(s.takeOver(policy{}, g.Number, g.Fence))
}

func interrupted(s *store) {
	s.now = at(10)
	s.end(s.ask(policy{}, at(10)), series.RunDone, series.OutcomeInterrupted)
	s.run(policy{}, 20)
}

func overlap(s *store) {
	p := policy{overlap: series.OverlapAllow}
	s.now = at(10)
	first := s.ask(p, at(10))
	s.renewed(first, 20)
	second := s.ask(p, at(20))
	for ; s.now < at(30); s.now += 1000 {
		a, b := first.Ref(), second.Ref()
		s.state.Renew(s.us(), &a)
		s.state.Renew(s.us(), &b)
	}
	s.ask(p, at(30))
	s.ok(second)
	s.ok(first)
}

func lateEnd(s *store) {
	s.now = at(10)
	g := s.ask(policy{}, at(10))
	s.now = at(19)
	s.ok(g)
}

func tolerated(s *store) {
	s.now = at(10) - 20
	s.ok(s.ask(policy{}, at(10)))
	s.now = at(10)
}

func backlogHeld(s *store) {
	s.now = at(10)
	g := s.ask(policy{backlog: true}, at(10))
	s.renewed(g, 115)
	s.ask(policy{backlog: true, deadline: time.Hour}, at(20))
	s.open(everyTen)
	s.sightings[0].Policies = "overlap:skip/misfire:all/deadline:1s"
}

func absent(s *store) {
	s.run(policy{}, 10)
	s.now = at(3600)
}

func insideGrace(s *store) {
	s.run(policy{}, 10)
	s.now = at(39)
	s.open(everyTen)
}

// mixed: half of the nodes have another spec, and one of its ticks is passed over.
func mixed(s *store) {
	other := policy{spec: "5/10 * * * * *"}
	s.open(other.spec)
	for seconds := 5.0; seconds <= 40; seconds += 5 {
		switch {
		case seconds == 25: // no node with this spec is awake
		case int(seconds)%10 == 0:
			s.run(policy{}, seconds)
		default:
			s.run(other, seconds)
		}
	}
}

func changed(s *store) {
	hourly, often := policy{spec: "0 0 * * * *"}, policy{spec: "0/5 * * * * *"}
	s.sightings = nil
	s.open(hourly.spec)
	s.run(hourly, 3600)
	s.now = at(4000)
	s.open(often.spec)
	s.run(often, 4005)
	s.run(often, 4010)
}
