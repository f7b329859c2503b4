package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var claims = operation[series.Claim, series.Answer]{
	name:   "claim",
	script: func(s *scripts) *script { return s.claim },
	key:    func(c *series.Claim) string { return c.Key },
	begin:  beginVerdicts,
	add: func(r *request, name string, c *series.Claim) {
		r.key("s:", name)
		r.key("j:", name)
		r.key("t:", name)
		between := ""
		if c.Between > 0 {
			between = "m"
		}
		beside := c.After
		if c.From != 0 {
			beside = c.Next
		}
		r.escaped(c.Owner)
		r.number(c.Number, beside, c.From, c.Fence)
		r.escaped(between, c.Revision)
		r.terms(c)
	},
	read:    readAnswer,
	refused: driver.NotDone,
	doubt:   func(_ *series.Claim, err error) series.Answer { return series.Answer{Err: err} },
	want:    func(c *series.Claim) (int, time.Duration) { return c.Replicas, c.TTL },
}

// Claim implements [series.Numbered]. It sends up to 200 claims of one partition with one script. An
// answer with Err is doubt. KindUnknown without Err says that the series is not open.
func (d *Driver) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	answers := make([]series.Answer, len(cs))
	sideBySide(claims.split(d, cs), func(p part) {
		s := claims.serve(ctx, d, p, cs, answers)
		d.undoShort(ctx, p, cs, answers, &s)
	})
	return answers
}

// undoShort turns grants that too few replicas have into doubt, and ends them as never started: any
// owner may have those numbers again.
func (d *Driver) undoShort(ctx context.Context, p part, cs []series.Claim, answers []series.Answer, s *outcome) {
	if s.acked >= p.replicas {
		return
	}
	var undone []series.EndRequest
	for _, i := range p.at {
		a, c := &answers[i], &cs[i]
		if a.Kind != series.KindGranted {
			continue
		}
		undone = append(undone, unstarted(c, a)...)
		a.Kind, a.Err = series.KindUnknown, fmt.Errorf("redislock: claim: %w", s.short(c.Key, c.Replicas))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer stop()
	d.ReleaseRuns(ctx, undone) // their deadline ends them otherwise
}

// unstarted returns the ends of all that an answer grants.
func unstarted(c *series.Claim, a *series.Answer) (ends []series.EndRequest) {
	run := series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence}
	if a.Of == 0 {
		return []series.EndRequest{{State: series.RunUnstarted, RunRef: run}}
	}
	for _, g := range a.Shards {
		run.Fence, run.Shard, run.Shards = g.Fence, g.Shard, a.Of
		ends = append(ends, series.EndRequest{State: series.RunUnstarted, RunRef: run})
	}
	return ends
}

// beginVerdicts adds the first keys and arguments of the scripts that write verdicts.
func beginVerdicts(d *Driver, r *request) {
	r.key("none", "")
	r.key("jb", "")
	r.key("ch", "")
	r.text(d.lines, d.bytes)
}

// terms are the parameters that many claims share.
type terms struct {
	ttl, deadline, window int64
	late, node            string
	attempts              int
	rerun, backlog        bool
	overlap               series.Overlap
	latest                int64
}

func termsOf(c *series.Claim) terms {
	t := terms{
		ttl: c.TTL.Milliseconds(), deadline: c.Deadline.Milliseconds(), window: c.Window.Milliseconds(),
		late: c.Late, node: driver.NodeOf(c.Owner), attempts: c.Attempts, rerun: c.Rerun, backlog: c.Backlog,
		overlap: c.Overlap, latest: c.Latest,
	}
	if t.late == "" {
		t.late = series.ReasonDeadline
	}
	if c.Window == 0 {
		t.window = -1 // no bound
	}
	return t
}

// terms adds the terms of c, which are often the same as the last.
func (r *request) terms(c *series.Claim) {
	if t := termsOf(c); len(r.packed) == 0 || t != r.last {
		r.last, r.packed = t, t.pack(r.packed[:0])
	}
	r.args.b = append(r.args.b, r.packed...)
	if c.Sharding != nil {
		r.args.b = appendSharding(r.args.b, c.Sharding)
	}
	r.args.end()
}

// pack writes terms in the form that the script reads.
func (t *terms) pack(b []byte) []byte {
	number := func(n int64) { b = append(strconv.AppendInt(b, n, 10), '|') }
	number(t.ttl)
	number(t.deadline)
	b = append(appendEscaped(b, t.late), '|')
	number(int64(t.attempts))
	b = append(b, flag(t.rerun), '|')
	number(t.window)
	b = append(b, '0'+byte(t.overlap), '|', flag(t.backlog), '|')
	number(t.latest)
	return appendEscaped(b, t.node)
}

func flag(set bool) byte {
	if set {
		return '1'
	}
	return '0'
}

var kinds = map[byte]series.Kind{
	'u': series.KindUnknown, 'g': series.KindGranted, 'o': series.KindOver, 'p': series.KindPassed, 'h': series.KindHeld,
	'e': series.KindEarly, 'a': series.KindAhead, 'G': series.KindGap, 'O': series.KindOrphan, 'x': series.KindExpired,
	'f': series.KindUnknown, 's': series.KindSkipped, 'w': series.KindWaiting, 'm': series.KindMissed, 'z': series.KindPaused,
	'k': series.KindOperator, 'y': series.KindEarly,
}

// readAnswer reads kind|mark|last|from|fence|node, then ;run if the answer is about a run, then
// +number|fence|attempt|verdict for each settled number, then the text for readShares. It reports whether the
// text is an answer to c.
func readAnswer(at instant, text string, c *series.Claim) (series.Answer, bool) {
	text, shares, sharded := strings.Cut(text, "#")
	head, settled, settles := strings.Cut(text, "+")
	head, about, hasRun := strings.Cut(head, ";")
	f := fields{rest: head}
	letter := f.letter(f.text())
	kind, ok := kinds[letter]
	now := at.ms()
	a := series.Answer{Kind: kind, Now: now}
	a.Mark, a.Last, a.From = f.count(f.text()), f.count(f.text()), f.count(f.text())
	fence, node := f.count(f.text()), f.raw(f.end())
	if letter == 'f' && !f.bad {
		if c.Sharding != nil {
			fence += series.MaxShards // the server leaves room for them
		}
		err := driver.CheckFence(fence+1, int64(at))
		return series.Answer{Now: now, Err: driver.NotDone(err)}, err != nil
	}
	manual := false
	if hasRun {
		r, good := readRun(about)
		ok = ok && good && fits(kind, &r, c, at)
		speak(&a, &r, now)
		manual = r.Manual()
	} else if speaksOfNumber(kind) {
		a.Number, a.Node = c.Number, node
	}
	if fence != 0 {
		a.Number, a.Fence = c.Number, fence
	}
	if settles {
		var good bool
		a.Settled, good = readSettled(settled)
		ok = ok && good
	}
	if sharded {
		ok = readShares(&a, shares, at) && ok
	}
	switch {
	case letter == 'y':
		a.Wait = time.Duration(c.Next-now) * time.Millisecond
	case !manual:
		setWait(&a, c, at)
	}
	return a, ok && !f.bad && hasRun == needsRun(kind, hasRun) && (kind != series.KindWaiting || fence != 0)
}

// fits reports whether an answer of this kind may be about r. An answer that permits a run must be
// right in every part.
func fits(kind series.Kind, r *series.Run, c *series.Claim, at instant) bool {
	mine := r.Number == c.Number && (r.Owner == c.Owner || r.Shards > 0) // of the shards that are granted see readShares
	switch kind {
	case series.KindGranted:
		return mine && r.State == series.RunOpen && (r.Until > at.ms() || r.Shards > 0) &&
			r.Fence > 0 && driver.CheckFence(r.Fence, int64(at)) == nil
	case series.KindOver:
		return mine
	case series.KindPassed:
		return r.Number == c.Number
	}
	return true
}

// needsRun reports whether an answer of this kind has a run. It returns may if the kind allows
// both.
func needsRun(kind series.Kind, may bool) bool {
	switch kind {
	case series.KindGranted, series.KindOver, series.KindHeld, series.KindOrphan:
		return true
	case series.KindPassed, series.KindWaiting:
		return may
	}
	return false
}

// speaksOfNumber reports whether an answer of this kind without a run is about the claimed number.
func speaksOfNumber(kind series.Kind) bool {
	switch kind {
	case series.KindPassed, series.KindSkipped, series.KindWaiting, series.KindMissed, series.KindPaused, series.KindOperator:
		return true
	}
	return false
}

func speak(a *series.Answer, r *series.Run, now int64) {
	a.Number, a.Node, a.Fence, a.Attempt, a.State = r.Number, driver.NodeOf(r.Owner), r.Fence, r.Attempt, r.State
	a.For, a.Of = r.For, r.Shards
	if r.State == series.RunOpen && r.Until > now && r.Shards == 0 {
		a.Left = time.Duration(r.Until-now) * time.Millisecond
	}
}

// setWait sets how long the caller waits: before it repeats the claim, or before a granted run
// begins.
func setWait(a *series.Answer, c *series.Claim, at instant) {
	switch a.Kind {
	case series.KindEarly:
		a.Wait = time.Duration(c.Number-a.Now) * time.Millisecond
	case series.KindGranted:
		a.Wait = at.until(c.Number)
	}
}

func readSettled(text string) ([]series.Settled, bool) {
	var list []series.Settled
	for one := range strings.SplitSeq(text, "+") {
		f := fields{rest: one}
		s := series.Settled{Number: f.count(f.text()), Fence: f.count(f.text()), Attempt: int(f.count(f.text()))}
		s.Verdict = verdicts[f.letter(f.end())]
		if f.bad || s.Verdict == "" {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}
