package ops

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A slowStore takes time for each journal, and has jobs whose partition does not answer.
type slowStore struct {
	*flakyStore
	takes    time.Duration
	journals atomic.Int32
	gone     []string // jobs of the silent partition
}

func (s *slowStore) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	s.journals.Add(1)
	select {
	case <-time.After(s.takes):
		return s.flakyStore.Journal(ctx, key, n)
	case <-ctx.Done():
		return series.Journal{}, ctx.Err()
	}
}

func (s *slowStore) Keys(ctx context.Context) ([]string, error) {
	keys, err := s.flakyStore.Keys(ctx)
	if len(s.gone) > 0 {
		return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(s.gone, key) }), errors.Join(err, errSilent)
	}
	return keys, err
}

func (s *slowStore) ReadSeries(ctx context.Context, keys []string) []series.Series {
	all := s.flakyStore.ReadSeries(ctx, keys)
	for i, key := range keys {
		if slices.Contains(s.gone, key) {
			all[i] = series.Series{Key: key, Err: errSilent}
		}
	}
	return all
}

// While one partition is silent its jobs keep their states, with their age: overdue ticks stay overdue,
// in the lists and for alerts, even if the list of jobs is read again. The status reports a
// problem.
func TestSilentPartition(t *testing.T) {
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) { silentPartition(t, changes) })
	}
}

func silentPartition(t *testing.T, changes bool) {
	s := &slowStore{flakyStore: opened(t, "late", "report", "there")}
	p := newProjection(s)
	if !changes { // then the list of jobs is read again too
		p = newProjection(struct{ Store }{s})
	}
	time.Sleep(16 * time.Second)
	for _, job := range []string{"report", "there"} {
		s.decide(t, job, series.OutcomeOK)
	}
	p.Refresh(t.Context())
	read := time.Now()
	s.gone = []string{"late", "report"}
	if !changes {
		s.Open(t.Context(), []series.OpenRequest{{Key: "new", Node: "web-1", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	}
	for range 6 { // for more than a minute, after which all jobs are read
		time.Sleep(12 * time.Second)
		s.decide(t, "there", series.OutcomeOK)
		now := p.Refresh(t.Context())
		late, report := now.Job("late"), now.Job("report")
		if late == nil || report == nil || late.State != Overdue || report.State != OK || len(now.Overdue()) != 1 {
			t.Fatalf("after %v: %+v", time.Since(read), now.Count())
		}
		if last := now.Job("there").Last(); !last.Tick.Time().Equal(time.Now()) {
			t.Errorf("the newest tick is %v", last.Tick)
		}
		if v := now.View(report, false); !v.AsOf.Equal(read) || !now.View(now.Job("there"), false).AsOf.Equal(time.Now()) {
			t.Errorf("the state is as of %v, want %v", v.AsOf, read)
		}
		st := now.Status()
		if st.State == OK || !slices.ContainsFunc(st.Needs, func(n Need) bool {
			return strings.HasSuffix(n.Text, "2 jobs could not be read, shown as known before: connection refused")
		}) {
			t.Errorf("%+v", st)
		}
		if listed := !slices.Contains(now.Faults, "not all jobs are known: connection refused"); listed != changes && time.Since(read) > keysEvery {
			t.Errorf("after %v: %q", time.Since(read), now.Faults)
		}
	}
	if !changes && p.Peek().Job("new") == nil {
		t.Error("a job of the partition that answers is not known")
	}
	s.gone = nil
	if now := p.Refresh(t.Context()); len(now.Faults) > 0 || !now.View(now.Job("late"), false).AsOf.Equal(time.Now()) {
		t.Errorf("after it answers again: %q", now.Faults)
	}
}

// A refresh that is too short for all jobs keeps the known data, takes the jobs first whose
// journals were read longest ago, and is followed by a bounded rest.
func TestRefreshTooShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var jobs []string
		for c := 'a'; c <= 'z'; c++ {
			jobs = append(jobs, string(c))
		}
		s := &slowStore{flakyStore: opened(t, jobs...)}
		p := newProjection(s)
		p.Refresh(t.Context())
		if n := s.journals.Load(); n != 26 {
			t.Fatalf("%d journals were read", n)
		}
		p.Refresh(t.Context())
		if n := s.journals.Load(); n != 26 {
			t.Errorf("%d journals were read, though nothing has changed", n-26)
		}
		s.takes = 4 * time.Second // 8 at once, for 10 s
		failing := []int{16, 26}
		for _, want := range failing {
			time.Sleep(time.Second)
			for _, job := range jobs {
				s.decide(t, job, series.OutcomeFailed)
			}
			began := time.Now()
			now := p.Refresh(t.Context())
			if got := now.Count(); got[Failing] != want || got[Unknown] != 0 {
				t.Errorf("%v, want %d failing", got, want)
			}
			if rest := p.pause(time.Since(began)); rest > 10*time.Second {
				t.Errorf("a rest of %v", rest)
			}
		}
	})
}

// A journal is read again after five minutes even if nothing has changed, and at once if one pause
// replaces another.
func TestJournalsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{flakyStore: opened(t, "report")}
		p := newProjection(s)
		reads := func(what string, want int32) *Job {
			t.Helper()
			before := s.journals.Load()
			now := p.Refresh(t.Context())
			if n := s.journals.Load() - before; n != want {
				t.Errorf("%s: %d journals were read, want %d", what, n, want)
			}
			return now.Job("report")
		}
		reads("at first", 1)
		time.Sleep(5 * time.Minute)
		reads("five minutes later", 0)
		time.Sleep(time.Millisecond)
		reads("after that", 1)
		for op, who := range []string{"ann", "bob"} {
			c := series.Control{Key: "report", Action: series.ActionPause, Op: who, Who: who, Reason: "for the test", Seen: int64(op)}
			if a := s.Control(t.Context(), c); !a.Made {
				t.Fatalf("%s: %+v", who, a)
			}
			lines := reads("paused by "+who, 1).Journal.Lines
			if l := lines[len(lines)-1]; l.Verdict != series.VerdictControl || l.Node != who {
				t.Errorf("the last line is %+v, want the change by %s", l, who)
			}
		}
	})
}

// A store that does not list its nodes.
type nodeless struct{ *flakyStore }

func (nodeless) Members(context.Context) (series.MemberList, error) {
	return series.MemberList{}, errSilent
}

// While only the nodes are not known the jobs are read and shown, and the status names the missing list.
func TestNodesNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProjection(nodeless{opened(t, "report")})
		for range 2 {
			now := p.Refresh(t.Context())
			if now.Down != "" || now.Job("report").State != OK || !now.AsOf.Equal(time.Now()) {
				t.Errorf("%q, %s, as of %v", now.Down, now.Job("report").State, now.AsOf)
			}
			if st := now.Status(); st.State != Unknown || len(st.Needs) != 1 || st.Needs[0].Text != "which nodes live is not known: connection refused" {
				t.Errorf("%+v", st)
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// The list of jobs is read again with the first answer after an outage: a job that was added
// meanwhile is there at once, also on a store that does not name the jobs that have changed.
func TestJobsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "report")
		p := newProjection(struct{ Store }{s})
		p.Refresh(t.Context())
		s.silent.Store(true)
		p.Refresh(t.Context())
		s.Open(t.Context(), []series.OpenRequest{{Key: "sendSms", Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC"}})
		s.silent.Store(false)
		if now := p.Refresh(t.Context()); now.Job("sendSms") == nil {
			t.Errorf("the jobs are %v", now.Count())
		}
	})
}

// The cost of a refresh does not grow with the length of an outage: with nothing new in the store no journal is read.
func TestDeadFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{flakyStore: opened(t, "a", "b")}
		p := newProjection(s)
		time.Sleep(24 * time.Hour)
		now := p.Refresh(t.Context())
		if late := now.Overdue(); len(late) != 2 || late[0].Ticks != 86_400-12 {
			t.Errorf("%+v", late)
		}
		read := s.journals.Load()
		time.Sleep(time.Minute)
		now = p.Refresh(t.Context())
		if late := now.Overdue(); len(late) != 2 || late[0].Ticks != 86_460-12 || s.journals.Load() != read {
			t.Errorf("%+v, %d journals were read", late, s.journals.Load()-read)
		}
	})
}
