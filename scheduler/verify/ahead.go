package verify

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

// beyond reports whether an instant is in the future of the store's clock, by more than a claim
// tolerates. This happens if the server's clock was ahead for a while. Without the state of the
// store no instant is known to be.
func (p *proof) beyond(ms int64) bool {
	s := p.options.State
	return s != nil && ms > s.Now+series.Tolerance
}

// isAhead reports whether a line was written in the future of the store's clock, or decides a tick
// there. It gives no verdict to the ticks up to now: they became due after it was written.
func (p *proof) isAhead(l *series.Line) bool { return p.beyond(l.At) || p.beyond(l.To) }

// ahead reports the first line that is ahead.
func (p *proof) ahead(l *series.Line) {
	if p.isAhead(l) && !p.warned {
		p.warned = true
		p.future("a line of the journal", max(l.At, l.To))
	}
}

// decided returns the highest decided instant that the store's clock has reached. A mark ahead of
// the clock is reported: no tick before it can be claimed. Ticks that only lines ahead of the clock
// decide, or a mark that was set back, count as unknown.
func (p *proof) decided() int64 {
	s := p.options.State
	switch {
	case s == nil:
		return p.high
	case p.beyond(s.Mark):
		p.future("the mark", s.Mark)
		return p.high
	case p.warned:
		known := func(tick int64) bool { return p.runs[tick] != nil }
		p.report.Unknown += p.union(within(max(p.high, p.after), min(s.Mark, p.through), inForce), known)
	default:
		p.seen(s.Mark)
	}
	return max(p.high, s.Mark) // decided since the journal was read
}

// future reports an instant in the future of the store's clock.
func (p *proof) future(name string, ms int64) {
	ahead := time.Duration(ms-p.options.State.Now) * time.Millisecond
	p.fault("%s names %s, which is %v ahead of the store's clock: ticks before it cannot be claimed; see cronce doctor", name, stamp(ms), ahead)
}
