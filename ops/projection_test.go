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
		time.Sleep(time.Nanosecond)
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
		time.Sleep(3 * time.Second)
		reads := s.reads.Load()
		for range 2 {
			if now := p.Snapshot(); now != p.Peek() {
				t.Errorf("the snapshot is %+v", now)
			}
			synctest.Wait()
		}
		if n := s.reads.Load() - reads; n != 1 {
			t.Errorf("at once after a question: %d reads", n)
		}
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
	p.current = &Snapshot{planned: true}
	if got := p.pause(wholeEvery/share + 80*time.Millisecond); got != 2*time.Second {
		t.Errorf("after a planned refresh of all jobs the rest is %v", got)
	}
	idle := newProjection(opened(t))
	idle.current = &Snapshot{suspects: true}
	if got := idle.pause(0); got != SecondProbe {
		t.Errorf("a suspected tick is probed again after %v", got)
	}
}

// A refresh whose caller has gone shows nothing about the store.
func TestRefreshWithoutACaller(t *testing.T) {
	s := opened(t, "report")
	p := newProjection(s)
	known := p.Refresh(t.Context())
	s.silent.Store(true)
	gone, stop := context.WithCancel(t.Context())
	stop()
	for range 20 {
		if now := p.Refresh(gone); now != known {
			t.Fatalf("%q is shown", now.Down)
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
