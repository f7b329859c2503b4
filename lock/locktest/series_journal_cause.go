package locktest

import (
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var causeTests = []test{
	{"the text of an error is kept with the end of its run, byte for byte", causeOfEnd},
	{"an error as long as allowed is kept whole", causeLongest},
	{"a number that is skipped names the run in its way", causeOfSkip},
	{"a number that waits names the run in its way", causeOfWait},
	{"numbers that are skipped because of one run become one range, of two runs they stay apart", causeApart},
	{"numbers that are skipped because of a run, and because of another when that has died, stay apart", causeOfDead},
}

// oddTexts are errors as functions may return them. Control sequences of terminals, and characters
// that have a special meaning in some store, must be kept as data.
var oddTexts = []string{"no route to host", "a|b;c+d%7C", "\x1b[31mred\x00\r\n\ttab", `"quoted" \n {"json":1} <&>`, "é👩\u200d🔧\u2028\uFFFD", " "}

func causeOfEnd(s *fixture) {
	for _, text := range oddTexts {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		s.failed(run, series.RunDone, text)
		lines := s.lines()
		equal(s, "lines", len(lines), 1)
		equal(s, "the error", lines[0].Error, text)
		_, run = s.granted(s.ask(s.due(2), s.due(1)))
		s.pause()
		s.resume() // adds a line between the grant and its end
		s.failed(run, series.RunGivenBack, text)
		lines = s.lines()
		equal(s, "lines", len(lines), 6)
		equal(s, "the error of the grant's line", lines[1].Error, "")
		equal(s, "the error of the end's line", lines[5].Error, text)
		equal(s, "the outcome", lines[5].Outcome, series.OutcomeInterrupted)
	}
}

// failed ends a run with an error, and repeats the ending, as after a lost reply.
func (s *fixture) failed(r series.RunRef, how series.RunState, text string) {
	s.Helper()
	for range 2 {
		out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: r, State: how, Outcome: series.OutcomeFailed, Error: text}})
		if out[0].Err != nil || !out[0].Ended {
			s.Fatalf("the ending of %d with %q: %+v", r.Number, text, out[0])
		}
	}
}

func causeLongest(s *fixture) {
	for _, text := range []string{strings.Repeat("x", series.MaxErrorText), strings.Repeat("\x01", series.MaxErrorText), strings.Repeat("é", series.MaxErrorText/2)} {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		s.failed(run, series.RunDone, text)
		equal(s, "the error", s.lines()[0].Error, text)
	}
}

func causeOfSkip(s *fixture) {
	run, c := s.beside(series.OverlapSkip)
	s.claimed(c, series.KindSkipped)
	l := s.last(series.VerdictSkipped, s.due(1), c.Number)
	equal(s, "the number of the run", l.Blocker, run.Number)
	equal(s, "its fence", l.BlockerFence, run.Fence)
}

func causeOfWait(s *fixture) {
	for _, o := range []series.Overlap{series.OverlapQueue, series.OverlapReplace} {
		s.key += "+"
		run, c := s.beside(o)
		for range 2 { // the second supersedes the first, which is removed from the state
			mark := s.look().Mark
			s.claimed(c, series.KindWaiting)
			l := s.last(series.VerdictWaiting, mark, c.Number)
			equal(s, "the number of the run", l.Blocker, run.Number)
			equal(s, "its fence", l.BlockerFence, run.Fence)
			s.env.Wait(5 * time.Millisecond)
			is := s.look()
			c = s.ask(is.Now, is.Mark)
			c.Overlap = o
		}
	}
}

func causeApart(s *fixture) {
	first, c := s.beside(series.OverlapSkip)
	skip := func() {
		s.claimed(c, series.KindSkipped)
		s.env.Wait(5 * time.Millisecond)
		c = s.ask(s.look().Now, s.look().Mark)
	}
	skip()
	skip()
	c.Overlap = series.OverlapAllow
	_, second := s.granted(c) // alive beside the first, which is the one that the claim finds
	s.ended(first, series.RunDone)
	s.env.Wait(5 * time.Millisecond)
	c = s.ask(s.look().Now, s.look().Mark)
	skip()
	skip()
	var skips []series.Line
	for _, l := range s.lines() {
		if l.Verdict == series.VerdictSkipped {
			skips = append(skips, l)
		}
	}
	equal(s, "lines of skips", len(skips), 2)
	equal(s, "the first range's run", skips[0].BlockerFence, first.Fence)
	equal(s, "what lies between in it", skips[0].Between, series.VerdictSkipped)
	equal(s, "the second range's run", skips[1].BlockerFence, second.Fence)
	equal(s, "its number", skips[1].Blocker, second.Number)
}

// The run that died may have another attempt, but only after the end of the other run: nothing is
// written between the numbers that the two runs blocked.
func causeOfDead(s *fixture) {
	s.open()
	c := s.next(1)
	_, first := s.granted(c)
	s.env.Wait(5 * time.Millisecond)
	c = s.ask(s.look().Now, s.due(1))
	c.Overlap = series.OverlapAllow
	_, second := s.granted(c)
	skip := func() {
		s.env.Wait(5 * time.Millisecond)
		c = s.ask(s.look().Now, s.look().Mark)
		c.Rerun = true
		s.claimed(c, series.KindSkipped)
	}
	skip()
	s.dies(first)
	skip()
	lines := s.lines()
	skips := lines[len(lines)-2:]
	equal(s, "the first number's run", skips[0].BlockerFence, first.Fence)
	equal(s, "the second number's run", skips[1].BlockerFence, second.Fence)
}
