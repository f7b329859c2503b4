package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/internal/whycases"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// A faulty store has jobs whose states cannot be read, and a clock that answers slowly at first.
type faulty struct {
	clients.Driver
	jobs  int
	state error
	alone bool // the state of a job can be read by a request for it alone
	asked int
}

func (s *faulty) inspector() inspector {
	return inspector{&clients.Store{Config: &config.Config{}, Driver: s}}
}

func (s *faulty) Explain(error) string { return "" }
func (s *faulty) Refuses(error) bool   { return false }

func (s *faulty) Keys(context.Context) (keys []string, err error) {
	for i := range s.jobs {
		keys = append(keys, fmt.Sprint("job", i))
	}
	return keys, nil
}

func (s *faulty) ReadSeries(_ context.Context, keys []string) (states []series.Series) {
	for _, key := range keys {
		states = append(states, series.Series{Key: key, Err: s.state})
	}
	if s.alone && len(keys) == 1 {
		states[0].Err = nil
	}
	return states
}

func (s *faulty) Journal(context.Context, string, int) (series.Journal, error) {
	return series.Journal{}, nil
}

func (s *faulty) Audit(context.Context, string, int) ([]series.AuditRecord, error) {
	return nil, nil
}

func (s *faulty) Members(context.Context) (series.MemberList, error) {
	return series.MemberList{}, nil
}

// Now answers each request sooner than the one before. While an answer is under way, the clock of the machine is set.
func (s *faulty) Now(context.Context) ([]driver.ClockReading, error) {
	s.asked++
	sent := time.Unix(1_800_000_000, 0)
	took := time.Second / time.Duration(s.asked)
	return []driver.ClockReading{{Server: "db", Time: sent.Add(took/2 + took*took/time.Second), Sent: sent, Received: sent.Add(took)}}, nil
}

// The clock is judged by the shortest round trip.
func TestClockByTheShortestRoundTrip(t *testing.T) {
	findings := (&faulty{}).inspector().latency(t.Context())
	if len(findings) != 2 || findings[1].Level != redislock.LevelOK {
		t.Errorf("%+v", findings)
	}
}

// The store is slow if half of the round trips are, and not if a few are.
func TestLatencyByTheMiddle(t *testing.T) {
	sent := time.Unix(1_800_000_000, 0)
	for quick, want := range map[int]redislock.Level{pings/2 + 1: redislock.LevelOK, pings / 2: redislock.LevelWarn} {
		sorted := make([]driver.ClockReading, pings)
		for i := range sorted {
			sorted[i] = driver.ClockReading{Sent: sent, Received: sent.Add(slowStore)}
			if i >= quick {
				sorted[i].Received = sent.Add(time.Second)
			}
		}
		if f := latencyOf("db", sorted); f.Level != want {
			t.Errorf("%d of %d are quick: %+v, want %v", quick, pings, f, want)
		}
	}
}

// Doctor names as many jobs that cannot be read as there is room for, and counts the rest.
func TestDoctorNamesUnreadJobs(t *testing.T) {
	for _, c := range []struct {
		jobs          int
		marks, judged []string // the last texts
	}{
		{maxNamed, []string{`"job4" cannot be read`}, []string{`job "job4"`}},
		{maxNamed + 1, []string{`"job5" cannot be read`}, []string{`job "job4"`, "nor of 1 more"}},
		{maxMarks, []string{`"job9" cannot be read`}, []string{`job "job4"`, "nor of 5 more"}},
		{maxMarks + 1, []string{`"job9" cannot be read`, "nor can the states of 1 more job be read"}, []string{`job "job4"`, "nor of 6 more"}},
	} {
		s := (&faulty{jobs: c.jobs, state: errors.New("of another type")}).inspector()
		marks, judged := &diagnosis{}, &diagnosis{}
		s.marks(t.Context(), marks)
		s.overdue(t.Context(), judged)
		for want, is := range map[string]*diagnosis{strings.Join(c.marks, ";"): marks, strings.Join(c.judged, ";"): judged} {
			texts := strings.Split(want, ";")
			shown := is.findings[max(0, len(is.findings)-len(texts)):]
			if !slices.EqualFunc(shown, texts, func(f redislock.Finding, text string) bool { return strings.Contains(f.Text, text) }) {
				t.Errorf("of %d jobs the last findings are %+v, want %s", c.jobs, shown, want)
			}
		}
	}
}

// A store may refuse the request for several jobs because of one of them. Each is then read separately.
func TestDoctorReadsRefusedJobsSeparately(t *testing.T) {
	d := &diagnosis{}
	(&faulty{jobs: 3, state: fmt.Errorf("no right: %w", lock.ErrUnfit), alone: true}).inspector().marks(t.Context(), d)
	if len(d.findings) != 1 || d.findings[0].Text != "no tick of the future is decided (3 jobs)" {
		t.Errorf("%+v", d)
	}
}

// An unaudited store has the records of a question about a tick, without its audit if there is an error.
type unaudited struct {
	recorded
	err error
}

func (s unaudited) Explain(error) string { return "" }
func (s unaudited) Refuses(error) bool   { return false }

func (s unaudited) Audit(context.Context, string, int) ([]series.AuditRecord, error) {
	return s.Question.Audit, s.err
}

func (s unaudited) Now(context.Context) ([]driver.ClockReading, error) {
	return []driver.ClockReading{{Time: time.UnixMilli(s.State.Now)}}, nil
}

// A part of the store that cannot be read leaves open whether a tick is overdue.
func TestDoctorWithoutTheAudit(t *testing.T) {
	for err, want := range map[error]string{nil: "no tick is overdue", errors.New("of another type"): "the changes by operators are not known: of another type"} {
		d := &diagnosis{}
		s := unaudited{recorded{Question: whycases.All()["ran"].Question}, err}
		inspector{&clients.Store{Config: &config.Config{}, Driver: s}}.overdue(t.Context(), d)
		if len(d.findings) != 1 || d.findings[0].Text != want || d.failed != (err != nil) {
			t.Errorf("%v: %+v", err, d)
		}
	}
}
