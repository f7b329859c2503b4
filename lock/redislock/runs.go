package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

var renewals = operation[lock.RunRef, lock.Renewed]{
	name:   "renew",
	script: func(s *scripts) *redis.Script { return s.renewRuns },
	key:    func(r *lock.RunRef) string { return r.Key },
	check:  lock.CheckRun,
	begin:  func(_ *Driver, r *request) { r.key("none", "") },
	add: func(r *request, name string, ref *lock.RunRef) {
		r.key("s:", name)
		r.number(ref.Number)
		r.escaped(ref.Owner)
		r.number(ref.Fence, ref.TTL.Milliseconds())
	},
	read:  readRenewed,
	doubt: func(_ *lock.RunRef, err error) lock.Renewed { return lock.Renewed{Err: err} },
	want:  func(r *lock.RunRef) (int, time.Duration) { return r.Replicas, r.TTL },
}

// RenewRuns moves the deadlines of runs to now + TTL, up to 200 of one shard
// with one script. It works on a server at maxmemory.
func (d *Driver) RenewRuns(ctx context.Context, rs []lock.RunRef) []lock.Renewed {
	answers := make([]lock.Renewed, len(rs))
	sideBySide(renewals.split(d, rs, answers), func(p part) {
		s := renewals.serve(ctx, d, p, rs, answers)
		for _, i := range p.at {
			if short := s.short(rs[i].Key, p.replicas); short != nil && answers[i].Alive {
				answers[i] = lock.Renewed{Err: fmt.Errorf("redislock: renew: %w", short)}
			}
		}
	})
	return answers
}

// readRenewed reads 1|left|replaced, or 0.
func readRenewed(_ instant, text string, ref *lock.RunRef) (lock.Renewed, bool) {
	if text == "0" {
		return lock.Renewed{}, true
	}
	f := fields{rest: text}
	alive, left, replaced := f.letter(f.text()), f.count(f.text()), f.letter(f.end())
	ok := !f.bad && alive == '1' && left == ref.TTL.Milliseconds() && (replaced == '0' || replaced == '1')
	return lock.Renewed{Alive: true, Left: time.Duration(left) * time.Millisecond, Replaced: replaced == '1'}, ok
}

var endings = operation[lock.Ending, lock.Ended]{
	name:   "release",
	script: func(s *scripts) *redis.Script { return s.releaseRuns },
	key:    func(e *lock.Ending) string { return e.Key },
	check:  lock.CheckEnding,
	begin:  beginVerdicts,
	add: func(r *request, name string, e *lock.Ending) {
		r.key("s:", name)
		r.key("j:", name)
		how, outcome := ending(e)
		r.number(e.Number)
		r.escaped(e.Owner)
		r.number(e.Fence)
		r.text(how)
		r.escaped(outcome, e.Error)
	},
	read:  readEnded,
	doubt: func(_ *lock.Ending, err error) lock.Ended { return lock.Ended{Err: err} },
}

// ReleaseRuns ends runs, up to 200 of one shard with one script. It works on a
// server at maxmemory.
func (d *Driver) ReleaseRuns(ctx context.Context, es []lock.Ending) []lock.Ended {
	return endings.ask(ctx, d, es)
}

// ending is how a run ends, in the script's letters, and its outcome.
func ending(e *lock.Ending) (how, outcome string) {
	switch {
	case e.How == lock.NeverStarted:
		return "u", lock.OutcomeUnstarted
	case e.How == lock.GivenBack:
		return "b", lock.OutcomeInterrupted
	case e.OK:
		return "k", e.Outcome
	}
	return "d", e.Outcome
}

// readEnded reads 1|waiting|fence, or 0.
func readEnded(_ instant, text string, _ *lock.Ending) (lock.Ended, bool) {
	if text == "0" {
		return lock.Ended{}, true
	}
	f := fields{rest: text}
	accepted := f.letter(f.text())
	e := lock.Ended{Ended: true, Waiting: f.count(f.text()), Fence: f.count(f.end())}
	return e, !f.bad && accepted == '1' && (e.Waiting == 0) == (e.Fence == 0)
}
