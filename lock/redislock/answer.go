package redislock

import (
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
)

var kinds = map[byte]lock.Kind{
	'u': lock.Unknown, 'g': lock.Granted, 'o': lock.Over, 'p': lock.Passed, 'h': lock.Held,
	'e': lock.Early, 'a': lock.Ahead, 'G': lock.Gap, 'O': lock.Orphan, 'x': lock.Expired,
	'f': lock.Unknown, 's': lock.Skipped, 'w': lock.Waiting, 'm': lock.Missed, 'z': lock.Paused,
}

// readAnswer reads kind|mark|last|from|fence|node, then ;run if the answer speaks
// of one, then +number|fence|attempt|verdict for each settled number. It reports
// whether that is an answer to c.
func readAnswer(at instant, text string, c *lock.Claim) (lock.Answer, bool) {
	head, settled, some := strings.Cut(text, "+")
	head, about, told := strings.Cut(head, ";")
	f := fields{rest: head}
	letter := f.letter(f.text())
	kind, ok := kinds[letter]
	now := at.ms()
	a := lock.Answer{Kind: kind, Now: now}
	a.Mark, a.Last, a.From = f.count(f.text()), f.count(f.text()), f.count(f.text())
	fence, node := f.count(f.text()), f.raw(f.end())
	if letter == 'f' && !f.bad {
		err := lock.CheckFence(fence+1, int64(at))
		return lock.Answer{Now: now, Err: err}, err != nil
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
	return a, ok && !f.bad && told == needsRun(kind, told) && (kind != lock.Waiting || fence != 0)
}

// fits reports whether an answer of this kind may speak of r. What allows to run
// must be right in every part.
func fits(kind lock.Kind, r *lock.Run, c *lock.Claim, at instant) bool {
	switch kind {
	case lock.Granted:
		return r.Number == c.Number && r.Owner == c.Owner && r.State == lock.RunOpen && r.Until > at.ms() &&
			r.Fence > 0 && lock.CheckFence(r.Fence, int64(at)) == nil
	case lock.Over:
		return r.Number == c.Number && r.Owner == c.Owner
	case lock.Passed:
		return r.Number == c.Number
	}
	return true
}

// needsRun reports whether an answer of this kind speaks of a run; told is the
// answer where both may be.
func needsRun(kind lock.Kind, told bool) bool {
	switch kind {
	case lock.Granted, lock.Over, lock.Held, lock.Orphan:
		return true
	case lock.Passed, lock.Waiting:
		return told
	}
	return false
}

// speaksOfNumber reports whether an answer without a run is about the number
// that was asked for.
func speaksOfNumber(kind lock.Kind) bool {
	switch kind {
	case lock.Passed, lock.Skipped, lock.Waiting, lock.Missed, lock.Paused:
		return true
	}
	return false
}

func speak(a *lock.Answer, r *lock.Run, now int64) {
	a.Number, a.Node, a.Fence, a.Attempt, a.State = r.Number, lock.NodeOf(r.Owner), r.Fence, r.Attempt, r.State
	if r.State == lock.RunOpen && r.Until > now {
		a.Left = time.Duration(r.Until-now) * time.Millisecond
	}
}

func wait(a *lock.Answer, c *lock.Claim, at instant) {
	switch a.Kind {
	case lock.Early:
		a.Wait = time.Duration(c.Number-a.Now) * time.Millisecond
	case lock.Granted:
		a.Wait = at.until(c.Number)
	}
}

func readSettled(text string) ([]lock.Settled, bool) {
	var list []lock.Settled
	for one := range strings.SplitSeq(text, "+") {
		f := fields{rest: one}
		s := lock.Settled{Number: f.count(f.text()), Fence: f.count(f.text()), Attempt: int(f.count(f.text()))}
		s.Verdict = verdicts[f.letter(f.end())]
		if f.bad || s.Verdict == "" {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}
