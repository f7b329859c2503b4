package locktest

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

const (
	short  = driver.MinTTL    // the TTL of leases that must expire
	brief  = 4 * time.Second  // the TTL of leases that must expire, and not before others wait for them
	long   = time.Minute      // the TTL of leases that must not expire
	longer = 80 * time.Second // and within the longest session of a store
	slack  = 10 * time.Millisecond
)

// A fixture is a fresh store under test, with one series. Its methods fail the test when the store
// returns an error.
type fixture struct {
	*testing.T
	ctx        context.Context
	env        Env
	driver     driver.Driver
	numbered   series.Numbered
	journaled  series.Journaled // nil if the driver keeps no journal
	controlled series.Controlled
	key        string
	mark       int64 // the mark of the series when it was opened
	owners     int
	ops        int
	audited    map[int]int64 // how many records the model expects in the audit of each partition
}

func newFixture(t *testing.T, env Env) *fixture {
	s := &fixture{T: t, ctx: t.Context(), env: env, driver: env.Open(t), key: "job", audited: map[int]int64{}}
	s.numbered, _ = s.driver.(series.Numbered)
	s.journaled, _ = s.driver.(series.Journaled)
	s.controlled, _ = s.driver.(series.Controlled)
	return s
}

// front returns the layer that validates requests before the driver gets them.
func (s *fixture) front() series.Front { return series.FrontOf(s.driver) }

// partition returns the partition of a series.
func (s *fixture) partition(key string) int {
	if partitioned, ok := s.driver.(series.Partitioned); ok {
		return partitioned.Partition(key)
	}
	return 0
}

// owner returns a fresh owner.
func (s *fixture) owner() string {
	s.owners++
	return fmt.Sprintf("node-%d/%d", s.owners, s.owners)
}

// open registers the series and lets enough time pass for due(1) to due(5).
func (s *fixture) open() {
	s.Helper()
	s.mark = s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1", Spec: "* * * * *", Zone: "UTC"}).Mark
	s.env.Wait(60 * time.Millisecond)
}

func (s *fixture) opened(o series.OpenRequest) series.Series {
	s.Helper()
	return s.series(s.numbered.Open(s.ctx, []series.OpenRequest{o}))
}

func (s *fixture) look() series.Series {
	s.Helper()
	return s.series(s.numbered.ReadSeries(s.ctx, []string{s.key}))
}

func (s *fixture) series(all []series.Series) series.Series {
	s.Helper()
	if len(all) != 1 {
		s.Fatalf("%d answers to one request", len(all))
	}
	if all[0].Err != nil {
		s.Fatalf("unexpected doubt: %v", all[0].Err)
	}
	return all[0]
}

// due returns the i-th number after the mark of open; 1 to 5 are due.
func (s *fixture) due(i int64) int64 { return s.mark + 10*i }

// ask returns a claim of number n, which follows after. Nothing in the claim itself causes a
// refusal.
func (s *fixture) ask(n, after int64) series.Claim {
	return series.Claim{Key: s.key, Owner: s.owner(), Number: n, After: after, TTL: long, Deadline: time.Hour,
		Attempts: 3, Window: time.Hour, Latest: driver.MaxNumber, Revision: "r1"}
}

// next returns the claim of due(i).
func (s *fixture) next(i int64) series.Claim { return s.ask(s.due(i), s.mark) }

func (s *fixture) claim(c series.Claim) series.Answer {
	s.Helper()
	as := s.numbered.Claim(s.ctx, []series.Claim{c})
	if len(as) != 1 {
		s.Fatalf("%d answers to one claim", len(as))
	}
	if as[0].Err != nil {
		s.Fatalf("unexpected doubt: %v", as[0].Err)
	}
	return as[0]
}

// claimed sends a claim, and fails the test unless the answer has the given kind.
func (s *fixture) claimed(c series.Claim, want series.Kind) series.Answer {
	s.Helper()
	a := s.claim(c)
	if a.Kind != want {
		s.Fatalf("claim of %d: the answer is %v, want %v\nanswer %+v\nseries %+v", c.Number, name(a.Kind), name(want), a, s.look())
	}
	return a
}

// granted sends a claim that must be granted, and returns the run that it began.
func (s *fixture) granted(c series.Claim) (series.Answer, series.RunRef) {
	s.Helper()
	a := s.claimed(c, series.KindGranted)
	return a, series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
}

func (s *fixture) renew(r series.RunRef) series.RenewAnswer {
	s.Helper()
	out := s.numbered.RenewRuns(s.ctx, []series.RunRef{r})
	if len(out) != 1 || out[0].Err != nil {
		s.Fatalf("renewal: %+v", out)
	}
	return out[0]
}

// dies lets the lease of a run end soon, and waits for that. The steps before may have taken any time.
func (s *fixture) dies(r series.RunRef) {
	s.Helper()
	r.TTL = short
	equal(s, "alive", s.renew(r).Alive, true)
	s.env.Wait(short + slack)
}

func (s *fixture) end(r series.RunRef, how series.RunState) series.EndAnswer {
	s.Helper()
	e := series.EndRequest{RunRef: r, State: how}
	if how == series.RunDone {
		e.Outcome, e.OK = series.OutcomeOK, true
	}
	out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{e})
	if len(out) != 1 || out[0].Err != nil {
		s.Fatalf("release: %+v", out)
	}
	return out[0]
}

// ended ends a run, and fails the test unless the ending is accepted.
func (s *fixture) ended(r series.RunRef, how series.RunState) series.EndAnswer {
	s.Helper()
	e := s.end(r, how)
	if !e.Ended {
		s.Fatalf("the ending of %d was refused\nseries %+v", r.Number, s.look())
	}
	return e
}

// lines returns the journal without its first line, or nil if the store keeps none.
func (s *fixture) lines() []series.Line {
	s.Helper()
	if s.journaled == nil {
		return nil
	}
	j, err := s.journaled.Journal(s.ctx, s.key, 0)
	if err != nil {
		s.Fatalf("journal: %v", err)
	}
	if len(j.Lines) > 0 && j.Lines[0].Verdict == series.VerdictOpened {
		return j.Lines[1:]
	}
	return j.Lines
}

// last checks the last line of the journal: its verdict, its number, and the mark before it.
func (s *fixture) last(v series.Verdict, from, to int64) series.Line {
	s.Helper()
	if s.journaled == nil {
		return series.Line{}
	}
	lines := s.lines()
	if len(lines) == 0 {
		s.Fatalf("the journal is empty, want a line %q", v)
	}
	l := lines[len(lines)-1]
	if l.Verdict != v || l.From != from || l.To != to {
		s.Fatalf("the last line is %+v, want %q from %d to %d", l, v, from, to)
	}
	return l
}

// before checks the line before the last one like last.
func (s *fixture) before(v series.Verdict, from, to int64) series.Line {
	s.Helper()
	if s.journaled == nil {
		return series.Line{}
	}
	lines := s.lines()
	if len(lines) < 2 {
		s.Fatalf("the journal is %+v, want a line %q before the last", lines, v)
	}
	l := lines[len(lines)-2]
	if l.Verdict != v || l.From != from || l.To != to {
		s.Fatalf("the line before the last is %+v, want %q from %d to %d", l, v, from, to)
	}
	return l
}

// changed fails the test unless the last line of the journal describes the change.
func (s *fixture) changed(action series.Action, change int64) {
	s.Helper()
	if s.journaled == nil {
		return
	}
	is := s.look()
	if l := s.last(series.VerdictControl, is.Mark, is.Mark); series.Action(l.Reason) != action || l.Change != change {
		s.Fatalf("the last line is %+v, want change %d, %s", l, change, action)
	}
}

// unchanged fails the test if f changes the series or its journal.
func (s *fixture) unchanged(f func()) {
	s.Helper()
	was, lines := s.look(), s.lines()
	f()
	is, now := s.look(), s.lines()
	was.Now, is.Now = 0, 0
	if !reflect.DeepEqual(was, is) {
		s.Fatalf("the series changed\nfrom %+v\nto   %+v", was, is)
	}
	if !reflect.DeepEqual(lines, now) {
		s.Fatalf("the journal changed\nfrom %+v\nto   %+v", lines, now)
	}
}

// equal fails the test unless the two are equal.
func equal[T comparable](s *fixture, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Fatalf("%s is %v, want %v", what, got, want)
	}
}

var kinds = []string{"unknown", "granted", "over", "passed", "held", "early", "ahead", "gap", "orphan",
	"expired", "skipped", "waiting", "missed", "paused", "operator"}

func name(k series.Kind) string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", k)
}
