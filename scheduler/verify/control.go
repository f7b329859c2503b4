package verify

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A control is the state of the changes according to the lines read so far.
type control struct {
	known  bool  // a line was read
	first  int64 // the number of the oldest change that has a line
	change int64 // the number of the latest change
	paused bool
	since  int64        // when the pause was made
	asked  *series.Line // the last line if it requested a manual run
	unread bool         // the last line could not be read
	fill   filling
	skips  bool                   // a change to skip a tick was read, or may be in a line that could not be, and no tick was skipped for an operator since
	judged bool                   // a line was read that says whether the job is paused
	covers *series.Line           // the last line if the end of a pause wrote it to cover ticks: the end's own line follows
	seen   map[int64]*series.Line // by number in the audit
}

// anew begins the state of a series that is opened again: its pause, its backfill and the number of its changes were lost.
// The audit goes on.
func (c *control) anew() { *c = control{known: true, judged: true, first: c.first, seen: c.seen} }

// controlled reads a line about a change by an operator, or about a pause that has reached its end.
// The line is at the mark, and changes are numbered without gaps.
func (p *proof) controlled(l *series.Line) {
	p.seen(l.To)
	if l.From != l.To || l.To != p.mark {
		p.violate("I10", l.To, "a change is written at %s, while the mark was at %s", stamp(l.To), stamp(p.mark))
	}
	action, before := series.Action(l.Reason), p.control
	if action == series.ActionLapse {
		if l.Audit != 0 || before.known && l.Change != before.change || before.judged && !before.paused {
			p.violate("I10", l.To, "the end of pause %d follows change %d, and the job was paused: %v", l.Change, before.change, before.paused)
		}
	} else {
		if l.Audit == 0 {
			p.violate("I10", l.To, "change %d, %s, has no number in the audit", l.Change, action)
		}
		if before.known && l.Change != before.change+1 {
			p.violate("I10", l.To, "change %d, %s, follows change %d", l.Change, action, before.change)
		}
	}
	if action == series.ActionResume && before.judged && !before.paused {
		p.violate("I10", l.To, "change %d ends a pause, and the job was not paused", l.Change)
	}
	if action != series.ActionResume && action != series.ActionLapse {
		p.covered()
	}
	if action == series.ActionCancel {
		p.cancel(l)
	}
	if p.control.seen == nil {
		p.control.seen = map[int64]*series.Line{}
	}
	p.control.seen[l.Audit] = l
	if p.control.first == 0 {
		p.control.first = l.Change
	}
	p.control.known, p.control.change, p.control.covers, p.control.asked, p.control.unread = true, l.Change, nil, nil, false
	switch action {
	case series.ActionPause, series.ActionRetire:
		p.control.paused, p.control.judged, p.control.since = true, true, l.At
		p.control.fill.goes = false
	case series.ActionRun:
		p.control.asked = l
	case series.ActionBackfill:
		p.control.fill = filling{asked: true, run: p.control.fill.run}
	case series.ActionSkip:
		p.control.skips = true
	case series.ActionResume, series.ActionLapse:
		p.control.paused, p.control.judged = false, true
	}
}

// cancel reads the line of a cancel, which names the run by its fence: no attempt of it is granted
// from now on.
func (p *proof) cancel(l *series.Line) {
	for _, r := range p.runs {
		if r.fence == l.Fence {
			r.cancelled = l.Change
		}
	}
}

// steered checks that a line agrees with the changes before it: nothing is granted in a pause, and
// no tick is paused without one.
func (p *proof) steered(l *series.Line) {
	if !p.control.judged {
		return
	}
	p.covered()
	if resumed(l) {
		p.control.covers = l
	}
	paused := l.Verdict == series.VerdictPaused
	granted := l.Verdict == series.VerdictRan || l.Verdict == series.VerdictWaiting
	switch {
	case paused && !p.control.paused:
		p.violate("I10", l.To, "paused, and the job was not")
	case granted && p.barred(l):
		p.violate("I10", l.To, "%s, and the job was paused", l.Verdict)
	}
}

// covered checks that a line which covers ticks at the end of a pause is followed by the line of
// that end, which is written in the same step.
func (p *proof) covered() {
	if l := p.control.covers; l != nil {
		p.violate("I10", l.To, "paused up to the end of a pause, and no line says that it ended")
	}
	p.control.covers = nil
}

// audited compares the lines about changes with the records of the audit, which was read before the
// journal: each record has one line, and each line one record.
func (p *proof) audited(job string) {
	p.covered()
	p.answered(nil)
	p.lastIsTick()
	from, through := map[int]int64{}, map[int]int64{} // the kept numbers, by partition
	var own []*series.AuditRecord
	for i := range p.options.Audit {
		r := &p.options.Audit[i]
		if r.Unreadable != "" {
			continue
		}
		if from[r.Partition] == 0 || r.Number < from[r.Partition] {
			from[r.Partition] = r.Number
		}
		through[r.Partition] = max(through[r.Partition], r.Number)
		if r.Key == job {
			own = append(own, r)
		}
	}
	recorded := map[int64]bool{}
	for _, r := range own {
		recorded[r.Number] = true
		l := p.control.seen[r.Number]
		switch {
		case l == nil && p.keeps(r) && !p.torn:
			p.violate("I10", r.At/1000, "the audit has %s as change %d of the job, number %d, and the journal has no line of it", r.Action, r.Change, r.Number)
		case l != nil && (l.Change != r.Change || series.Action(l.Reason) != r.Action || l.Node != r.Who || l.At != r.At/1000):
			p.violate("I10", l.To, "change %d, %s by %s, is number %d of the audit, which has %s by %s as change %d", l.Change, l.Reason, l.Node, r.Number, r.Action, r.Who, r.Change)
		}
	}
	if len(own) == 0 {
		return // the partition that has them is not known
	}
	partition := own[0].Partition
	for number, l := range p.control.seen {
		if !recorded[number] && from[partition] <= number && number <= through[partition] {
			p.violate("I10", l.To, "change %d, %s by %s, is not in the audit, where it has number %d", l.Change, l.Reason, l.Node, number)
		}
	}
}

// keeps reports whether the line of a record must be in a journal whose older lines may be gone. If
// a line has the number of the change, that number decides, because the clock may have been put
// back.
func (p *proof) keeps(r *series.AuditRecord) bool {
	switch {
	case p.report.Complete:
		return true
	case p.control.first != 0:
		return r.Change > p.control.first
	}
	return p.written != 0 && r.At/1000 > p.written // without lines, all of them may be gone
}

// Gaps returns a violation for each gap in the numbers of an audit, which grow by one in each partition, and
// for each record that cannot be read. It begins with the oldest kept record.
func Gaps(records []series.AuditRecord) (found []Violation) {
	last := map[int]*series.AuditRecord{}
	for i := range records {
		r := &records[i]
		if r.Unreadable != "" {
			found = append(found, Violation{Invariant: "I10", Text: "a record of the audit cannot be read: " + r.Unreadable})
			delete(last, r.Partition)
			continue
		}
		if before := last[r.Partition]; before != nil && r.Number != before.Number+1 {
			found = append(found, Violation{Invariant: "I10", Tick: time.UnixMicro(r.At).UTC(), Text: fmt.Sprintf("number %d of the audit follows number %d", r.Number, before.Number)})
		}
		last[r.Partition] = r
	}
	return found
}
