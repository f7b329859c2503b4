package verify

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A proof is the state while one journal is read, line by line in the order of the store.
type proof struct {
	report    Report
	options   Options
	revisions revisions
	accused   map[string]bool // unknown revisions that were reported

	now            int64
	after, through int64 // ticks in (after, through] are counted
	begins         int64 // decisions up to here are not known

	mark       int64           // the highest decided instant, according to the lines
	marked     bool            // a line has set mark
	high       int64           // the highest counted instant; above mark if the mark went back, below it after a line that is ahead
	fence      int64           // the highest fence that a tick was granted so far
	shardFence int64           // the highest fence that a shard was granted so far
	latest     int64           // when the latest record was written
	written    int64           // when the first line was written
	lapsed     int64           // when the latest pause with an end was found to have ended
	passed     int64           // the highest decided instant, according to the lines and the state
	open       map[int64]state // the states of ticks with unsettled runs in the store
	runs       map[int64]*run
	states     [states]int // the number of runs in each state
	control    control
	whole      bool // every open run has been seen

	warned bool       // a line that is ahead of the store's clock was reported
	blind  bool       // a line that may have moved the mark could not be read
	torn   bool       // a line could not be read
	holes  [][2]int64 // after and through of the ranges that such lines may have decided
	work   int        // number of ticks that were examined
	spent  bool       // no more may be examined
}

func newProof(j series.Journal, o Options) *proof {
	p := &proof{options: o, revisions: readRevisions(&j), accused: map[string]bool{}, runs: map[int64]*run{}}
	p.now = newest(&j)
	if !o.Now.IsZero() {
		p.now = o.Now.UnixMilli()
	}
	if s := o.State; s != nil && o.Now.IsZero() {
		p.now = s.Now
	}
	p.revisions.retire(o.Alive)
	p.begins = p.revisions.begins(&j, p.now, o.State)
	p.mark, p.high = p.begins, p.begins
	p.whole = len(j.Lines) > 0 && j.Lines[0].Verdict == series.VerdictOpened
	p.after, p.through = p.begins, p.now
	p.report = Report{Job: j.Key, Begins: time.UnixMilli(p.begins).UTC(), Complete: p.whole && !j.Truncated}
	if r := p.revisions.last; r != nil {
		p.report.SeenOn, p.report.Seen = r.Node, time.UnixMilli(r.used).UTC()
	}
	p.control.fill.goes = !p.report.Complete
	p.specFaults(&j)
	if !o.Since.IsZero() {
		since := o.Since.UnixMilli()
		p.report.TooEarly = since <= p.begins && !p.report.Complete
		p.after = max(p.after, since-1)
	}
	return p
}

// specFaults reports specs that are not known: their due ticks cannot be computed.
func (p *proof) specFaults(j *series.Journal) {
	for _, text := range j.Faults {
		p.fault("cannot be read: %s", text)
	}
	for _, s := range j.Revisions {
		if r := p.revisions.byName[s.Revision][0]; r.schedule == nil {
			p.fault("the spec %.200q cannot be read: %v", s.Spec, r.fault)
		}
	}
	if s := p.options.State; s != nil && s.Mark != 0 && len(p.revisions.byName) == 0 {
		p.fault("no spec is recorded: the due ticks cannot be computed")
	}
}

// newest returns the latest instant in a journal.
func newest(j *series.Journal) (ms int64) {
	for i := range j.Lines {
		ms = max(ms, j.Lines[i].At, j.Lines[i].To)
	}
	for i := range j.Revisions {
		ms = max(ms, j.Revisions[i].Last)
	}
	return ms
}

// begins returns the beginning of the proof: the mark before the first kept line that moved it. A
// line about a single tick proves that no tick after the time of the line had been decided.
func (rs *revisions) begins(j *series.Journal, now int64, s *series.Series) int64 {
	at := int64(math.MinInt64)
	for i := range j.Lines {
		l := &j.Lines[i]
		switch {
		case l.Verdict == series.VerdictUnreadable:
			continue
		case l.Verdict == series.VerdictOpened:
			if rs.past(l) {
				return l.From
			}
			return max(l.From, l.At) // no other opening is below the store's clock
		case l.From < l.To:
			return l.From
		case l.Verdict == series.VerdictControl:
			return l.To // the mark
		}
		at = max(at, l.At+series.Tolerance)
	}
	switch {
	case at > math.MinInt64 && s != nil && s.Mark > 0: // and no tick later than the mark of the state was decided
		return min(s.Mark, at)
	case at > math.MinInt64:
		return at
	case s != nil && s.Mark > 0: // without lines the mark shows the decided ticks
		return min(s.Mark, now)
	}
	return now
}

// read reads line i.
func (p *proof) read(i int, l *series.Line) {
	if p.written == 0 {
		p.written = l.At
	}
	for _, ms := range []int64{l.At, l.Ended} {
		if !p.beyond(ms) {
			p.latest = max(p.latest, ms)
		}
	}
	p.ahead(l)
	if l.Verdict == series.VerdictUnreadable {
		p.unreadable(l)
		return
	}
	p.answered(l)
	p.fills(l)
	if l.Verdict == series.VerdictControl {
		if series.Action(l.Reason) == series.ActionLapse && !p.beyond(l.At) {
			p.lapsed = l.At
		}
		p.controlled(l)
		return
	}
	defer func() { p.control.asked, p.control.unread = nil, false }()
	p.steered(l)
	switch {
	case l.From > l.To:
		p.violate("I1", l.To, "a line moves the mark back, from %s", stamp(l.From))
	case l.Verdict == series.VerdictOpened:
		p.opened(i, l)
	case l.From < l.To:
		p.moved(l)
	default:
		p.followUp(l)
	}
}

// past reports whether an opening may have an instant before the time of its line: right before a
// tick, if the job has only one tick or if commands in crontabs claim its ticks.
func (rs *revisions) past(l *series.Line) bool {
	r := rs.of(l)
	return r != nil && r.schedule != nil && (r.policies.Crontab || !r.schedule.At().IsZero()) && r.names(l.To+1)
}

// opened reads an opening. Any opening but the first proves that the store lost its data.
func (p *proof) opened(i int, l *series.Line) {
	switch {
	case l.To < l.At && !p.revisions.past(l):
		p.violate("I4", l.At, "opened at %s, which is before it was written", stamp(l.To))
	case l.From != l.To:
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
		p.report.Undecided += n
		p.violate("I4", l.To, "the store forgot the mark %s: opened again, and %d ticks between have no verdict", stamp(p.mark), n)
	}
	p.forget()
	p.control.anew()
	p.mark, p.high, p.whole, p.blind = l.To, max(p.high, l.To), true, false
}

// absent counts the ticks in (after, through] of all revisions in force.
func (p *proof) absent(after, through int64) int {
	return p.union(within(max(after, p.after), min(through, p.through), inForce), nil)
}

// unreadable handles a line that cannot be read. It may have moved the mark, ended any run, and have been
// of any change by an operator.
func (p *proof) unreadable(l *series.Line) {
	p.fault("a line of the journal cannot be read: %s", l.Error)
	p.blind, p.torn, p.whole = true, true, false
	c := &p.control
	p.control = control{first: c.first, skips: true, unread: true, fill: filling{goes: true, run: c.fill.run}, seen: c.seen}
	for _, r := range p.runs {
		if r.state == open || r.state == waiting || r.state == unstarted || r.state == givenBack {
			p.set(r, unseen)
		}
	}
}

// complete reports whether each line from the opening on was read so far.
func (p *proof) complete() bool { return p.report.Complete && !p.torn }

// seen closes the hole before after that unreadable lines have left.
func (p *proof) seen(after int64) {
	if p.blind && after > p.mark {
		p.holes = append(p.holes, [2]int64{max(p.mark, p.high), after})
		p.mark, p.high = after, max(p.high, after)
	}
	p.blind = false
}

// hidden reports whether an unreadable line may have decided a tick.
func (p *proof) hidden(tick int64) bool {
	return p.blind && tick > p.mark ||
		slices.ContainsFunc(p.holes, func(h [2]int64) bool { return h[0] < tick && tick <= h[1] })
}

// fault reports a fact that keeps the proof from being complete.
func (p *proof) fault(format string, args ...any) {
	p.report.Faults = append(p.report.Faults, fmt.Sprintf(format, args...))
}

// known returns the revision that a line names, or nil. A revision that was never recorded, or that
// cannot be read, is reported once.
func (p *proof) known(l *series.Line) *revision {
	r := p.revisions.of(l)
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

// counted reports whether a tick is in the counted range.
func (p *proof) counted(tick int64) bool { return p.after < tick && tick <= p.through }

// violate reports a violation, unless it is older than Options.Since.
func (p *proof) violate(invariant string, tick int64, format string, args ...any) {
	if !p.options.Since.IsZero() && tick < p.options.Since.UnixMilli() {
		return
	}
	p.report.Violations = append(p.report.Violations,
		Violation{Invariant: invariant, Tick: time.UnixMilli(tick).UTC(), Text: fmt.Sprintf(format, args...)})
}
