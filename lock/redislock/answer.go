package redislock

import (
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var kinds = map[byte]driver.Kind{
	'u': driver.KindUnknown, 'g': driver.KindGranted, 'o': driver.KindOver, 'p': driver.KindPassed, 'h': driver.KindHeld,
	'e': driver.KindEarly, 'a': driver.KindAhead, 'G': driver.KindGap, 'O': driver.KindOrphan, 'x': driver.KindExpired,
	'f': driver.KindUnknown, 's': driver.KindSkipped, 'w': driver.KindWaiting, 'm': driver.KindMissed, 'z': driver.KindPaused,
}

// readAnswer reads kind|mark|last|from|fence|node, then ;run if the answer speaks
// of one, then +number|fence|attempt|verdict for each settled number. It reports
// whether that is an answer to c.
func readAnswer(at instant, text string, c *driver.Claim) (driver.Answer, bool) {
	head, settled, some := strings.Cut(text, "+")
	head, about, told := strings.Cut(head, ";")
	f := fields{rest: head}
	letter := f.letter(f.text())
	kind, ok := kinds[letter]
	now := at.ms()
	a := driver.Answer{Kind: kind, Now: now}
	a.Mark, a.Last, a.From = f.count(f.text()), f.count(f.text()), f.count(f.text())
	fence, node := f.count(f.text()), f.raw(f.end())
	if letter == 'f' && !f.bad {
		err := driver.CheckFence(fence+1, int64(at))
		return driver.Answer{Now: now, Err: err}, err != nil
	}
	if told {
		r, good := readRun(about)
		ok = ok && good && fits(kind, &r, c, at)
		speak(&a, &r, now)
	} else if speaksOfNumber(kind) {
		a.Number, a.Node = c.Number, node
	}
	if fence != 0 {
		a.Number, a.Fence = c.Number, fence
	}
	if some {
		var good bool
		a.Settled, good = readSettled(settled)
		ok = ok && good
	}
	wait(&a, c, at)
	return a, ok && !f.bad && told == needsRun(kind, told) && (kind != driver.KindWaiting || fence != 0)
}

// fits reports whether an answer of this kind may speak of r. What allows to run
// must be right in every part.
func fits(kind driver.Kind, r *driver.Run, c *driver.Claim, at instant) bool {
	switch kind {
	case driver.KindGranted:
		return r.Number == c.Number && r.Owner == c.Owner && r.State == driver.RunOpen && r.Until > at.ms() &&
			r.Fence > 0 && driver.CheckFence(r.Fence, int64(at)) == nil
	case driver.KindOver:
		return r.Number == c.Number && r.Owner == c.Owner
	case driver.KindPassed:
		return r.Number == c.Number
	}
	return true
}

// needsRun reports whether an answer of this kind speaks of a run; told is the
// answer where both may be.
func needsRun(kind driver.Kind, told bool) bool {
	switch kind {
	case driver.KindGranted, driver.KindOver, driver.KindHeld, driver.KindOrphan:
		return true
	case driver.KindPassed, driver.KindWaiting:
		return told
	}
	return false
}

// speaksOfNumber reports whether an answer without a run is about the number
// that was asked for.
func speaksOfNumber(kind driver.Kind) bool {
	switch kind {
	case driver.KindPassed, driver.KindSkipped, driver.KindWaiting, driver.KindMissed, driver.KindPaused:
		return true
	}
	return false
}

func speak(a *driver.Answer, r *driver.Run, now int64) {
	a.Number, a.Node, a.Fence, a.Attempt, a.State = r.Number, driver.NodeOf(r.Owner), r.Fence, r.Attempt, r.State
	if r.State == driver.RunOpen && r.Until > now {
		a.Left = time.Duration(r.Until-now) * time.Millisecond
	}
}

func wait(a *driver.Answer, c *driver.Claim, at instant) {
	switch a.Kind {
	case driver.KindEarly:
		a.Wait = time.Duration(c.Number-a.Now) * time.Millisecond
	case driver.KindGranted:
		a.Wait = at.until(c.Number)
	}
}

func readSettled(text string) ([]driver.Settled, bool) {
	var list []driver.Settled
	for one := range strings.SplitSeq(text, "+") {
		f := fields{rest: one}
		s := driver.Settled{Number: f.count(f.text()), Fence: f.count(f.text()), Attempt: int(f.count(f.text()))}
		s.Verdict = verdicts[f.letter(f.end())]
		if f.bad || s.Verdict == "" {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}
