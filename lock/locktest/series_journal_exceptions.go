package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// maxLines is the number of lines that a series keeps by default.
const maxLines = 1000

var exceptionTests = []test{
	{"exceptions outlive the lines around them", exceptionsOutlive},
	{"exceptions are bounded, the oldest go first, and the journal says since when they are complete", exceptionsBounded},
}

// stream claims the numbers after the mark, in batches, each in the name of another revision than its
// neighbour, so that no line folds. Each must get the verdict.
func (s *fixture) stream(n int, want series.Kind, spoil func(*series.Claim)) {
	s.Helper()
	is := s.look()
	number, mark := max(is.Now-1, is.Mark), is.Mark
	for batch := range slices.Chunk(make([]struct{}, n), 100) {
		cs := make([]series.Claim, 0, len(batch))
		for range batch {
			number++
			c := s.ask(number, mark)
			c.Revision = fmt.Sprint("r", number%2)
			spoil(&c)
			cs, mark = append(cs, c), number
		}
		s.env.Wait(150 * time.Millisecond)
		for i, a := range s.numbered.Claim(s.ctx, cs) {
			if a.Kind != want {
				s.Fatalf("claim %d: %+v", i, a)
			}
		}
	}
}

// missedStream lets n numbers be missed.
func (s *fixture) missedStream(n int) {
	s.Helper()
	s.stream(n, series.KindMissed, func(c *series.Claim) { c.Deadline = 0 })
}

// dividedExceptions divides three numbers, whose shards all end ok. It returns those of which a shard had another attempt: one
// after its node died, one after its node gave it back.
func (s *fixture) dividedExceptions() (numbers []int64) {
	s.Helper()
	if _, sharder := s.driver.(series.Sharder); !sharder {
		return nil
	}
	for i, again := range []func(series.RunRef){nil, s.dies, func(r series.RunRef) { s.ended(r, series.RunGivenBack) }} {
		c := s.divide(int64(2+i), 2, 0, 1)
		_, refs := s.shared(c)
		s.ended(refs[0], series.RunDone)
		if again != nil {
			again(refs[1])
			numbers = append(numbers, c.Number)
			_, refs[1] = s.takesOne(s.divide(int64(2+i), 2, 1))
		}
		s.ended(refs[1], series.RunDone)
		equal(s, "the outcome", s.last(series.VerdictRan, s.due(int64(1+i)), c.Number).Outcome, series.OutcomeOK)
	}
	return numbers
}

// A run that failed, one that was taken over, a sharded one with a shard that was taken over, a number that was missed and one that
// was paused are in the journal after twice as many lines of numbers that were skipped, which are no exceptions, as it
// has room for. They are as they were, and in order.
func exceptionsOutlive(s *fixture) {
	s.open()
	_, failed := s.granted(s.next(1))
	out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: failed, Outcome: series.OutcomeFailed, Error: "why | it; failed"}})
	equal(s, "ended", out[0].Ended, true)
	divided := s.dividedExceptions()
	s.missedStream(1)
	s.pause()
	s.env.Wait(5 * time.Millisecond)
	s.claimed(s.ask(s.look().Now, s.look().Mark), series.KindPaused)
	s.resume()
	s.env.Wait(5 * time.Millisecond)
	dead := s.ask(s.look().Now, s.look().Mark)
	dead.TTL = short
	_, run := s.granted(dead)
	s.env.Wait(short + slack)
	again := s.after(run)
	again.Attempts, again.TTL = 9, time.Hour
	s.granted(again)
	var want []series.Line
	var sharded []int64
	for _, l := range s.journal(0).Lines {
		if !l.Exception() {
			continue
		}
		want = append(want, l)
		if l.Shards > 0 {
			sharded = append(sharded, l.To)
		}
	}
	if n := len(want) - len(sharded); n < 4 || n > 5 || !slices.Equal(sharded, divided) { // the resume may cover another range
		s.Fatalf("there are %d exceptions, and among them the sharded numbers %v, want 4 and %v: %+v", n, sharded, divided, want)
	}
	s.stream(2*maxLines, series.KindSkipped, func(c *series.Claim) { c.Overlap = series.OverlapSkip })
	j := s.journal(0)
	if !slices.Equal(j.Exceptions, want) {
		s.Fatalf("the exceptions are %+v\nwant %+v", j.Exceptions, want)
	}
	equal(s, "exceptions are missing since", j.ExceptionsSince, 0)
	equal(s, "truncated", j.Truncated, true)
	if n := len(j.Lines); n < maxLines/2 || n > maxLines+maxLines/5 {
		s.Fatalf("%d lines are kept, want about %d", n, maxLines)
	}
	s.contiguous()
	few := s.journal(3)
	if !slices.Equal(few.Lines, j.Lines[len(j.Lines)-3:]) || len(few.Exceptions) != 0 {
		s.Fatalf("the newest three lines are %+v, exceptions %+v", few.Lines, few.Exceptions)
	}
}

// After twice as many exceptions as a journal has room for, a fifth of its lines are exceptions from
// before the others, without a gap.
func exceptionsBounded(s *fixture) {
	s.open()
	s.missedStream(2*maxLines + 10)
	j := s.journal(0)
	all := len(j.Lines) + len(j.Exceptions)
	if all > maxLines+maxLines/5 || all < maxLines/2 || len(j.Exceptions) > all/5+all/16 || len(j.Exceptions) < all/10 {
		s.Fatalf("%d lines and %d exceptions are kept, want about %d in all, a fifth of them exceptions", len(j.Lines), len(j.Exceptions), maxLines)
	}
	mark := j.Exceptions[0].From
	for _, l := range slices.Concat(j.Exceptions, j.Lines) {
		if l.From != mark {
			s.Fatalf("%+v does not begin at %d, the end of the line before", l, mark)
		}
		mark = l.To
	}
	if since := j.ExceptionsSince; since == 0 || since > j.Exceptions[0].At {
		s.Fatalf("the exceptions are complete since %d, and the oldest is of %d", since, j.Exceptions[0].At)
	}
}
