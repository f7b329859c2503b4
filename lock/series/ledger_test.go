package series_test

import (
	"fmt"

	"github.com/cronce/cronce/lock/series"
)

const (
	maxTicks = 12
	maxIndex = 3*maxTicks + 2 // of two manual numbers in each interval
	interval = 1000           // ms between the numbers, which are whole seconds
	base     = int64(1_000_000)
	ttl      = interval + interval/2
)

// due is the k-th number of the spec that all nodes share, or above maxTicks, the first or the second
// manual number of each interval in turn.
func due(k int) int64 {
	if k > maxTicks {
		k -= maxTicks + 1
		return due(k/2) + 1 + int64(k%2)
	}
	return base + int64(k)*interval
}

// index is the k of a number, and whether there is one. Manual numbers have a part of a second.
func index(n int64) (int, bool) {
	k := int((n - base) / interval)
	switch ok := k >= 0 && k <= maxTicks; n % interval {
	case 0:
	case 2: // right after another one
		return 2*k + maxTicks + 2, ok
	default:
		return 2*k + maxTicks + 1, ok
	}
	return k, k >= 1 && k <= maxTicks
}

// toFill are the numbers of a backfill: decided before anything else.
var toFill = [...]int64{base - interval, base}

// fate is the end of a number by the journal.
type fate uint8

const (
	undecided fate = iota
	running
	interrupted
	unstarted
	waiting
	final
)

// A page is the knowledge of the ledger about one number.
type page struct {
	fate    fate
	verdict series.Verdict
	outcome string
	fence   int64
	attempt int // the last counted one
	until   int64

	cancelled bool
}

// A ledger reads the lines of a series one by one and holds them against the
// invariants. It knows nothing of how they were decided.
type ledger struct {
	mark   int64
	fence  int64
	change int64 // the latest
	paused bool
	skip   int64 // a number that an operator skips
	filled int8  // how many runs a backfill has had
	pages  [maxIndex + 1]page
	fault  string // the first invariant that was broken
}

func (l *ledger) broken(format string, args ...any) {
	if l.fault == "" {
		l.fault = fmt.Sprintf(format, args...)
	}
}

// Append reads a line as the store writes it.
func (l *ledger) Append(line series.Line) {
	switch {
	case line.Verdict == series.VerdictOpened:
		l.mark = line.To
		return
	case line.Verdict == series.VerdictControl:
		l.controls(line)
		return
	case line.From < line.To:
		l.moves(line)
	}
	if line.For != 0 {
		if line.For != toFill[l.filled] {
			l.broken("I9 the run %d of a backfill is for %d, want %d", line.To, line.For, toFill[l.filled])
		}
		l.filled++
	}
	k, ok := index(line.To)
	switch {
	case !ok:
		return
	case k > maxTicks && line.From < line.To:
		if line.Verdict != series.VerdictPaused { // a pause ends at any time
			l.broken("I9 the manual number %d moves the mark: %s", line.To, line.Verdict)
		}
		return
	}
	l.decide(&l.pages[k], k, line)
}

// controls reads a line about a change: it stands at the mark, and changes are numbered
// without gaps. The end of a pause that had one has the number of the pause.
func (l *ledger) controls(line series.Line) {
	if line.From != l.mark || line.To != l.mark {
		l.broken("I4 a change from %d to %d, the mark is %d", line.From, line.To, l.mark)
	}
	if series.Action(line.Reason) != series.ActionLapse {
		l.change++
	}
	switch series.Action(line.Reason) {
	case series.ActionCancel:
		l.cancels(line)
	case series.ActionRun, series.ActionSkip, series.ActionBackfill:
	default:
		l.paused = series.Action(line.Reason) == series.ActionPause || series.Action(line.Reason) == series.ActionRetire
	}
	if line.Change != l.change {
		l.broken("I10 change %d is written as %d", l.change, line.Change)
	}
}

// cancels reads a line about the cancel of a run, which must have been granted or wait.
func (l *ledger) cancels(line series.Line) {
	for k := range l.pages {
		if p := &l.pages[k]; p.fate != undecided && p.fence == line.Fence {
			p.cancelled = true
			return
		}
	}
	l.broken("I10 a cancel names the fence %d, which no number has", line.Fence)
}

// moves reads a line that raises the mark: it must begin where the mark stood,
// and give each number that it passes a verdict (I4).
func (l *ledger) moves(line series.Line) {
	if line.From != l.mark {
		l.broken("I4 a line goes from %d to %d, the mark was %d", line.From, line.To, l.mark)
	}
	for k := 1; k <= maxTicks; k++ {
		if due(k) <= line.From || due(k) >= line.To {
			continue
		}
		if line.Between == "" {
			l.broken("I4 number %d is passed over without a verdict", k)
		}
		l.put(&l.pages[k], k, line.Between)
	}
	l.mark = line.To
}

func (l *ledger) decide(p *page, k int, line series.Line) {
	moved := line.From < line.To
	switch line.Verdict {
	case series.VerdictRan:
		l.grant(p, k, line, moved)
	case series.VerdictEnded:
		l.end(p, k, line)
	case series.VerdictWaiting:
		l.rises(line.Fence)
		if p.fate != undecided || moved != (k <= maxTicks) {
			l.broken("I1 number %d waits after it was decided", k)
		}
		p.fate, p.fence = waiting, line.Fence
	case series.VerdictLost, series.VerdictSuperseded:
		if p.fate == undecided || p.fence != line.Fence {
			l.broken("I1 number %d is %s and was never granted with the fence %d", k, line.Verdict, line.Fence)
		}
		l.put(p, k, line.Verdict)
	case series.VerdictMissed:
		if l.paused && k <= maxTicks {
			l.broken("I10 number %d is missed in a pause", k)
		}
		fallthrough
	default:
		if moved != (p.fate == undecided) {
			l.broken("I1 number %d is %s, moving the mark: %v, after fate %d", k, line.Verdict, moved, p.fate)
		}
		l.put(p, k, line.Verdict)
	}
}

func (l *ledger) grant(p *page, k int, line series.Line, moved bool) {
	l.rises(line.Fence)
	switch {
	case p.cancelled:
		l.broken("I12 number %d is granted after its cancel", k)
	case due(k) == l.skip:
		l.broken("number %d is granted, although an operator skips it", k)
	case p.fate == final:
		l.broken("I1 number %d is granted after its verdict %s", k, p.verdict)
	case moved != (p.fate == undecided):
		l.broken("I1 number %d is granted, moving the mark: %v, after fate %d", k, moved, p.fate)
	case line.Attempt != p.attempt+1:
		l.broken("I1 number %d: attempt %d is granted after attempt %d", k, line.Attempt, p.attempt)
	}
	p.fate, p.fence, p.attempt = running, line.Fence, line.Attempt
}

func (l *ledger) end(p *page, k int, line series.Line) {
	if p.fate != running || p.fence != line.Fence || p.attempt != line.Attempt {
		l.broken("I1 number %d ends with the fence %d and attempt %d, it has fate %d, %d, %d", k, line.Fence, line.Attempt, p.fate, p.fence, p.attempt)
	}
	switch line.Outcome {
	case series.OutcomeUnstarted:
		p.fate = unstarted
		p.attempt--
	case series.OutcomeInterrupted:
		p.fate = interrupted
	default:
		p.fate, p.verdict, p.outcome = final, series.VerdictRan, line.Outcome
	}
}

// put gives a number its final verdict, which it must not have yet (I1).
func (l *ledger) put(p *page, k int, v series.Verdict) {
	if p.fate == final {
		l.broken("I1 number %d is %s after its verdict %s", k, v, p.verdict)
	}
	p.fate, p.verdict = final, v
}

// rises holds fences to I2.
func (l *ledger) rises(fence int64) {
	if fence <= l.fence {
		l.broken("I2 the fence is %d after %d", fence, l.fence)
	}
	l.fence = max(l.fence, fence)
}

// alive reports whether another number's run is alive.
func (l *ledger) alive(but int, ms int64) bool {
	for k := range l.pages {
		if k != but && l.pages[k].fate == running && ms < l.pages[k].until {
			return true
		}
	}
	return false
}

// complete reports the first number at or below the mark without a verdict (I4).
func (l *ledger) complete(opened int64) {
	for k := 1; k <= maxTicks; k++ {
		if due(k) > opened && due(k) <= l.mark && l.pages[k].fate == undecided {
			l.broken("I4 number %d is below the mark %d and has no verdict", k, l.mark)
		}
	}
}
