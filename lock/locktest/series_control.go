package locktest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var controlTests = []test{
	{"each change has one record and one line, and the numbers have no gap", controlRecords},
	{"an operation asked again with another body is refused", controlOtherBody},
	{"of two operators that have read the same the second is refused, and learns of the first", controlSeen},
	{"a store knows the latest operations of a series, and a later copy is refused by what it has seen", controlKept},
	{"a resume without a pause is refused", controlNotPaused},
	{"a pause may follow a pause, and takes its place", controlReplaces},
	{"what was due before a pause and is undecided is missed, what runs or waits alone is settled before", controlOutage},
	{"nothing is missed by a pause in a pause, of a number that the mark has passed, or of one that is to come", controlNoOutage},
	{"a pause until an instant that is past is refused", controlPast},
	{"a tick up to the end of a pause is paused however late it is asked for", untilLate},
	{"the first step after the end of a pause covers what it passed, and is judged as usual", untilLapses},
	{"a takeover after the end of a pause is granted, and ends the pause", untilTakeover},
	{"a change after the end of a pause ends it first", untilChange},
	{"a pause whose end the mark has reached covers nothing", untilMark},
	{"an ending after the end of a pause names the number that waits", untilWaiting},
	{"a series with a run that is alive is not retired; else it is, once, and nothing of it is granted", retireAlive},
	{"retiring a series settles the runs that are over", retireSettles},
	{"a retired series, also a paused one, opens at now", retireReturns},
	{"a resume or a pause takes the place of a retirement", retireEnds},
	{"text from outside stays text", controlHostile},
	{"changes of many series at once are numbered without gaps", controlRace},
	{"the audit returns the newest of a series, or of all", controlAudit},
}

// audit returns all records.
func (s *fixture) audit() []series.AuditRecord {
	s.Helper()
	all, err := s.controlled.Audit(s.ctx, "", 0)
	if err != nil {
		s.Fatalf("audit: %v", err)
	}
	return all
}

// changeLines returns the lines of changes that have a record.
func (s *fixture) changeLines() (lines []series.Line) {
	s.Helper()
	for _, l := range s.lines() {
		if l.Verdict == series.VerdictControl && l.Audit != 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

func controlRecords(s *fixture) {
	s.open()
	until := s.change(series.ActionPause)
	until.Until = s.look().Now + time.Hour.Milliseconds()
	pause, resume := s.change(series.ActionPause), s.change(series.ActionResume)
	resume.Who, resume.Reason = "bob", ""
	states := []string{"running", fmt.Sprint("paused until ", until.Until), "paused", "running"}
	changes := []series.Control{until, pause, resume}
	var answers []series.ControlAnswer
	for _, c := range changes {
		answers = append(answers, s.makes(c))
		s.control(c) // a repetition adds no record
	}
	s.refuses(s.change(series.ActionResume), series.RefusedNotPaused) // a refusal adds none, either
	records := s.audit()
	if len(records) != len(changes) {
		s.Fatalf("the audit has %+v, want %d records", records, len(changes))
	}
	for i, r := range records {
		c, a := changes[i], answers[i]
		want := series.AuditRecord{Partition: r.Partition, Number: int64(i) + 1, At: r.At, Who: c.Who, Action: c.Action, Key: s.key, Change: int64(i) + 1,
			Before: states[i], After: states[i+1], Reason: c.Reason, Op: c.Op}
		if r != want || r.At/1000 != a.Series.Now || a.Audit != r.Number || a.Change != r.Change {
			s.Errorf("record %d is %+v, want %+v; the answer was %+v", i, r, want, a)
		}
	}
	if s.journaled == nil {
		return
	}
	lines := s.changeLines()
	if len(lines) != len(changes) {
		s.Fatalf("the lines about changes are %+v", lines)
	}
	for i, l := range lines {
		r := records[i]
		if series.Action(l.Reason) != r.Action || l.Node != r.Who || l.Change != r.Change || l.Audit != r.Number || l.At != r.At/1000 || l.From != l.To {
			s.Errorf("the line is %+v, the record %+v", l, r)
		}
	}
}

func controlOtherBody(s *fixture) {
	s.open()
	c := s.change(series.ActionPause)
	first := s.makes(c)
	for _, change := range []func(c *series.Control){
		func(c *series.Control) { c.Reason = "another" },
		func(c *series.Control) { c.Who = "bob" },
		func(c *series.Control) { c.Until = driver.MaxNumber - 1 },
		func(c *series.Control) { c.Action = series.ActionResume },
	} {
		other := c
		change(&other)
		s.refuses(other, series.RefusedOp)
	}
	seen := c
	seen.Seen = 1 // the caller has read the series again
	s.repeats(seen, first)
	key := s.key
	s.key = "other"
	s.open()
	c.Key = s.key
	s.makes(c) // the same operation on several series
	s.key = key
}

func controlSeen(s *fixture) {
	s.open()
	mine, theirs := s.change(series.ActionPause), s.change(series.ActionPause)
	mine.Seen, theirs.Seen, theirs.Who, theirs.Reason = 0, 0, "bob", "the database is moved"
	at := s.makes(theirs).Series.Now
	a := s.refuses(mine, series.RefusedChanged)
	equal(s, "the latest change", a.Latest, series.Change{Action: series.ActionPause, Op: theirs.Op, Who: "bob", Reason: "the database is moved", At: at})
	mine.Seen = a.Series.Change
	s.makes(mine)
}

func controlKept(s *fixture) {
	s.open()
	var first series.Control
	var answer series.ControlAnswer
	for i := range series.KeptOps {
		c := s.change(series.ActionPause)
		c.Seen = int64(i)
		a := s.makes(c)
		if i == 0 {
			first, answer = c, a
		}
	}
	s.repeats(first, answer)
	s.pause()
	s.refuses(first, series.RefusedChanged)
}

func controlNotPaused(s *fixture) {
	s.open()
	s.refuses(s.change(series.ActionResume), series.RefusedNotPaused)
	s.pause()
	s.resume()
	a := s.refuses(s.change(series.ActionResume), series.RefusedNotPaused)
	equal(s, "the latest change", a.Latest.Action, series.ActionResume)
}

func controlReplaces(s *fixture) {
	s.open()
	c := s.change(series.ActionPause)
	c.Until = s.look().Now + 3_600_000
	s.makes(c)
	c = s.change(series.ActionPause)
	c.Who, c.Reason = "bob", "for longer"
	is := s.makes(c).Series
	equal(s, "the pause", is.Pause, series.Pause{Op: c.Op, Who: "bob", Reason: "for longer", Since: is.Now})
}

func controlOutage(s *fixture) {
	for _, action := range []series.Action{series.ActionPause, series.ActionRetire} {
		s.key = string(action)
		s.open()
		_, run := s.granted(s.next(1))
		s.ended(run, series.RunUnstarted)
		c := s.change(action)
		c.Due, c.Revision = s.due(5), "r1"
		first := s.makes(c)
		equal(s, "the mark", first.Series.Mark, c.Due)
		equal(s, "the runs", len(first.Series.Runs), 0)
		s.changed(action, 1)
		l := s.before(series.VerdictMissed, run.Number, c.Due)
		if s.journaled != nil {
			want := series.Line{At: l.At, Verdict: series.VerdictMissed, From: run.Number, To: c.Due, Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}
			equal(s, "the line", l, want)
			lines := s.lines()
			l = lines[len(lines)-3]
			equal(s, "the verdict of what never started", fmt.Sprint(l.Verdict, l.To), fmt.Sprint(series.VerdictMissed, run.Number))
		}
		again := c
		again.Due, again.Revision = 0, ""
		s.repeats(again, first)
		a := s.claimed(s.ask(c.Due, s.mark), series.KindPassed)
		equal(s, "the node that decided the mark", a.Node, "")
		s.claimed(s.ask(s.due(6), c.Due), series.KindPaused)
	}
}

func controlNoOutage(s *fixture) {
	s.open()
	for _, due := range []int64{s.mark, s.look().Now + time.Hour.Milliseconds()} {
		c := s.change(series.ActionPause)
		c.Due = due
		equal(s, "the mark", s.makes(c).Series.Mark, s.mark)
		c = s.change(series.ActionPause)
		c.Due = s.due(1)
		equal(s, "the mark", s.makes(c).Series.Mark, s.mark)
		s.mark = s.resume().Mark
		s.env.Wait(60 * time.Millisecond)
	}
}

func controlPast(s *fixture) {
	s.open()
	c := s.change(series.ActionPause)
	c.Until = s.look().Now
	s.refuses(c, series.RefusedPast)
}

// madeUntil makes a change with an end after a while, and returns it. If the store's clock runs and has
// passed that end before the change arrives, it is refused, and madeUntil tries an end further ahead.
func (s *fixture) madeUntil(change func() series.Control, d time.Duration) (series.Control, series.ControlAnswer) {
	s.Helper()
	for ; ; d *= 2 {
		c := change()
		c.Until = s.look().Now + d.Milliseconds()
		if a := s.control(c); s.env.exact() || a.Refusal != series.RefusedPast {
			return c, s.made(c, a)
		}
	}
}

// pausedUntil pauses the series for a while, and returns the end.
func (s *fixture) pausedUntil(d time.Duration) int64 {
	s.Helper()
	c, _ := s.madeUntil(func() series.Control { return s.change(series.ActionPause) }, d)
	return c.Until
}

// passed waits until the store's clock is past a time.
func (s *fixture) passed(ms int64) {
	s.Helper()
	for now := s.look().Now; now <= ms; now = s.look().Now {
		s.env.Wait(time.Duration(ms+1-now) * time.Millisecond)
	}
}

func untilLate(s *fixture) {
	s.open()
	until := s.pausedUntil(3 * time.Second) // the next claim must come before that
	s.claimed(s.next(2), series.KindPaused)
	s.passed(until)
	s.claimed(s.ask(until, s.due(2)), series.KindPassed)
	s.changed(series.ActionLapse, 1)
	s.before(series.VerdictPaused, s.due(2), until)
	equal(s, "the mark", s.look().Mark, until)
	s.claimed(s.ask(s.due(3), s.due(2)), series.KindPassed)
}

func untilLapses(s *fixture) {
	s.open()
	until := s.pausedUntil(100 * time.Millisecond)
	s.passed(until + 5)
	equal(s, "paused before a step", s.look().Paused, true)
	a, _ := s.granted(s.ask(until+1, until))
	equal(s, "where the mark was", a.From, until)
	is := s.look()
	equal(s, "paused", is.Paused, false)
	equal(s, "the change", is.Change, 1)
	if s.journaled != nil {
		lines := s.lines()
		lines = lines[len(lines)-3:]
		if lines[0].Verdict != series.VerdictPaused || lines[0].From != s.mark || lines[0].To != until || lines[0].Revision != "" {
			s.Errorf("the line of what was passed is %+v", lines[0])
		}
		if l := lines[1]; l.Verdict != series.VerdictControl || l.Reason != string(series.ActionLapse) || l.Change != 1 || l.Audit != 0 || l.From != until || l.To != until {
			s.Errorf("the line of the end is %+v", l)
		}
	}
	equal(s, "records", len(s.audit()), 1)
}

func untilTakeover(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunGivenBack)
	until := s.pausedUntil(100 * time.Millisecond)
	s.passed(until)
	c := s.after(run)
	c.Rerun = true
	s.granted(c)
	is := s.look()
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, until)
}

func untilChange(s *fixture) {
	s.open()
	until := s.pausedUntil(50 * time.Millisecond)
	s.passed(until)
	late := s.change(series.ActionResume)
	a := s.control(late)
	if a.Refusal != series.RefusedNotPaused || a.Series.Paused || a.Series.Mark != until {
		s.Fatalf("a resume after the end is answered %+v", a)
	}
	s.changed(series.ActionLapse, 1)
	until = s.pausedUntil(50 * time.Millisecond)
	s.passed(until)
	equal(s, "the change", s.pause().Change, 3)
	records := s.audit()
	equal(s, "the state before", records[len(records)-1].Before, "running")
	equal(s, "the mark", s.look().Mark, until)
}

func untilMark(s *fixture) {
	s.open()
	until := s.pausedUntil(100 * time.Millisecond)
	for now := s.look().Now; now < until; now = s.look().Now {
		s.env.Wait(time.Duration(until-now) * time.Millisecond)
	}
	a := s.claim(s.ask(until, s.mark))
	if a.Kind != series.KindPaused && (a.Kind != series.KindPassed || s.env.exact()) { // a clock that runs may be past that time
		s.Fatalf("the claim of the last instant of the pause is answered %+v", a)
	}
	s.passed(until)
	s.granted(s.ask(until+1, until))
	if s.journaled != nil {
		lines := s.lines()
		equal(s, "the lines", len(lines), 4) // the pause, the range that it covered, its end, and the grant
	}
}

func untilWaiting(s *fixture) {
	alive, c, _ := s.wait(series.OverlapQueue)
	until := s.pausedUntil(100 * time.Millisecond)
	s.passed(until)
	equal(s, "the number that waits", s.ended(alive, series.RunDone).Waiting, c.Number)
}

func controlHostile(s *fixture) {
	s.open()
	for _, text := range []string{`<script>alert("1")</script>`, "a|b;c#d+e%7C!", "'; DROP TABLE cronce_series; --", "日本語 é \u200d", "%(x) [%w]+ $1 {0}", strings.Repeat("é", 500)} {
		c := s.change(series.ActionPause)
		c.Reason = text
		c.Who = strings.NewReplacer("|", "", ";", "").Replace(text)
		c.Who = c.Who[:min(len(c.Who), 60)]
		c.Op += "(%d)[.]*+-?^$"
		a := s.makes(c)
		s.repeats(c, a)
		is := s.look()
		equal(s, "the reason", is.Pause.Reason, text)
		equal(s, "the person", is.Pause.Who, c.Who)
		records := s.audit()
		r := records[len(records)-1]
		equal(s, "the reason in the audit", r.Reason, text)
		equal(s, "the operation in the audit", r.Op, c.Op)
		equal(s, "what is not readable", r.Unreadable, "")
		s.makes(s.change(series.ActionResume))
	}
}

func controlRace(s *fixture) {
	const rivals, changes = 5, 6
	var os []series.OpenRequest
	for i := range rivals {
		os = append(os, series.OpenRequest{Key: fmt.Sprint("race-", i), Node: "n"})
	}
	for _, is := range s.numbered.Open(s.ctx, os) {
		s.series([]series.Series{is})
	}
	var wg sync.WaitGroup
	for _, o := range os {
		wg.Go(func() {
			for i := range changes {
				c := series.Control{Key: o.Key, Action: series.ActionPause, Op: fmt.Sprint(i), Who: "ann", Reason: "race", Seen: series.AnySeen}
				if i%2 == 1 {
					c.Action = series.ActionResume
				}
				if a := s.controlled.Control(s.ctx, c); !a.Made {
					s.Errorf("change %d of %s is answered %+v", i, o.Key, a)
				}
			}
		})
	}
	wg.Wait()
	last, ats := map[int]int64{}, map[int]int64{}
	all := s.audit()
	slices.SortFunc(all, func(a, b series.AuditRecord) int { return int(a.Number - b.Number) })
	for _, r := range all {
		if r.Number != last[r.Partition]+1 || r.At < ats[r.Partition] {
			s.Errorf("partition %d: record %d at %d follows %d at %d", r.Partition, r.Number, r.At, last[r.Partition], ats[r.Partition])
		}
		last[r.Partition], ats[r.Partition] = r.Number, r.At
	}
	equal(s, "records", len(all), rivals*changes)
}

func controlAudit(s *fixture) {
	if len(s.audit()) != 0 {
		s.Fatalf("a new store has %+v", s.audit())
	}
	keys := []string{"a", "b"}
	for _, key := range keys {
		s.key = key
		s.open()
	}
	for i := range 6 {
		s.key = keys[i%2]
		s.pause()
		s.env.Wait(time.Millisecond) // so that the records of several partitions are in the order of their times
	}
	for _, c := range []struct {
		key  string
		n    int
		want []string
	}{
		{"", 0, []string{"op-1", "op-2", "op-3", "op-4", "op-5", "op-6"}},
		{"", 2, []string{"op-5", "op-6"}},
		{"a", 0, []string{"op-1", "op-3", "op-5"}},
		{"b", 2, []string{"op-4", "op-6"}},
		{"never opened", 0, nil},
	} {
		records, err := s.controlled.Audit(s.ctx, c.key, c.n)
		var ops []string
		for _, r := range records {
			ops = append(ops, r.Op)
		}
		if err != nil || !slices.Equal(ops, c.want) {
			s.Errorf("the newest %d of %q are %q, %v, want %q", c.n, c.key, ops, err, c.want)
		}
	}
}
