package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A twin is a store in Redis. It wants a store in memory to give the same answers about series: that one gets the same requests at the
// same instants. The two have no code in common that decides: a mistake in one of them is a difference, even if no run shows it.
type twin struct {
	redisStore
	t      testing.TB
	memory *memlock.Store
	turn   chan struct{} // holds one value while a request is made of both
	cuts   cuts
	least  *redislock.Driver // of a node that was deployed with the shortest journals; nil: there is none
	claims int
}

func inBoth(cuts cuts) func(*world) store {
	return func(c *world) store {
		lines := map[bool]int{true: fewLines, false: 1 << 20}
		redis, memory := inRedisWith(c, lines[cuts == cutsRedis]).(redisStore), inMemoryWith(c, lines[cuts == cutsMemory])
		s := &twin{redisStore: redis, t: c.t, memory: memory, turn: make(chan struct{}, 1), cuts: cuts}
		if cuts == cutsRedis {
			s.least = redis.driver(c, 2)
		}
		return s
	}
}

// both makes a request of Redis, and of the memory those parts of it that Redis has answered. That a fence is too far ahead is an answer.
func both[Q, A any](s *twin, op string, all []Q, first, second func([]Q) []A, failed func(A) error) []A {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	answers := first(all)
	for i := range all {
		err := failed(answers[i])
		ahead := errors.Is(err, driver.ErrFence)
		if err != nil && !ahead {
			continue // Redis refused it, and did nothing
		}
		if other := second(all[i : i+1])[0]; !ahead || !errors.Is(failed(other), driver.ErrFence) {
			s.same(op, all[i], answers[i], other)
		}
	}
	return answers
}

// same wants two answers to a request to be equal.
func (s *twin) same(op string, request, redis, memory any) {
	s.t.Helper()
	if a, b := text(redis), text(memory); a != b && !early(redis, memory) {
		s.t.Errorf("%s %s:\nin Redis  %s\nin memory %s", op, text(request), a, b)
	}
}

// early reports whether two answers differ only in an instant that Redis may name earlier: when the asker may ask again for a run with
// shards, since Redis does not read each shard; and when a run that was granted before its tick starts, to the microsecond and not to
// the millisecond.
func early(redis, memory any) bool {
	a, _ := redis.(series.Answer)
	b, _ := memory.(series.Answer)
	if finer := b.Wait - a.Wait; a.Kind == series.KindGranted && finer > 0 && finer < time.Millisecond {
		a.Wait = b.Wait
		return text(a) == text(b)
	}
	if a.Of == 0 || a.Left == 0 || b.Left > 0 && a.Left > b.Left {
		return false
	}
	a.Left = b.Left
	return text(a) == text(b)
}

// text is a value in a form in which no slice and an empty one are equal.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *twin) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	ctx = context.WithoutCancel(ctx)
	return both(s, "open", os, func(os []series.OpenRequest) []series.Series { return s.redisStore.Open(ctx, os) },
		func(os []series.OpenRequest) []series.Series { return s.memory.Open(ctx, os) }, func(a series.Series) error { return a.Err })
}

func (s *twin) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	ctx = context.WithoutCancel(ctx)
	return both(s, "claim", cs, func(cs []series.Claim) []series.Answer { return s.claimer().Claim(ctx, cs) },
		func(cs []series.Claim) []series.Answer { return s.memory.Claim(ctx, cs) }, func(a series.Answer) error { return a.Err })
}

func (s *twin) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	ctx = context.WithoutCancel(ctx)
	return both(s, "renew", rs, func(rs []series.RunRef) []series.RenewAnswer { return s.redisStore.RenewRuns(ctx, rs) },
		func(rs []series.RunRef) []series.RenewAnswer { return s.memory.RenewRuns(ctx, rs) }, func(a series.RenewAnswer) error { return a.Err })
}

func (s *twin) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	ctx = context.WithoutCancel(ctx)
	return both(s, "release", es, func(es []series.EndRequest) []series.EndAnswer { return s.redisStore.ReleaseRuns(ctx, es) },
		func(es []series.EndRequest) []series.EndAnswer { return s.memory.ReleaseRuns(ctx, es) }, func(a series.EndAnswer) error { return a.Err })
}

func (s *twin) ReadSeries(ctx context.Context, keys []string) []series.Series {
	ctx = context.WithoutCancel(ctx)
	return both(s, "read", keys, func(keys []string) []series.Series { return s.redisStore.ReadSeries(ctx, keys) },
		func(keys []string) []series.Series { return s.memory.ReadSeries(ctx, keys) }, func(a series.Series) error { return a.Err })
}

func (s *twin) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	ctx = context.WithoutCancel(ctx)
	return both(s, "control", []series.Control{c}, func(cs []series.Control) []series.ControlAnswer {
		return []series.ControlAnswer{s.redisStore.Control(ctx, cs[0])}
	},
		func(cs []series.Control) []series.ControlAnswer {
			return []series.ControlAnswer{s.memory.Control(ctx, cs[0])}
		}, func(a series.ControlAnswer) error { return a.Err })[0]
}

func (s *twin) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	ctx = context.WithoutCancel(ctx)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	as, err := s.redisStore.Peek(ctx, ps, whole)
	if other, fault := s.memory.Peek(ctx, ps, whole); err == nil && fault == nil {
		for i := range ps {
			s.same("peek", ps[i], seen(as[i]), seen(other[i]))
		}
	}
	return as, err
}

// seen returns the fields that each answer to a peek has.
func seen(a *series.Answer) *series.Answer {
	if a == nil {
		return nil
	}
	return &series.Answer{Kind: a.Kind, Number: a.Number, State: a.State, Mark: a.Mark, Now: a.Now}
}

func (s *twin) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	j, err := s.redisStore.Journal(ctx, key, n)
	other, fault := s.memory.Journal(ctx, key, n)
	if err != nil || fault != nil {
		return j, err
	}
	s.same("the revisions of", key, j.Revisions, other.Revisions)
	switch {
	case n > 0 && s.cuts == cutsNone:
		s.sameLines(key, j.Lines, other.Lines)
	case s.cuts == cutsNone:
		s.sameLines(key, j.All(), other.All())
	case s.cuts == cutsRedis:
		if n <= 0 {
			s.checkCut(other, j)
		}
		return other, nil
	case n <= 0:
		s.checkCut(j, other)
	}
	return j, nil
}

// sameLines compares two journals, and prints no more than where they part.
func (s *twin) sameLines(key string, redis, memory []series.Line) {
	s.t.Helper()
	for i := range min(len(redis), len(memory)) {
		if text(redis[i]) != text(memory[i]) {
			s.same("a line of", key, redis[i], memory[i])
			return
		}
	}
	if len(redis) != len(memory) {
		n := min(len(redis), len(memory))
		s.same("the last lines of", key, slices.Clone(redis[n:]), slices.Clone(memory[n:]))
	}
}

func (s *twin) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	rs, err := s.redisStore.Audit(ctx, key, n)
	if other, fault := s.memory.Audit(ctx, key, n); err == nil && fault == nil {
		s.same("the audit of", key, rs, other)
	}
	return rs, err
}

func (s *twin) KeepOutput(ctx context.Context, o series.Output) error {
	ctx = context.WithoutCancel(ctx)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if err := s.redisStore.KeepOutput(ctx, o); err != nil {
		return err
	}
	return s.memory.KeepOutput(ctx, o)
}

func (s *twin) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	o, err := s.redisStore.Output(ctx, key, number)
	if other, fault := s.memory.Output(ctx, key, number); err == nil && fault == nil {
		s.same("the output of", key, o, other)
	}
	return o, err
}

func (s *twin) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	ctx = context.WithoutCancel(ctx)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	a, err := s.redisStore.Beat(ctx, b)
	if err != nil {
		return a, err // Redis refused it, and did nothing
	}
	if other, fault := s.memory.Beat(ctx, b); fault == nil {
		s.same("beat", b, a.Nodes, other.Nodes)
	}
	return a, nil
}

func (s *twin) Leave(ctx context.Context, node string) error {
	ctx = context.WithoutCancel(ctx)
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if err := s.redisStore.Leave(ctx, node); err != nil {
		return err
	}
	return s.memory.Leave(ctx, node)
}

func (s *twin) Members(ctx context.Context) (series.MemberList, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	l, err := s.redisStore.Members(ctx)
	if other, fault := s.memory.Members(ctx); err == nil && fault == nil {
		s.same("the list of", "nodes", l, other)
	}
	return l, err
}

// Forget makes both lose all data.
func (s *twin) Forget() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.redisStore.Forget()
	s.memory.Forget()
}
