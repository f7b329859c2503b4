package memlock

import (
	"strings"

	"github.com/cronce/cronce/lock/series"
)

// A line is a series.Line in its stored form, without the text of an error or the sheet. There may be millions:
// its words are numbers, so that it is small and the garbage collector need not scan it.
type line struct {
	at, from, to, fence, ended      int64
	blocker, blockerFence           int64
	attempt                         int32
	shards                          int32
	reason, node, revision, outcome uint32
	verdict, between                uint16
}

// A vocabulary is the words of all lines.
type vocabulary struct {
	verdicts [2]words // of the number itself, and of the numbers between: a list each, since their numbers have 16 bits
	reasons  words
	nodes    words
	revs     words
	outcomes words
}

// words numbers strings. They are few, and are kept as long as the store. The zero value has only
// the empty string.
type words struct {
	all     []string
	numbers map[string]uint32
	last    uint32 // the latest result, which the next call usually returns again
}

func (w *words) number(s string) uint32 {
	if s == "" {
		return 0
	}
	if w.last != 0 && w.all[w.last] == s {
		return w.last
	}
	n, known := w.numbers[s]
	if !known {
		n = w.add(strings.Clone(s)) // the name of a node is a part of its owner's text
	}
	w.last = n
	return n
}

func (w *words) add(s string) uint32 {
	if w.numbers == nil {
		w.all, w.numbers = []string{""}, map[string]uint32{}
	}
	n := uint32(len(w.all))
	w.all = append(w.all, s)
	w.numbers[s] = n
	return n
}

func (w *words) text(n uint32) string {
	if n == 0 {
		return ""
	}
	return w.all[n]
}

func (v *vocabulary) pack(l *series.Line) line {
	blocker, blockerFence := l.Blocker, l.BlockerFence
	switch { // these have no blocker
	case l.Verdict == series.VerdictControl:
		blocker, blockerFence = l.Change, l.Audit
	case l.For != 0:
		blocker = l.For
	}
	return line{
		at: l.At, from: l.From, to: l.To, fence: l.Fence, ended: l.Ended, attempt: int32(l.Attempt), shards: int32(l.Shards),
		blocker: blocker, blockerFence: blockerFence,
		reason: v.reasons.number(l.Reason), node: v.nodes.number(l.Node),
		revision: v.revs.number(l.Revision), outcome: v.outcomes.number(l.Outcome),
		verdict: uint16(v.verdicts[0].number(string(l.Verdict))),
		between: uint16(v.verdicts[1].number(string(l.Between))),
	}
}

func (v *vocabulary) unpack(l *line) series.Line {
	line := series.Line{
		At: l.at, From: l.from, To: l.to, Fence: l.fence, Ended: l.ended, Attempt: int(l.attempt), Shards: int(l.shards),
		Blocker: l.blocker, BlockerFence: l.blockerFence,
		Reason: v.reasons.text(l.reason), Node: v.nodes.text(l.node),
		Revision: v.revs.text(l.revision), Outcome: v.outcomes.text(l.outcome),
		Verdict: series.Verdict(v.verdicts[0].text(uint32(l.verdict))),
		Between: series.Verdict(v.verdicts[1].text(uint32(l.between))),
	}
	switch {
	case line.Verdict == series.VerdictControl:
		line.Change, line.Audit, line.Blocker, line.BlockerFence = l.blocker, l.blockerFence, 0, 0
	case line.Verdict == series.VerdictWaiting && l.blockerFence == 0: // a run of a backfill waits for no other one
		line.For, line.Blocker = l.blocker, 0
	}
	return line
}
