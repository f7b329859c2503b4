package redislock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var renewals = operation[series.RunRef, series.RenewAnswer]{
	name:   "renew",
	script: func(s *scripts) *script { return s.renewRuns },
	key:    func(r *series.RunRef) string { return r.Key },
	begin:  func(_ *Driver, r *request) { r.key("none", "") },
	add: func(r *request, name string, ref *series.RunRef) {
		r.key("s:", name)
		if ref.Shards > 0 {
			r.key("t:", name)
		}
		r.named(ref)
		r.escaped(ref.Owner)
		r.number(ref.Fence, ref.TTL.Milliseconds())
	},
	read:  readRenewed,
	doubt: func(_ *series.RunRef, err error) series.RenewAnswer { return series.RenewAnswer{Err: err} },
	want:  func(r *series.RunRef) (int, time.Duration) { return r.Replicas, r.TTL },
}

// RenewRuns implements [series.Numbered]. It renews up to 200 runs of one partition with one script. It
// works on a server at maxmemory.
func (d *Driver) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	answers := make([]series.RenewAnswer, len(rs))
	sideBySide(renewals.split(d, rs), func(p part) {
		s := renewals.serve(ctx, d, p, rs, answers)
		for _, i := range p.at {
			if short := s.short(rs[i].Key, p.replicas); short != nil && answers[i].Alive {
				answers[i] = series.RenewAnswer{Err: fmt.Errorf("redislock: renew: %w", short)}
			}
		}
	})
	return answers
}

// readRenewed reads 1|left|end, or 0: see readEnd.
func readRenewed(_ instant, text string, ref *series.RunRef) (series.RenewAnswer, bool) {
	if text == "0" {
		return series.RenewAnswer{}, true
	}
	f := fields{rest: text}
	alive, left := f.letter(f.text()), f.count(f.text())
	replaced, cancelled, ok := readEnd(f.letter(f.end()))
	ok = ok && !f.bad && alive == '1' && left == ref.TTL.Milliseconds()
	return series.RenewAnswer{Alive: true, Left: time.Duration(left) * time.Millisecond, Replaced: replaced, Cancelled: cancelled}, ok
}

var endings = operation[series.EndRequest, series.EndAnswer]{
	name:   "release",
	script: func(s *scripts) *script { return s.releaseRuns },
	key:    func(e *series.EndRequest) string { return e.Key },
	begin:  beginVerdicts,
	add: func(r *request, name string, e *series.EndRequest) {
		r.key("s:", name)
		r.key("j:", name)
		r.key("t:", name)
		how, outcome := ending(e)
		r.named(&e.RunRef)
		r.escaped(e.Owner)
		r.number(e.Fence)
		r.text(how)
		if e.Shards > 0 {
			r.escaped(outcome, escape(e.ShardError()))
		} else {
			r.escaped(outcome, e.Error)
		}
	},
	read:  readEnded,
	doubt: func(_ *series.EndRequest, err error) series.EndAnswer { return series.EndAnswer{Err: err} },
}

// ReleaseRuns implements [series.Numbered]. It ends up to 200 runs of one partition with one script. It
// works on a server at maxmemory.
func (d *Driver) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	return endings.send(ctx, d, es)
}

// ending returns the script's letter for the way in which a run ends, and its outcome.
func ending(e *series.EndRequest) (how, outcome string) {
	switch {
	case e.State == series.RunUnstarted:
		return "u", series.OutcomeUnstarted
	case e.State == series.RunGivenBack:
		return "b", series.OutcomeInterrupted
	case e.OK:
		return "k", e.Outcome
	}
	return "d", e.Outcome
}

// readEnded reads 1|waiting|fence, and #sum after the last shard of a number, or 0.
func readEnded(_ instant, text string, q *series.EndRequest) (series.EndAnswer, bool) {
	if text == "0" {
		return series.EndAnswer{}, true
	}
	text, sum, summed := strings.Cut(text, "#")
	f := fields{rest: text}
	accepted := f.letter(f.text())
	e := series.EndAnswer{Ended: true, Waiting: f.count(f.text()), Fence: f.count(f.end())}
	ok := !f.bad && accepted == '1' && (e.Waiting == 0) == (e.Fence == 0)
	if summed {
		var good bool
		e.Sum, good = readSum(sum)
		ok = ok && good && e.Sum.Number == q.Number
	}
	return e, ok
}
