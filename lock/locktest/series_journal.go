package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var journalTests = []test{
	{"the journal of a series that was never opened is empty", journalEmpty},
	{"a series begins with the line of its opening", journalOpened},
	{"the ranges of the lines that move the mark leave no number out", journalContiguous},
	{"the end of the run that was granted last is written into its line", journalEnd},
	{"an end after other lines is a line of its own", journalEndApart},
	{"neighbours that are identical become one range", journalFolded},
	{"neighbours that differ in verdict, revision or what lies between stay apart", journalApart},
	{"the newest lines are given, oldest first", journalNewest},
	{"the revisions are kept with their spec, zone, node and times", journalRevisions},
	{"the first sighting belongs to spec text and zone name, whatever the revision", journalFirstSighting},
	{"a spec that comes back is in force anew, unless it was seen again and again", journalBack},
	{"a spec is in force for as long as any revision of it is seen", journalRevisionsOfSpec},
	{"an opening returns the former specs whose numbers may be undecided", journalFormer},
	{"the revisions are bounded, and those in use stay", journalManyRevisions},
	{"the series are listed, sorted", journalKeys},
	{"each takeover and each settlement has its line", journalRuns},
}

func (s *fixture) journal(n int) series.Journal {
	s.Helper()
	j, err := s.journaled.Journal(s.ctx, s.key, n)
	if err != nil {
		s.Fatalf("journal: %v", err)
	}
	return j
}

func journalEmpty(s *fixture) {
	j := s.journal(0)
	if len(j.Lines) != 0 || len(j.Revisions) != 0 || j.Truncated || j.Key != s.key {
		s.Fatalf("the journal is %+v", j)
	}
}

func journalOpened(s *fixture) {
	s.open()
	j := s.journal(0)
	equal(s, "lines", len(j.Lines), 1)
	l := j.Lines[0]
	want := series.Line{At: l.At, Verdict: series.VerdictOpened, From: s.mark, To: s.mark, Node: "opener", Revision: "r1"}
	equal(s, "the line", l, want)
	if l.At < s.mark-1000 || l.At > s.mark {
		s.Fatalf("written at %d, the mark was %d", l.At, s.mark)
	}
	equal(s, "truncated", j.Truncated, false)
}

// contiguous fails the test unless each line that moved the mark begins at the mark before it, and
// the last one ends at the mark of the series.
func (s *fixture) contiguous() {
	s.Helper()
	lines := s.journal(0).Lines
	mark, fence := lines[0].To, int64(0)
	for i, l := range lines[1:] {
		if l.From == l.To {
			continue
		}
		if l.From != mark || l.To < l.From {
			s.Fatalf("line %d is %+v, the mark was %d", i+1, l, mark)
		}
		mark = l.To
		if l.Verdict == series.VerdictRan && l.Fence <= fence {
			s.Fatalf("line %d has the fence %d, after %d", i+1, l.Fence, fence)
		}
		fence = max(fence, l.Fence)
	}
	equal(s, "the end of the ranges", mark, s.look().Mark)
}

func journalContiguous(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.env.Wait(5 * time.Millisecond)
	for _, o := range []series.Overlap{series.OverlapSkip, series.OverlapQueue, series.OverlapReplace, series.OverlapSkip} {
		is := s.look()
		c := s.ask(is.Now, is.Mark)
		c.Overlap, c.Between = o, int(o)
		s.claim(c)
		s.env.Wait(5 * time.Millisecond)
	}
	late := s.ask(s.look().Now, s.look().Mark)
	s.env.Wait(5 * time.Millisecond)
	late.Deadline = time.Millisecond
	s.claimed(late, series.KindMissed)
	s.ended(run, series.RunDone)
	s.pause()
	s.env.Wait(5 * time.Millisecond)
	s.claimed(s.ask(s.look().Now, s.look().Mark), series.KindPaused)
	s.env.Wait(5 * time.Millisecond)
	is := s.resume()
	s.env.Wait(5 * time.Millisecond)
	s.granted(s.ask(s.look().Now, is.Mark))
	s.contiguous()
}

func journalEnd(s *fixture) {
	s.open()
	c := s.next(1)
	a, run := s.granted(c)
	s.env.Wait(5 * time.Millisecond)
	out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: run, Outcome: series.OutcomeFailed}})
	equal(s, "ended", out[0].Ended, true)
	lines := s.lines()
	equal(s, "lines", len(lines), 1)
	l := lines[0]
	if l.Ended < a.Now+5 || l.Ended > s.look().Now {
		s.Fatalf("ended at %d, granted at %d", l.Ended, a.Now)
	}
	equal(s, "the line", l, series.Line{At: a.Now, Verdict: series.VerdictRan, From: s.mark, To: c.Number, Node: driver.NodeOf(c.Owner),
		Revision: "r1", Fence: run.Fence, Attempt: 1, Outcome: series.OutcomeFailed, Ended: l.Ended})
	_, run = s.granted(s.ask(s.due(2), c.Number))
	s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: run, Outcome: series.OutcomeSkipped}})
	lines = s.lines()
	equal(s, "the outcome of a run that found nothing to do", lines[len(lines)-1].Outcome, series.OutcomeSkipped)
	equal(s, "the last success", s.look().Last, 0)
}

func journalEndApart(s *fixture) {
	run, c := s.beside(series.OverlapSkip)
	s.claimed(c, series.KindSkipped)
	s.ended(run, series.RunGivenBack)
	lines := s.lines()
	equal(s, "lines", len(lines), 3)
	equal(s, "the outcome of the first", lines[0].Outcome, "")
	l := lines[2]
	equal(s, "the line", l, series.Line{At: l.At, Verdict: series.VerdictEnded, From: run.Number, To: run.Number, Node: driver.NodeOf(run.Owner),
		Fence: run.Fence, Attempt: 1, Outcome: series.OutcomeInterrupted, Ended: l.At})
}

func journalFolded(s *fixture) {
	run, _ := s.beside(series.OverlapSkip)
	first := s.look().Mark
	var node string
	for range 5 {
		is := s.look()
		c := s.ask(is.Now, is.Mark)
		s.claimed(c, series.KindSkipped)
		node = driver.NodeOf(c.Owner)
		s.env.Wait(2 * time.Millisecond)
	}
	lines := s.lines()
	equal(s, "lines", len(lines), 2)
	l := lines[1]
	equal(s, "the line", l, series.Line{At: l.At, Verdict: series.VerdictSkipped, From: first, To: s.look().Mark,
		Between: series.VerdictSkipped, Reason: series.ReasonOverlap, Node: node, Revision: "r1", Blocker: run.Number, BlockerFence: run.Fence})
	s.contiguous()
}

func journalApart(s *fixture) {
	s.beside(series.OverlapSkip)
	next := func(spoil func(*series.Claim)) {
		s.env.Wait(2 * time.Millisecond)
		is := s.look()
		c := s.ask(is.Now, is.Mark)
		spoil(&c)
		s.claim(c)
	}
	next(func(*series.Claim) {})
	next(func(c *series.Claim) { c.Revision = "r2" })
	next(func(c *series.Claim) { c.Revision, c.Between = "r2", 1 })
	next(func(c *series.Claim) { c.Revision = "r2" })
	var verdicts []string
	for _, l := range s.lines() {
		verdicts = append(verdicts, fmt.Sprint(l.Verdict, " ", l.Revision, " ", l.Between))
	}
	want := []string{"ran r1 ", "skipped r1 ", "skipped r2 ", "skipped r2 missed", "skipped r2 "}
	if !slices.Equal(verdicts, want) {
		s.Fatalf("the lines are %q, want %q", verdicts, want)
	}
	s.contiguous()
}

func journalNewest(s *fixture) {
	s.open()
	for i := int64(1); i <= 4; i++ {
		_, run := s.granted(s.ask(s.due(i), s.due(i-1)))
		s.ended(run, series.RunDone)
	}
	all := s.journal(0)
	equal(s, "lines", len(all.Lines), 5)
	for n := range 8 {
		j := s.journal(n)
		want := all.Lines[max(0, 5-n):]
		if n == 0 {
			want = all.Lines
		}
		if !slices.Equal(j.Lines, want) {
			s.Fatalf("the newest %d lines are %+v", n, j.Lines)
		}
		equal(s, "truncated", j.Truncated, n > 0 && n < 5)
	}
}
