package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

func TestGaps(t *testing.T) {
	record := func(partition int, number int64) series.AuditRecord {
		return series.AuditRecord{Partition: partition, Number: number, At: epoch * 1000}
	}
	for name, c := range map[string]struct {
		records []series.AuditRecord
		want    string // part of the first violation; empty: there is none
	}{
		"nothing":                    {},
		"begins anywhere":            {records: []series.AuditRecord{record(0, 7), record(0, 8)}},
		"each partition has its own": {records: []series.AuditRecord{record(0, 7), record(1, 3), record(0, 8), record(1, 4)}},
		"a gap":                      {records: []series.AuditRecord{record(0, 7), record(0, 9)}, want: "number 9 of the audit follows number 7"},
		"twice":                      {records: []series.AuditRecord{record(0, 7), record(0, 7)}, want: "number 7 of the audit follows number 7"},
		"unreadable":                 {records: []series.AuditRecord{record(0, 7), {Unreadable: "?"}, record(0, 9)}, want: "cannot be read: ?"},
	} {
		got := verify.Gaps(c.records)
		if len(got) > 1 || (len(got) == 0) != (c.want == "") || len(got) > 0 && !strings.Contains(got[0].Text, c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
		if strings.HasPrefix(c.want, "number") && !got[0].Tick.Equal(instant(epoch)) {
			t.Errorf("%s: at %v", name, got[0].Tick)
		}
	}
}

// Each change has one record and one line, in the order of their numbers.
func TestChangesAreHeldToTheAudit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines []series.Line, records []series.AuditRecord) ([]series.Line, []series.AuditRecord)
		want   string
	}{
		"a line is gone": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			return slices.DeleteFunc(ls, func(l series.Line) bool { return l.Change == 2 }), rs
		}, "the journal has no line of it"},
		"a record is gone": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			return ls, slices.Delete(rs, 1, 2)
		}, "is not in the audit"},
		"another person": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			rs[0].Who = "bob"
			return ls, rs
		}, "which has pause by bob"},
		"another number": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			rs[0].Change = 7
			return ls, rs
		}, "which has pause by ann as change 7"},
		"another action": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			rs[0].Action = series.ActionRetire
			return ls, rs
		}, "which has retire by ann"},
		"another time": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			rs[0].At += 1000
			return ls, rs
		}, "is number 1 of the audit, which has pause by ann"},
		"a grant in the pause": {func(ls []series.Line, rs []series.AuditRecord) ([]series.Line, []series.AuditRecord) {
			i := slices.IndexFunc(ls, func(l series.Line) bool { return l.Verdict == series.VerdictPaused })
			ls[i].Verdict, ls[i].Between, ls[i].Fence, ls[i].Attempt = series.VerdictRan, "", ls[i].At*1000, 1
			return ls, rs
		}, "and the job was paused"},
	} {
		s := opened()
		pause(s)
		s.change(series.ActionPause, 0)
		j := s.journal()
		others := []series.AuditRecord{{Unreadable: "?"}, {Key: "other", Action: series.ActionPause, Number: s.audit[len(s.audit)-1].Number + 1, At: s.us(), Change: 1}}
		for _, records := range [][]series.AuditRecord{s.audit, append(slices.Clone(s.audit), others...), s.audit[1:], s.audit[:len(s.audit)-1]} { // older records are gone, or newer ones were not read
			if r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: records}); !r.OK() {
				t.Fatalf("%s: before, by %d records: %v", name, len(records), r.Violations)
			}
		}
		lines, records := c.change(slices.Clone(j.Lines), slices.Clone(s.audit))
		j.Lines = lines
		r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: records})
		if !slices.ContainsFunc(r.Violations, func(v verify.Violation) bool { return v.Invariant == "I10" && strings.Contains(v.Text, c.want) }) {
			t.Errorf("%s: %v, want %q", name, r.Violations, c.want)
		}
	}
}

// An attempt that is granted after the cancel of its run breaks I12, also if its fence grows.
func TestGrantAfterACancel(t *testing.T) {
	s := opened()
	s.now = at(10)
	s.ask(policy{rerun: true}, at(10))
	s.cancel(at(10))
	j := s.journal()
	if r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: s.audit}); !r.OK() {
		t.Fatalf("untouched: %v", r.Violations)
	}
	last := j.Lines[len(j.Lines)-1]
	again := series.Line{At: last.At + 60_000, Verdict: series.VerdictRan, From: at(10), To: at(10), Node: "b", Revision: "r1", Fence: (last.At + 60_000) * 1000, Attempt: 2}
	j.Lines = append(j.Lines, again)
	r := verify.Job(j, verify.Options{Now: instant(s.now + 60_000), Audit: s.audit})
	if !slices.ContainsFunc(r.Violations, func(v verify.Violation) bool {
		return v.Invariant == "I12" && strings.Contains(v.Text, "attempt 2 is granted to b after change 1, which cancelled the run")
	}) {
		t.Errorf("found %v", r.Violations)
	}
}

// A change in the middle has lost its line, and there is no audit to compare the others with: their
// numbers have a gap.
func TestChangeMissingInTheMiddle(t *testing.T) {
	s := opened()
	pause(s)
	s.change(series.ActionPause, 0)
	s.change(series.ActionResume, 0)
	j := s.journal()
	if r := verify.Job(j, verify.Options{Now: instant(s.now)}); !r.OK() {
		t.Fatalf("untouched: %v", r.Violations)
	}
	j.Lines = slices.DeleteFunc(j.Lines, func(l series.Line) bool { return l.Change == 2 && l.Verdict == series.VerdictControl })
	r := verify.Job(j, verify.Options{Now: instant(s.now)})
	if !slices.ContainsFunc(r.Violations, func(v verify.Violation) bool {
		return v.Invariant == "I10" && strings.Contains(v.Text, "follows change 1")
	}) {
		t.Errorf("found %v", r.Violations)
	}
}

// Older lines of a journal are gone, including the line of a change, and the store's clock was put
// back after that change. The record of the change is older by its number, though younger by its
// clock, and needs no line.
func TestAuditAfterABackwardStep(t *testing.T) {
	s := opened()
	pause(s)
	s.change(series.ActionPause, 0)
	j := s.journal()
	i := slices.IndexFunc(j.Lines, func(l series.Line) bool { return l.Change == 2 && l.Verdict == series.VerdictControl })
	j.Lines = j.Lines[i:]
	records := slices.Clone(s.audit)
	records[0].At += 3_600_000_000
	if r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: records}); !r.OK() {
		t.Errorf("found %v", r.Violations)
	}
}

// A store has lost all lines of a journal: a record of the audit needs none.
func TestAuditWithoutAJournal(t *testing.T) {
	s := opened()
	pause(s)
	j := s.journal()
	j.Lines = nil
	if r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: s.audit}); !r.OK() || len(s.audit) == 0 {
		t.Errorf("found %v", r.Violations)
	}
}

// change returns the line of the n-th change, written at a second, while the mark was at another.
func change(action series.Action, n int64, written, mark float64) series.Line {
	return series.Line{At: at(written), Verdict: series.VerdictControl, From: at(mark), To: at(mark), Reason: string(action), Node: "ann", Change: n, Audit: n}
}

// lapse returns the line of the end of a pause that was made by the n-th change.
func lapse(n int64, written, mark float64) series.Line {
	return with(change(series.ActionLapse, n, written, mark), func(l *series.Line) { l.Node, l.Audit = "", 0 })
}

// covers returns the line that covers the ticks from one second to another at the end of a pause.
func covers(written, from, to float64) series.Line {
	return series.Line{At: at(written), Verdict: series.VerdictPaused, From: at(from), To: at(to), Between: series.VerdictPaused}
}

func changes() []planted {
	pauses := change(series.ActionPause, 1, 11, 10)
	return []planted{
		{"a change has no number in the audit", journal(ran(10), with(pauses, func(l *series.Line) { l.Audit = 0 })),
			[]string{"I10 change 1, pause, has no number in the audit"}},
		{"a change covers ticks", journal(ran(10), with(pauses, func(l *series.Line) { l.From = at(0) })),
			[]string{"I10 a change is written at 2026-01-05T00:00:10.000Z"}},
		{"a change above the mark", journal(ran(10), change(series.ActionSkip, 1, 21, 20)),
			[]string{"I10 a change is written at 2026-01-05T00:00:20.000Z, while the mark was at 2026-01-05T00:00:10.000Z"}},
		{"a change is left out", journal(ran(10), pauses, change(series.ActionResume, 3, 12, 10)),
			[]string{"I10 change 3, resume, follows change 1"}},
		{"what is not paused is resumed", journal(ran(10), pauses, change(series.ActionResume, 2, 12, 10), change(series.ActionResume, 3, 13, 10)),
			[]string{"I10 change 3 ends a pause, and the job was not paused"}},
		{"a pause ends twice", journal(ran(10), pauses, change(series.ActionResume, 2, 12, 10), lapse(2, 13, 10)),
			[]string{"I10 the end of pause 2 follows change 2, and the job was paused: false"}},
		{"another pause ends", journal(ran(10), pauses, lapse(2, 13, 10)),
			[]string{"I10 the end of pause 2 follows change 1, and the job was paused: true"}},
		{"the end of a pause has a number in the audit", journal(ran(10), pauses, with(lapse(1, 13, 10), func(l *series.Line) { l.Audit = 2 })),
			[]string{"I10 the end of pause 1 follows change 1, and the job was paused: true"}},
		{"paused, and the pause is over", journal(ran(10), pauses, change(series.ActionResume, 2, 12, 10), line(series.VerdictPaused, 20, 10, 20)),
			[]string{"I10 paused, and the job was not"}},
		{"a tick waits in a pause", journal(granted(10), pauses, line(series.VerdictWaiting, 20, 10, 20)),
			[]string{"I10 waiting, and the job was paused"}},
		{"a pause is forgotten with the store, and another follows", journal(ran(10), pauses, line(series.VerdictOpened, 15, 15, 15),
			with(ran(20), func(l *series.Line) { l.From = at(15) }), with(change(series.ActionPause, 1, 21, 20), func(l *series.Line) { l.Audit = 2 })),
			[]string{"I4 the store forgot the mark"}},
		{"a pause is forgotten with the store, and the changes are numbered on", journal(ran(10), pauses, line(series.VerdictOpened, 15, 15, 15), change(series.ActionPause, 2, 16, 15)),
			[]string{"I4 the store forgot the mark", "I10 change 2, pause, follows change 0"}},
		{"a pause covers ticks, and does not end", journal(ran(10), pauses, covers(25, 10, 25)),
			[]string{"I10 paused up to the end of a pause, and no line says that it ended"}},
		{"a pause covers ticks, and ends later", journal(ran(10), pauses, covers(25, 10, 25), line(series.VerdictPaused, 30, 25, 30), change(series.ActionResume, 2, 31, 30)),
			[]string{"I10 paused up to the end of a pause, and no line says that it ended"}},
		{"a pause covers ticks, and another change follows", journal(ran(10), pauses, covers(25, 10, 25), change(series.ActionSkip, 2, 25, 25), change(series.ActionResume, 3, 26, 25)),
			[]string{"I10 paused up to the end of a pause, and no line says that it ended"}},
		{"an unstarted tick is left at the end of a pause", journal(unbegun(ran(10)), pauses, covers(25, 10, 25), change(series.ActionResume, 2, 25, 25)),
			[]string{"I4 was unstarted and got no verdict when 2026-01-05T00:00:25.000Z was decided"}},
	}
}
