package verify_test

import (
	"reflect"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// A tick in the specs before and after an edit has a verdict in any case; without one there is a
// violation. A tick that only the new spec has was not due.
func TestTickOfBothSpecs(t *testing.T) {
	const twenty, ten = "0/20 * * * * *", "0/10 * * * * *"
	for name, test := range map[string]struct {
		between  series.Verdict
		want     verify.Report
		violated int
	}{
		"without": {"", verify.Report{Due: 3, Once: 2, Undecided: 1, Outcomes: counts("ok", 2)}, 1},
		"missed":  {series.VerdictMissed, verify.Report{Due: 3, Once: 2, Missed: counts("misfire", 1), Outcomes: counts("ok", 2)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(twenty)
			s.run(policy{spec: twenty}, 20)
			s.now = at(43)
			s.open(ten)
			s.run(policy{spec: ten}, 50)
			s.lines[len(s.lines)-1].Between = test.between
			got := s.report(verify.Options{})
			if got.Broken("I4") != test.violated || len(got.Violations) != test.violated {
				t.Errorf("the violations are %v", got.Violations)
			}
			if got := onlyCounts(got); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// A spec that was replaced and came back has no ticks of the time between: no line must give them a
// verdict, and they are not due without one.
func TestSpecComesBack(t *testing.T) {
	s := opened()
	s.run(policy{}, 10)
	s.now = at(15)
	s.open("0 0 0 1 * *")
	s.now = at(35)
	s.sightings[1].Last = s.now
	s.sightings = append(s.sightings, series.RevisionUse{Revision: everyTen, Spec: everyTen, Zone: "UTC", Node: "b", First: s.now, Last: s.now, Since: s.now})
	s.now = at(38)
	state := s.state.Series(s.us(), "job")
	if got := onlyCounts(s.report(verify.Options{State: &state, Grace: 1})); !reflect.DeepEqual(got, verify.Report{Due: 1, Once: 1, Outcomes: counts("ok", 1)}) {
		t.Errorf("before its next tick: %+v", got)
	}
	c := policy{}.claim(s, at(40))
	s.now = at(40)
	c.Latest, c.After = s.now, s.state.Mark
	s.state.Claim(s.us(), &c, s)
	if got := s.report(verify.Options{}); !got.OK() || got.Due != 2 {
		t.Errorf("got %+v, %v", got, got.Violations)
	}
}
