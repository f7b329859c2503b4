package sqllock_test

import (
	"errors"
	"slices"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// changeScenes are the actions of an operator, on a series that is open.
func changeScenes() (all []scene) {
	for _, c := range []struct {
		name string
		set  func(s *stage) series.Control
	}{
		{"a pause", func(s *stage) series.Control { return s.change(series.ActionPause) }},
		{"a resume", func(s *stage) series.Control {
			s.make(s.change(series.ActionPause))
			return s.change(series.ActionResume)
		}},
		{"a requested run", func(s *stage) series.Control {
			c := s.change(series.ActionRun)
			c.Until, c.Overlap = s.state().Now+3_600_000, series.OverlapQueue
			return c
		}},
		{"a cancel", func(s *stage) series.Control {
			must(s, s.d.Claim(s.Context(), []series.Claim{s.claim})[0].Err)
			c := s.change(series.ActionCancel)
			c.Number = s.claim.Number
			return c
		}},
		{"a skip", func(s *stage) series.Control {
			c := s.change(series.ActionSkip)
			c.Number = s.state().Now + 3_600_000
			return c
		}},
		{"a backfill", (*stage).backfill},
		{"the stop of a backfill", func(s *stage) series.Control {
			begin := s.backfill()
			begin.Op = "begin"
			s.make(begin)
			return s.change(series.ActionBackfill)
		}},
		{"a retirement", func(s *stage) series.Control { return s.change(series.ActionRetire) }},
	} {
		all = append(all, scene{c.name, func(s *stage) { s.open(); s.control = c.set(s) }, control, (*stage).changedOnce})
	}
	return all
}

func (s *stage) change(action series.Action) series.Control {
	return series.Control{Key: s.key, Action: action, Op: string(action), Who: "ann", Reason: "for the test", Seen: s.state().Change}
}

func (s *stage) backfill() series.Control {
	c := s.change(series.ActionBackfill)
	last := s.state().Mark / 1000 * 1000
	c.Numbers, c.Scope = []int64{last - 2000, last - 1000, last}, "the last three"
	return c
}

func (s *stage) state() series.Series {
	s.Helper()
	is := s.d.ReadSeries(s.Context(), []string{s.key})[0]
	must(s, is.Err)
	return is
}

func (s *stage) make(c series.Control) {
	s.Helper()
	if a := s.d.Control(s.Context(), c); !a.Made {
		s.Fatalf("the %s of %s is answered %+v", c.Action, c.Key, a)
	}
}

func control(s *stage, d *sqllock.Driver) error {
	a := d.Control(s.Context(), s.control)
	if a.Refusal != "" {
		return errors.New("refused: " + string(a.Refusal))
	}
	return a.Err
}

// changedOnce fails the test unless the change was made once, with one record and one line, and a repeated request gets
// its answer. The same operation with another body is refused, and changes nothing.
func (s *stage) changedOnce() {
	first := s.state()
	a := s.d.Control(s.Context(), s.control)
	other := s.control
	other.Reason = "for another reason"
	if o := s.d.Control(s.Context(), other); o.Err != nil || o.Refusal != series.RefusedOp {
		s.Errorf("another body is answered %+v", o)
	}
	records, err := s.d.Audit(s.Context(), s.key, 0)
	must(s, err)
	records = slices.DeleteFunc(records, func(r series.AuditRecord) bool { return r.Op != s.control.Op })
	j, err := s.d.Journal(s.Context(), s.key, 0)
	must(s, err)
	lines := slices.DeleteFunc(j.Lines, func(l series.Line) bool { return l.Verdict != series.VerdictControl || l.Change != a.Change })
	if a.Err != nil || a.Made || a.Change != s.control.Seen+1 || len(lines) != 1 || len(records) != 1 || records[0].Number != a.Audit || records[0].Change != a.Change {
		s.Errorf("%s: asked again it is %+v, with the records %+v and the lines %+v", s.key, a, records, lines)
	}
	last := s.state()
	if last.Change != a.Change || last.Paused != first.Paused || last.Skip != first.Skip || last.Left != first.Left || !slices.Equal(last.Runs, first.Runs) {
		s.Errorf("%s: the series was %+v, and is %+v after requests that change nothing", s.key, first, last)
	}
}
