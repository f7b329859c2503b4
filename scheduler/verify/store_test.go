package verify_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/plays"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// epoch is when the tests' series are opened: ten ticks of everyTen make 100 s.
const (
	epoch    = plays.Epoch
	everyTen = plays.Every
)

// at returns an instant in seconds after the epoch.
func at(seconds float64) int64 { return epoch + int64(seconds*1000) }

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// A store keeps one series by the rules of all stores, and its journal. It is the stage of a cast.
type store struct {
	cast      *plays.Cast
	state     series.State
	lines     []series.Line
	sightings []series.RevisionUse
	now       int64 // ms
	audit     []series.AuditRecord
}

// empty returns a store whose series was never opened.
func empty() *store {
	s := &store{now: epoch}
	s.cast = &plays.Cast{Stage: s}
	return s
}

func opened(specs ...string) *store {
	s := empty()
	if len(specs) == 0 {
		specs = []string{everyTen}
	}
	for _, text := range specs {
		s.open(text)
	}
	return s
}

// Append folds lines as the stores do.
func (s *store) Append(l series.Line) {
	if n := len(s.lines); n > 0 && s.lines[n-1].Fold(l) {
		return
	}
	s.lines = append(s.lines, l)
}

func (s *store) Now() int64                         { return s.now }
func (s *store) Pass(ms int64)                      { s.now += ms }
func (s *store) Claim(c series.Claim) series.Answer { return s.state.Claim(s.us(), &c, s) }
func (s *store) Renew(r series.RunRef)              { s.state.Renew(s.us(), &r) }
func (s *store) Series() series.Series              { return s.state.Series(s.us(), plays.Key) }
func (s *store) Journal() series.Journal            { return s.journal() }
func (s *store) Audit() []series.AuditRecord        { return s.audit }

func (s *store) Release(e series.EndRequest) series.EndAnswer {
	return s.state.Release(s.us(), &e, s)
}

func (s *store) Open(o series.OpenRequest) {
	s.state.Open(s.us(), &o, s)
	for i := range s.sightings {
		if s.sightings[i].Revision == o.Revision {
			s.sightings[i].Last = s.now
			return
		}
	}
	s.sightings = append(s.sightings, series.RevisionUse{Revision: o.Revision, Spec: o.Spec, Zone: o.Zone, Node: o.Node, First: s.now, Last: s.now})
}

func (s *store) Control(c series.Control) series.ControlAnswer {
	a, made := s.state.Control(s.us(), &c, s.state.Change+1, s)
	if made != nil {
		s.audit = append(s.audit, *made)
	}
	return a
}

func (s *store) open(text string) { s.cast.Enter(text) }

func (s *store) us() int64 { return s.now * 1000 }

// A policy has the settings of a job for a claim. The zero policy has the spec everyTen.
type policy struct {
	spec     string
	overlap  series.Overlap
	backlog  bool
	rerun    bool
	deadline time.Duration
	shards   int
}

func (p policy) of() plays.Policy {
	return plays.Policy{Spec: cmp.Or(p.spec, everyTen), Overlap: p.overlap, Backlog: p.backlog, Rerun: p.rerun, Deadline: p.deadline, Shards: p.shards}
}

func (p policy) claim(s *store, tick int64) series.Claim { return s.cast.ClaimOf(p.of(), tick) }

type grant = plays.Grant

func (s *store) ask(p policy, tick int64) grant { return s.cast.Ask(p.of(), tick) }

func (s *store) takeOver(p policy, tick, fence int64) grant {
	return s.cast.TakeOver(p.of(), tick, fence)
}

func (s *store) end(g grant, how series.RunState, outcome string) series.EndAnswer {
	return s.cast.End(g, how, outcome)
}

func (s *store) ok(g grant) series.EndAnswer { return s.end(g, series.RunDone, series.OutcomeOK) }

// run claims the tick at a second and ends it at once.
func (s *store) run(p policy, seconds float64) {
	s.now = at(seconds)
	s.ok(s.ask(p, s.now))
}

func (s *store) journal() series.Journal {
	return series.Journal{Key: "job", Lines: slices.Clone(s.lines), Revisions: slices.Clone(s.sightings)}
}

func (s *store) report(o verify.Options) verify.Report {
	o.Now, o.Audit = instant(s.now), s.audit
	return verify.Job(s.journal(), o)
}

func (s *store) change(action series.Action, until int64) { s.cast.Change(action, until) }

func (s *store) cancel(tick int64) { s.cast.Cancel(tick) }

func (s *store) request(overlap series.Overlap, anyway bool, startBy int64) int64 {
	return s.cast.Request(overlap, anyway, startBy)
}

func (s *store) backfill(room int64, ticks ...int64) int64 { return s.cast.Backfill(room, ticks...) }

func (s *store) skip(tick int64) { s.cast.Skip(tick) }
