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

	"github.com/cronce/cronce/lock/driver"
)

// A slowStore takes its time for each journal, and has jobs whose shard does not answer.
type slowStore struct {
	*flakyStore
	takes    time.Duration
	journals atomic.Int32
	gone     []string // of the shard that is silent
}

func (s *slowStore) Journal(ctx context.Context, key string, n int) (driver.Journal, error) {
	s.journals.Add(1)
	select {
	case <-time.After(s.takes):
		return s.flakyStore.Journal(ctx, key, n)
	case <-ctx.Done():
		return driver.Journal{}, ctx.Err()
	}
}

func (s *slowStore) Keys(ctx context.Context) ([]string, error) {
	keys, err := s.flakyStore.Keys(ctx)
	if len(s.gone) > 0 {
		return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(s.gone, key) }), errors.Join(err, errSilent)
	}
	return keys, err
}

func (s *slowStore) ReadSeries(ctx context.Context, keys []string) []driver.Series {
	all := s.flakyStore.ReadSeries(ctx, keys)
	for i, key := range keys {
		if slices.Contains(s.gone, key) {
			all[i] = driver.Series{Key: key, Err: errSilent}
		}
	}
	return all
}

// While one shard is silent its jobs stand as they did before, with their age: what is overdue stays so, in the lists
// and for the alerts, also when the list of jobs is read again. The status is not fine.
func TestSilentShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{flakyStore: opened(t, "late", "report", "there")}
		p := newProjection(s)
		time.Sleep(16 * time.Second)
		for _, job := range []string{"report", "there"} {
			s.decide(t, job, driver.OutcomeOK)
		}
		p.Refresh(t.Context())
		read := time.Now()
		s.gone = []string{"late", "report"}
		for range 4 {
			time.Sleep(12 * time.Second)
			s.decide(t, "there", driver.OutcomeOK)
			now := p.Refresh(t.Context())
			late, report := now.Job("late"), now.Job("report")
			if late == nil || report == nil || late.State != Overdue || report.State != OK || len(now.Overdue()) != 1 {
				t.Fatalf("after %v: %+v", time.Since(read), now.Count())
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
		}
		s.gone = nil
		if now := p.Refresh(t.Context()); len(now.Faults) > 0 || !now.View(now.Job("late"), false).AsOf.Equal(time.Now()) {
			t.Errorf("after it answers again: %q", now.Faults)
		}
	})
}

// A refresh that is too short for all jobs keeps what is known, takes those first whose journals were read longest
// ago, and is followed by a rest that is bounded.
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
		time.Sleep(time.Second)
		for _, job := range jobs {
			s.decide(t, job, driver.OutcomeFailed)
		}
		s.takes = 4 * time.Second // 8 at once, for 10 s
		failing := []int{16, 26}
		for _, want := range failing {
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
