package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

const day = 86400

// The server's clock was a day ahead for a while, and is right again. The decisions of that time
// are no verdict of the ticks since. The mark, or the line, is reported, and the ticks that no
// other line covers are overdue. Inside the tolerance of a claim nothing is ahead.
func TestAhead(t *testing.T) {
	jumped := func(after float64) series.Line {
		return with(line(series.VerdictMissed, after+day, after, after+day), func(l *series.Line) { l.Between, l.Reason = series.VerdictMissed, series.ReasonMisfire })
	}
	marked := func(now, mark float64, runs ...series.Run) *series.Series {
		s := state(now, runs...)
		s.Mark = at(mark)
		return s
	}
	early := with(opening(), func(l *series.Line) { l.At, l.From, l.To = at(day), at(day), at(day) })
	future := series.Run{Number: at(20), State: series.RunOpen, Owner: "a/1", Fence: fence(day), Attempt: 1, Granted: at(day), Until: at(day + 30)}
	given := series.Run{Number: at(10), State: series.RunGivenBack, Owner: "a/1", Fence: fence(10), Attempt: 1, Granted: at(10), Until: at(20)}
	interrupted := with(ran(10), func(l *series.Line) { l.Outcome = series.OutcomeInterrupted })
	for _, c := range []struct {
		name    string
		journal series.Journal
		state   *series.Series
		want    string // due, overdue, missed, unknown, once; then the first overdue tick, the number of overdue ticks, and the state
		faults  int
	}{
		{"the mark is in the future, without a line", journal(ran(10)), marked(60.001, day), "4 3 0 0 1; 20 3 undecided", 1},
		{"by more than the tolerance", journal(ran(10)), marked(60.001, 60.022), "4 3 0 0 1; 20 3 undecided", 1},
		{"and not by it", journal(ran(10)), marked(60.001, 60.021), "1 0 0 0 1", 0},
		{"decided by a line that is ahead", journal(ran(10), jumped(10)), marked(60.001, day+10), "4 3 0 0 1; 20 3 undecided", 2},
		{"what was missed before is not overdue", journal(ran(10), with(line(series.VerdictMissed, 41, 10, 20), func(l *series.Line) { l.Reason = series.ReasonMisfire })), marked(60.001, day), "4 2 1 0 1; 30 2 undecided", 1},
		{"several lines are reported once", journal(ran(10), jumped(10), jumped(10+day)), marked(60.001, 10), "4 3 0 0 1; 20 3 undecided", 1},
		{"the first of those that are due was granted", journal(ran(10), with(ran(20), func(l *series.Line) { l.At, l.Ended = at(day), at(day) })), marked(60.001, 10), "4 2 0 0 2; 30 2 undecided", 1},
		{"the last of those that are due was granted", journal(ran(10), with(ran(40), func(l *series.Line) {
			l.From, l.Between, l.At, l.Ended = at(10), series.VerdictMissed, at(day), at(day)
		})), marked(60.001, 10), "4 2 0 0 2; 20 2 undecided", 1},
		{"inside the deadline", journal(ran(10), jumped(10)), marked(40, day+10), "1 0 0 0 1", 2},
		{"a millisecond later", journal(ran(10), jumped(10)), marked(40.001, day+10), "2 1 0 0 1; 20 1 undecided", 2},
		{"without the store's clock nothing is", journal(ran(10), jumped(10)), nil, "6 0 5 0 1", 0},
		{"opened in the jump: what was due is not known", series.Journal{Key: "job", Lines: []series.Line{early}, Revisions: []series.RevisionUse{sighting(everyTen, day, day)}}, marked(50, day), "0 0 0 0 0", 2},
		{"a line from the future that decides nothing later", journal(ran(10), with(ran(20), func(l *series.Line) { l.At, l.Ended = at(day), at(day) })), marked(70.001, 20), "5 3 0 0 2; 30 3 undecided", 1},
		{"no tick waits for a run of the future", journal(with(granted(20), func(l *series.Line) {
			l.From, l.Between, l.At, l.Fence = at(0), series.VerdictMissed, at(day), fence(day)
		})), marked(60.001, 20, future), "4 2 0 1 0; 30 2 undecided", 1},
		{"a mark that was set back", journal(ran(10), jumped(10)), marked(60.001, 60), "6 0 0 5 1", 1},
		{"what was given back before is left", journal(interrupted, jumped(10)), marked(60.001, day+10, given), "4 4 0 0 0; 10 1 interrupted; 20 3 undecided", 2},
	} {
		now := at(60.001)
		if c.state != nil {
			now = c.state.Now
		}
		judge := verify.NewJudge(c.journal, verify.Options{Now: instant(now), State: c.state})
		got := judge.Report()
		text := fmt.Sprint(got.Due, got.Overdue, got.Missed[series.ReasonMisfire], got.Unknown, got.Once)
		for _, l := range got.Late {
			text += fmt.Sprintf("; %v %d %s", seconds(l.Tick), l.Ticks, l.State)
			if last := l.Tick.Add(time.Duration(l.Ticks-1) * 10 * time.Second); l.Ticks > 1 && !l.Last.Equal(last) {
				t.Errorf("%s: the last one is %v, want %v", c.name, l.Last, last)
			}
			if state, _ := judge.Tick(l.Tick); state != verify.TickOverdue {
				t.Errorf("%s: tick %v is judged %s", c.name, seconds(l.Tick), state)
			}
		}
		if text != c.want || len(got.Faults) != c.faults || len(got.Violations) > 0 || got.OK() != (c.faults == 0) {
			t.Errorf("%s: got %s, want %s, faults %v, violations %v", c.name, text, c.want, got.Faults, got.Violations)
		}
		for _, f := range got.Faults {
			if !strings.Contains(f, "ahead of the store's clock") {
				t.Errorf("%s: fault %q", c.name, f)
			}
		}
	}
	want := "the mark names 2026-01-05T00:01:00.022Z, which is 21ms ahead of the store's clock: ticks before it cannot be claimed; see cronce doctor"
	if got := verify.Job(journal(ran(10)), verify.Options{State: marked(60.001, 60.022)}).Faults; len(got) != 1 || got[0] != want {
		t.Errorf("faults %q, want %q", got, want)
	}
}
