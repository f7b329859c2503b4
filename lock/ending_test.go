package lock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
)

// An outage is a store that endings do not reach, or that answers them late.
type outage struct {
	*faulty
	mu       sync.Mutex
	down     bool
	hangs    bool // then requests that do not reach it have no answer either
	answers  time.Duration
	requests int // with endings
	now      int // of them are on their way
	most     int // were at once
}

func (s *outage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// counts are how many requests there were, and at most at once.
func (s *outage) counts() (requests, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.most
}

func (s *outage) ReleaseRuns(ctx context.Context, es []lock.Ending) []lock.Ended {
	var down, hangs bool
	var answers time.Duration
	s.set(func() {
		s.requests++
		s.now++
		s.most = max(s.most, s.now)
		down, hangs, answers = s.down, s.hangs, s.answers
	})
	defer s.set(func() { s.now-- })
	if down {
		err := errNetwork
		if hangs {
			<-ctx.Done()
			err = ctx.Err()
		}
		return slices.Repeat([]lock.Ended{{Err: err}}, len(es))
	}
	out := s.Store.ReleaseRuns(context.WithoutCancel(ctx), es)
	select {
	case <-time.After(answers):
		return out
	case <-ctx.Done():
		return slices.Repeat([]lock.Ended{{Err: ctx.Err()}}, len(es))
	}
}

// ended ends leases as done, one after the other.
func ended(ctx context.Context, leases []*lock.Lease, apart time.Duration) endings {
	ends := make(endings, len(leases))
	for _, s := range leases {
		s.End(ctx, lock.Ending{How: lock.Done, Outcome: lock.OutcomeOK, OK: true}, ends)
		time.Sleep(apart)
	}
	return ends
}

// What is known of runs is kept however long the store is away, long after their
// leases: it is told within a moment of its return. Meanwhile one request at a time asks.
func TestEndingsAreKept(t *testing.T) {
	for name, hangs := range map[string]bool{"refused": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &outage{faulty: newFaulty(), down: true, hangs: hangs}
				leases := runs(t, lock.New(store, "a"), store, slices.Repeat([]time.Duration{time.Second}, 11)...)
				ends := ended(t.Context(), leases, 300*time.Millisecond)
				time.Sleep(10 * time.Minute)
				if len(ends) != 0 {
					t.Errorf("%d endings were answered by a store that is away: %+v", len(ends), <-ends)
				}
				asked := 0
				store.set(func() { asked, store.most, store.down = store.requests, 0, false })
				if most := 10*60*4 + 50; asked > most {
					t.Errorf("%d requests in ten minutes, want at most %d", asked, most)
				}
				time.Sleep(2*time.Second + 300*time.Millisecond) // the silent one is waited for, and a pause
				for range leases {
					select {
					case e := <-ends:
						if !e.Ended || e.Err != nil {
							t.Errorf("an ending was answered %+v", e)
						}
					default:
						t.Fatal("an ending has no answer")
					}
				}
				store.set(func() {
					if store.requests > asked+2 || store.most > 1 {
						t.Errorf("%d requests when the store was back, %d at once", store.requests-asked, store.most)
					}
				})
			})
		})
	}
}

// A store that is slow, but within the time of a request, is asked once for each ending.
func TestSlowEndings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{faulty: newFaulty(), answers: 2500 * time.Millisecond}
		l := lock.New(store, "a")
		l.EndTimeout(5 * time.Second)
		leases := runs(t, l, store, slices.Repeat([]time.Duration{time.Second}, 11)...)
		ends := ended(t.Context(), leases, 400*time.Millisecond)
		time.Sleep(10 * time.Second)
		if requests, most := store.counts(); len(ends) != len(leases) || requests > len(leases) || most > 8 {
			t.Errorf("%d of %d endings have an answer after %d requests, %d at once", len(ends), len(leases), requests, most)
		}
	})
}

// While all requests are on their way, endings wait for one to return, and are sent
// together then.
func TestEndingsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{faulty: newFaulty(), answers: time.Second}
		leases := runs(t, lock.New(store, "a"), store, slices.Repeat([]time.Duration{time.Minute}, 60)...)
		ends := ended(t.Context(), leases, 10*time.Millisecond)
		time.Sleep(10 * time.Second)
		if requests, most := store.counts(); len(ends) != len(leases) || requests != 9 || most != 8 {
			t.Errorf("%d of %d endings have an answer after %d requests, %d at once; want 9, 8 at once", len(ends), len(leases), requests, most)
		}
	})
}

// The end of the context ends the repeating, and is told as doubt.
func TestEndingsAreGivenUp(t *testing.T) {
	for name, hangs := range map[string]bool{"refused": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &outage{faulty: newFaulty(), down: true, hangs: hangs}
				ctx, stop := context.WithCancel(t.Context())
				ends := ended(ctx, runs(t, lock.New(store, "a"), store, time.Second, time.Second), 0)
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Second)
				asked := 0
				store.set(func() { asked = store.requests })
				for range 2 {
					if e := <-ends; e.Ended || e.Err == nil || errors.Is(e.Err, lock.ErrLost) {
						t.Errorf("an ending was answered %+v, want doubt", e)
					}
				}
				time.Sleep(time.Hour)
				store.set(func() {
					if store.requests != asked {
						t.Errorf("%d requests after the end of the context", store.requests-asked)
					}
				})
			})
		})
	}
}
