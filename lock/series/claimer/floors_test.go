package claimer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// A counting store notes the floors that claims come with, and may answer with a
// fence of its own.
type counting struct {
	*counted
	floors map[string]int64
	fence  int64 // 0: the store's
}

func (s *counting) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	for _, c := range cs {
		s.floors[c.Key] = c.Fence
	}
	answers := s.Store.Claim(ctx, cs)
	for i := range answers {
		if s.fence != 0 && answers[i].Kind == series.KindGranted {
			answers[i].Fence = s.fence
		}
	}
	return answers
}

// A claim comes with the highest fence of its own series that this process was
// granted, or with the one that its caller knows of; a gap of another series is none
// of its business.
func TestClaimsComeWithTheirFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{counted: new(counted), floors: map[string]int64{}}
		l := claimer.New(store, "a")
		cs := openSeries(t, l, store, 2)
		first := l.Claim(t.Context(), cs)
		if store.floors["job-0"] != 0 || first[0].Kind != series.KindGranted || first[1].Kind != series.KindGranted {
			t.Fatalf("the first claims came with %v and were answered %+v", store.floors, first)
		}
		time.Sleep(time.Second)
		for i := range cs {
			first[i].Lease.End()
			store.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: first[i].Lease.Ref, State: series.RunDone, Outcome: series.OutcomeOK, OK: true}})
			cs[i].Owner, cs[i].After, cs[i].Number, cs[i].Fence = l.Owner(), cs[i].Number, cs[i].Number+1000, 0
		}
		cs[1].Fence = first[1].Fence + 5000
		synctest.Wait()
		l.Claim(t.Context(), cs)
		for i, want := range []int64{first[0].Fence, first[1].Fence + 5000} {
			if got := store.floors[fmt.Sprintf("job-%d", i)]; got != want {
				t.Errorf("the second claim of job %d came with the floor %d, want %d", i, got, want)
			}
		}
	})
}

// A claim that is granted with a fence more than a day ahead of the store's clock is
// doubt, and the fence is not learned.
func TestAbsurdFenceIsNotLearned(t *testing.T) {
	const day = 24 * 60 * 60 * 1_000_000 // µs
	for _, c := range []struct {
		ahead int64
		want  series.Kind
	}{{day, series.KindGranted}, {day + 1000, series.KindUnknown}, {driver.MaxNumber, series.KindUnknown}} {
		t.Run(fmt.Sprint(c.ahead), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &counting{counted: new(counted), floors: map[string]int64{}}
				l := claimer.New(store, "a")
				cs := openSeries(t, l, store, 1)
				store.fence = min(time.Now().UnixMicro()+c.ahead, driver.MaxNumber)
				a := l.Claim(t.Context(), cs)[0]
				if a.Kind != c.want || errors.Is(a.Err, driver.ErrFence) == (c.want == series.KindGranted) {
					t.Errorf("the answer: %+v", a)
				}
				l.Claim(t.Context(), cs)
				if learned := store.floors["job-0"] != 0; learned != (c.want == series.KindGranted) {
					t.Errorf("the next claim came with the floor %d", store.floors["job-0"])
				}
			})
		})
	}
}
