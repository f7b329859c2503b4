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
		if (len(got) == 0) != (c.want == "") || len(got) > 0 && !strings.Contains(got[0].Text, c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
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
		if r := verify.Job(j, verify.Options{Now: instant(s.now), Audit: s.audit}); !r.OK() {
			t.Fatalf("%s: before: %v", name, r.Violations)
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
