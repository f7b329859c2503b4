package ops

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
)

// A flakyStore is a store that can be silent, and counts how often it is read.
type flakyStore struct {
	*memlock.Store
	silent atomic.Bool
	reads  atomic.Int32
}

var errSilent = errors.New("connection refused")

func (s *flakyStore) Keys(ctx context.Context) ([]string, error) {
	if s.silent.Load() {
		return nil, errSilent
	}
	return s.Store.Keys(ctx)
}

func (s *flakyStore) ReadSeries(ctx context.Context, keys []string) []series.Series {
	all := s.Store.ReadSeries(ctx, keys)
	if s.silent.Load() {
		for i := range all {
			all[i] = series.Series{Key: keys[i], Err: errSilent}
		}
	}
	return all
}

func (s *flakyStore) Members(ctx context.Context) (series.MemberList, error) {
	s.reads.Add(1)
	if s.silent.Load() {
		return series.MemberList{}, errSilent
	}
	return s.Store.Members(ctx)
}

// opened returns a store with jobs for every second that a node has opened.
func opened(t *testing.T, jobs ...string) *flakyStore {
	t.Helper()
	s := &flakyStore{Store: memlock.New(memlock.Options{})}
	for _, job := range jobs {
		o := series.OpenRequest{Key: job, Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/misfire:once"}
		if got := s.Open(t.Context(), []series.OpenRequest{o})[0]; got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	s.beat(t)
	return s
}

func (s *flakyStore) beat(t *testing.T) {
	t.Helper()
	if _, err := s.Beat(t.Context(), series.Beat{Node: "web-1", TTL: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

// decide runs the tick of this second to its end.
func (s *flakyStore) decide(t *testing.T, job, outcome string) {
	t.Helper()
	before := s.Store.ReadSeries(t.Context(), []string{job})[0]
	tick := time.Now().Truncate(time.Second).UnixMilli()
	c := series.Claim{Key: job, Owner: "web-1/" + time.Now().Format("150405.000"), Number: tick, After: before.Mark, TTL: 10 * time.Second, Deadline: time.Minute,
		Attempts: 1, Latest: tick + 60_000, Revision: "r"}
	a := s.Claim(t.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("%v %v", a.Kind, a.Err)
	}
	e := series.EndRequest{RunRef: series.RunRef{Key: job, Number: tick, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}, Outcome: outcome, OK: outcome == series.OutcomeOK, Error: "gateway is away"}
	if outcome == series.OutcomeOK {
		e.Error = ""
	}
	if end := s.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; end.Err != nil {
		t.Fatal(end.Err)
	}
}

func newProjection(s Store) *Projection { return New(Options{Store: s, Namespace: "shop"}) }

// A job whose ticks are decided is fine; a failed tick requires a person; a success clears that.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report", "sendSms")
		p := newProjection(s)
		time.Sleep(time.Second)
		s.decide(t, "report", series.OutcomeOK)
		s.decide(t, "sendSms", series.OutcomeFailed)
		st := p.Refresh(t.Context()).Status()
		if st.State != Failing || len(st.Needs) != 1 || st.Needs[0].Job != "sendSms" || !strings.Contains(st.Needs[0].Text, "gateway is away") {
			t.Errorf("%+v", st)
		}
		time.Sleep(time.Second)
		s.decide(t, "report", series.OutcomeOK)
		s.decide(t, "sendSms", series.OutcomeOK)
		time.Sleep(400 * time.Millisecond)
		st = p.Refresh(t.Context()).Status()
		if st.State != OK || st.Sentence != "All 2 jobs decided, newest verdict 400 ms ago; 1 node." {
			t.Errorf("%+v", st)
		}
	})
}

// The sentence counts the jobs that are not retired, and the problems that no operator has requested.
func TestSentence(t *testing.T) {
	now := utc(1_800_000_000_000)
	nodes := NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: []series.Member{{Node: "n", Until: now.UnixMilli() + 1}}}, nil)
	for want, states := range map[string][]State{
		"The job is decided; 1 node.":           {OK, Retired},
		"All 2 jobs decided; 1 node; 1 paused.": {OK, Retired, Paused},
		"1 thing needs a person, of 2 jobs.":    {Failing, Paused, Retired},
		"2 things need a person, of 3 jobs.":    {Failing, Lost, Paused},
	} {
		s := &Snapshot{AsOf: now, Read: time.Now(), Nodes: nodes}
		for i, state := range states {
			j := &Job{Name: string(rune('a' + i)), State: state, Series: series.Series{Now: now.UnixMilli(), Mark: 1}}
			if state == Failing || state == Lost {
				j.Runs = []Run{{Tick: InstantOf(now), State: state}}
			}
			s.Jobs = append(s.Jobs, j)
		}
		if got := s.Status().Sentence; got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}

// With all nodes dead a tick is overdue once its deadline and the grace are over, with the cause.
// While the store is silent nothing is overdue and nothing is fine, and the known data is kept.
// When the store answers again, the states are known again.
func TestOverdueAndUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report")
		p := newProjection(s)
		p.Refresh(t.Context())
		time.Sleep(16 * time.Second)
		now := p.Refresh(t.Context())
		if job := now.Job("report"); job.State != Overdue || !strings.Contains(job.Overdue[0].Cause, "no node lives: web-1 was last seen at") || job.Overdue[0].Job != "report" ||
			job.Overdue[0].Age() != time.Since(job.Overdue[0].Since) {
			t.Errorf("%s %+v", job.State, job.Overdue)
		}
		s.silent.Store(true)
		before := now
		now = p.Refresh(t.Context())
		st := now.Status()
		if job := now.Job("report"); job.State != Unknown || len(now.Overdue()) > 0 || st.State != Unknown || now.Nodes.Err() == nil || job.Schedule == nil || before.Job("report").State != Overdue {
			t.Errorf("%s %+v, before %s", job.State, st, before.Job("report").State)
		}
		if !strings.HasPrefix(st.Sentence, "Not known: connection refused. The last answer is of 2000-01-01T") {
			t.Error(st.Sentence)
		}
		time.Sleep(time.Minute)
		if later := p.Refresh(t.Context()); !later.DownSince.Equal(now.DownSince) || !now.DownSince.Equal(now.Read) {
			t.Errorf("it is silent since %v, and later since %v", now.DownSince, later.DownSince)
		}
		s.silent.Store(false)
		if job := p.Refresh(t.Context()).Job("report"); job.State != Overdue {
			t.Errorf("%s", job.State)
		}
	})
}

// The state of a projection that has never reached its store, and of a namespace without jobs, is
// not known.
func TestNothingKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t)
		p := newProjection(s)
		if st := p.Peek().Status(); st.State != Unknown {
			t.Errorf("%+v", st)
		}
		if st := p.Refresh(t.Context()).Status(); st.State != Unknown || st.Sentence != noJobs {
			t.Errorf("%+v", st)
		}
		s.silent.Store(true)
		for text, want := range map[string]string{"": "Not known: connection refused.", "no answer from db:1": "Not known: no answer from db:1."} {
			p := New(Options{Store: s, Explain: func(error) string { return text }})
			now := p.Refresh(t.Context())
			if st := now.Status(); st.State != Unknown || st.Sentence != want || !now.DownSince.Equal(time.Now()) {
				t.Errorf("%+v, since %v", st, now.DownSince)
			}
		}
	})
}

// While nodes are alive, a tick that looks overdue is probed again before it is reported: a node
// that comes back within that time raises no alarm.
func TestSuspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report")
		p := newProjection(s)
		p.Refresh(t.Context())
		time.Sleep(13 * time.Second)
		s.beat(t)
		if now := p.Refresh(t.Context()); !now.Suspects() || now.Job("report").State != OK {
			t.Errorf("%+v", now.Job("report"))
		}
		time.Sleep(SecondProbe - 1)
		if now := p.Refresh(t.Context()); !now.Suspects() || now.Job("report").State != OK {
			t.Error("it is believed too early")
		}
		time.Sleep(1)
		for range 2 { // no tick is suspected again after it was believed
			if now := p.Refresh(t.Context()); now.Suspects() || now.Job("report").State != Overdue {
				t.Errorf("%+v", now.Job("report"))
			}
		}
		s.decide(t, "report", series.OutcomeOK)
		if now := p.Refresh(t.Context()); now.Job("report").State != OK {
			t.Errorf("%+v", now.Job("report"))
		}
	})
}

// A projection is refreshed every 10 seconds, each second while it is watched, and each second for
// half a minute after a read.
func TestRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t)
		p := newProjection(s)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go p.Run(ctx)
		within := func(d time.Duration, least, most int32, what string) {
			t.Helper()
			synctest.Wait()
			before := s.reads.Load()
			time.Sleep(d)
			synctest.Wait()
			if n := s.reads.Load() - before; n < least || n > most {
				t.Errorf("%s: %d reads in %v, want %d to %d", what, n, d, least, most)
			}
		}
		within(time.Minute, 5, 7, "idle")
		end := p.Watch()
		within(time.Minute, 59, 61, "watched")
		end()
		within(time.Minute, 5, 7, "no longer watched")
		p.Snapshot()
		within(20*time.Second, 19, 21, "after a question")
		within(2*time.Minute, 12, 24, "later")
	})
}

// Reading takes at most a 25th of the time, while the rest after it is at most 5 seconds.
func TestRestAfterARefresh(t *testing.T) {
	p := newProjection(opened(t))
	defer p.Watch()()
	for took, want := range map[time.Duration]time.Duration{
		0: time.Second, 40 * time.Millisecond: time.Second, 41 * time.Millisecond: 1025 * time.Millisecond, 200 * time.Millisecond: 5 * time.Second, 9 * time.Second: 5 * time.Second,
	} {
		if got := p.pause(took); got != want {
			t.Errorf("after a refresh of %v the rest is %v, want %v", took, got, want)
		}
	}
}

// A reader that waits gets each next snapshot, and the end of its context.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProjection(opened(t, "report"))
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		go p.Refresh(t.Context())
		now, err := p.Await(ctx, p.Peek())
		if err != nil || now.Job("report") == nil {
			t.Fatalf("%v %v", now, err)
		}
		if _, err := p.Await(ctx, now); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A paused job raises no alarm, and is named.
func TestPausedIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report", "sendSms")
		for _, job := range []string{"report", "sendSms"} {
			s.Control(t.Context(), series.Control{Key: job, Action: series.ActionPause, Op: "1", Who: "ann", Reason: "for the test"})
		}
		time.Sleep(time.Minute)
		st := newProjection(s).Refresh(t.Context()).Status()
		if st.State != OK || st.Jobs[Paused] != 2 || len(st.Needs) != 2 {
			t.Errorf("%+v", st)
		}
		if text := st.Needs[0].Text; text != "Paused by ann since 00:00:00: for the test; nothing starts until it is resumed" {
			t.Error(text)
		}
	})
}

// A tick that was lost requires a person until three later ones have ended ok, or for a day; the
// next success clears a failure. A run that was replaced or cancelled neither is a failure nor clears one. If the lines do not reach back far enough, the text has the time
// since when the job fails at least.
func TestLostStays(t *testing.T) {
	run := func(s State, ago time.Duration) Run {
		at := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).Add(-ago)
		return Run{Tick: InstantOf(at), Recorded: InstantOf(at), State: s, Outcome: "failed", Node: "a"}
	}
	ordered := func(outcome string, ago time.Duration) Run { // by the policy of the job, or by an operator
		r := run(Failing, ago)
		r.Outcome = outcome
		return r
	}
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	whole, cut := []series.Line{{Verdict: series.VerdictOpened}}, []series.Line{{Verdict: series.VerdictRan, At: 1}}
	for _, c := range []struct {
		runs  []Run // the newest first
		lines []series.Line
		state State
		text  string // in the need
	}{
		{[]Run{run(OK, 1)}, whole, OK, ""},
		{[]Run{run(Lost, 1)}, whole, Lost, "is lost with a"},
		{[]Run{run(OK, 1), run(Skipped, 2), run(OK, 3), run(Lost, 4)}, whole, Lost, "later ones ended ok: it is listed until 3 have, or for 24 hours"},
		{[]Run{run(OK, 1), run(OK, 2), run(OK, 3), run(Lost, 4)}, whole, OK, ""},
		{[]Run{run(OK, 1), run(Missed, 24*time.Hour-time.Millisecond)}, whole, Missed, "later ones ended ok"},
		{[]Run{run(OK, 1), run(Missed, 24*time.Hour)}, whole, OK, ""},
		{[]Run{run(Missed, 25*time.Hour)}, whole, Missed, "was missed"},
		{[]Run{run(OK, 1), run(Failing, 2)}, whole, OK, ""},
		{[]Run{run(OK, 1), run(Failing, 2), run(Lost, 3)}, whole, Lost, "later ones ended ok"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute), run(OK, time.Hour)}, cut, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Skipped, time.Minute), run(Failing, 2*time.Minute), run(OK, time.Hour)}, whole, Failing, "not ok since 07:58:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute)}, whole, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Second), run(Lost, time.Minute), run(Missed, 2*time.Minute), run(OK, time.Hour)}, whole, Failing, "not ok since 07:58:00 (3 ticks)"},
		{[]Run{run(Failing, time.Second), run(Failing, time.Minute)}, cut, Failing, "not ok since 07:59:00 at least (2 ticks or more)"},
		{[]Run{ordered("replaced", 1), ordered("cancelled", 2)}, whole, OK, ""},
		{[]Run{ordered("replaced", 1), run(Failing, time.Second), run(Failing, time.Minute)}, whole, Failing, "not ok since 07:59:00 (2 ticks)"},
		{[]Run{run(Failing, time.Minute)}, cut, Failing, "not ok since 07:59:00 at least (1 tick or more)"},
	} {
		j := &Job{Name: "a", Runs: c.runs, Journal: series.Journal{Lines: c.lines}, Series: series.Series{Now: now.UnixMilli()}}
		j.State = j.word()
		n, _ := j.need(now)
		if j.State != c.state || !strings.Contains(n.Text, c.text) || c.text == "" && n.Text != "" || c.state == Lost && n.cause != "a" {
			t.Errorf("%v: %s, %q; want %s, %q", c.runs, j.State, n.Text, c.state, c.text)
		}
	}
	for state, want := range map[State]State{Missed: OK, Lost: Lost, Failing: Failing} { // a crontab command need not claim each tick
		if j := (&Job{Runs: []Run{run(state, 1)}, Policies: policy.Record{Crontab: true}}); j.word() != want {
			t.Errorf("of crontab commands, and %s: %s", state, j.word())
		}
	}
}

// A job whose ticks crontab commands claim requires no person if none claims them, and no node. Its
// next success is not expected.
func TestCrontabNeedsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t)
		o := series.OpenRequest{Key: "lock/backup", Node: "db-1", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/callers:crontab"}
		if got := s.Open(t.Context(), []series.OpenRequest{o})[0]; got.Err != nil {
			t.Fatal(got.Err)
		}
		p := newProjection(s)
		time.Sleep(time.Second)
		s.decide(t, o.Key, series.OutcomeOK)
		for _, later := range []time.Duration{time.Minute, time.Hour} { // by then web-1 has left the list
			time.Sleep(later)
			if st := p.Refresh(t.Context()).Status(); st.State != OK || len(st.Needs) > 0 || st.Nodes != 0 {
				t.Errorf("%v later: %+v", later, st)
			}
		}
		q := series.Claim{Key: o.Key, Owner: "db-2/1", Number: time.Now().UnixMilli(), TTL: time.Second, Deadline: time.Minute, Attempts: 1, Latest: time.Now().UnixMilli(), Revision: "r"}
		q.After, q.Between = s.Store.ReadSeries(t.Context(), []string{o.Key})[0].Mark, 1
		if a := s.Claim(t.Context(), []series.Claim{q})[0]; a.Kind != series.KindGranted {
			t.Fatal(a.Kind, a.Err)
		}
		time.Sleep(time.Hour) // db-2 died, and the next call settles the run
		if st := p.Refresh(t.Context()).Status(); st.State != OK {
			t.Errorf("%+v", st)
		}
	})
}
