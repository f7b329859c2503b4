package verify

import (
	"fmt"
	"math"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

// A proof is the state of reading one journal, line by line, as the store wrote it.
type proof struct {
	report    Report
	options   Options
	revisions revisions
	accused   map[string]bool // revisions that were reported as unknown

	now            int64
	after, through int64 // ticks in (after, through] are counted
	begins         int64 // what was decided up to here is not known

	mark   int64 // the highest decided instant, as the lines have it
	marked bool  // a line told it
	high   int64 // the highest counted instant; above the mark if that went back
	fence  int64 // the highest fence granted so far
	latest int64 // when something was written last
	runs   map[int64]*run
	states [states]int // how many runs are in each state
	whole  bool        // every open run has been seen
}

func newProof(j lock.Journal, o Options) *proof {
	p := &proof{options: o, revisions: readRevisions(&j), accused: map[string]bool{}, runs: map[int64]*run{}}
	p.now = newest(&j)
	if !o.Now.IsZero() {
		p.now = o.Now.UnixMilli()
	}
	p.begins = begins(&j, p.now)
	p.mark, p.high = p.begins, p.begins
	p.whole = len(j.Lines) > 0 && j.Lines[0].Verdict == lock.VerdictOpened
	p.after, p.through = p.begins, p.now
	p.report = Report{Job: j.Key, Begins: time.UnixMilli(p.begins).UTC(), Complete: p.whole && !j.Truncated}
	if !o.Since.IsZero() {
		since := o.Since.UnixMilli()
		p.report.TooEarly = since <= p.begins && !p.report.Complete
		p.after = max(p.after, since-1)
	}
	return p
}

// newest is the latest instant that a journal names.
func newest(j *lock.Journal) (ms int64) {
	for i := range j.Lines {
		ms = max(ms, j.Lines[i].At, j.Lines[i].To)
	}
	for i := range j.Revisions {
		ms = max(ms, j.Revisions[i].Last)
	}
	return ms
}

// begins is where the proof begins: the mark before the first kept line that
// moved it. Lines that only speak of single ticks tell that nothing later than
// they were written had been decided.
func begins(j *lock.Journal, now int64) int64 {
	at := int64(math.MinInt64)
	for i := range j.Lines {
		l := &j.Lines[i]
		if l.Verdict == lock.VerdictOpened || l.From < l.To {
			return l.From
		}
		at = max(at, l.At+series.Tolerance)
	}
	if len(j.Lines) == 0 {
		return now
	}
	return at
}

// read takes line i.
func (p *proof) read(i int, l *lock.Line) {
	p.latest = max(p.latest, l.At, l.Ended)
	switch {
	case l.From > l.To:
		p.violate("I1", l.To, "a line moves the mark back, from %s", stamp(l.From))
	case l.Verdict == lock.VerdictOpened:
		p.opened(i, l)
	case l.From < l.To:
		p.moved(l)
	default:
		p.spoke(l)
	}
}

// opened reads an opening. Any but the first tells that the store forgot.
func (p *proof) opened(i int, l *lock.Line) {
	if l.From != l.To {
		p.violate("I4", l.To, "an opening covers ticks, from %s", stamp(l.From))
	}
	p.known(l)
	p.marked = true
	if i == 0 {
		return
	}
	if l.To < p.mark {
		p.violate("I1", l.To, "opened again below the mark %s: ticks between may be decided twice", stamp(p.mark))
	} else {
		n := p.absent(p.mark, l.To)
		p.violate("I4", l.To, "the store forgot the mark %s: opened again, and %d ticks between have no verdict", stamp(p.mark), n)
	}
	p.forget()
	p.mark, p.high, p.whole = l.To, max(p.high, l.To), true
}

// absent counts the ticks of (after, through], of any revision in use, as undecided.
func (p *proof) absent(after, through int64) int {
	n, _ := p.revisions.union(within(max(after, p.after), min(through, p.through), lastUse), nil)
	p.report.Undecided += n
	return n
}

// known returns the revision that a line names, or nil. One that was never
// recorded, or that cannot be read, is reported once.
func (p *proof) known(l *lock.Line) *revision {
	r := p.revisions.byName[l.Revision]
	if r != nil && r.schedule != nil {
		return r
	}
	if p.accused[l.Revision] || l.To <= p.after {
		return nil
	}
	p.accused[l.Revision] = true
	if r == nil {
		p.violate("I4", l.To, "revision %q was never recorded: its ticks cannot be recomputed", l.Revision)
	} else {
		p.violate("I4", l.To, "the spec of revision %q cannot be read: %v", l.Revision, r.fault)
	}
	return nil
}

// counted reports whether a tick is one of those in question.
func (p *proof) counted(tick int64) bool { return p.after < tick && tick <= p.through }

// violate reports a violation, unless it is older than what was asked for.
func (p *proof) violate(invariant string, tick int64, format string, args ...any) {
	if !p.options.Since.IsZero() && tick < p.options.Since.UnixMilli() {
		return
	}
	p.report.Violations = append(p.report.Violations,
		Violation{Invariant: invariant, Tick: time.UnixMilli(tick).UTC(), Text: fmt.Sprintf(format, args...)})
}
