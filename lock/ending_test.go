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
	"github.com/cronce/cronce/lock/series"
)

// An outage is a store that endings do not reach, or that answers them late.
type outage struct {
	*faulty
	mu       sync.Mutex
	down     bool
	hangs    bool // then requests that do not reach it have no answer either
	answers  time.Duration
	each     time.Duration // more for each ending
	requests int           // with endings
	now      int           // of them are on their way
	most     int           // were at once
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

func (s *outage) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	var down, hangs bool
	var answers time.Duration
	s.set(func() {
		s.requests++
		s.now++
		s.most = max(s.most, s.now)
		down, hangs, answers = s.down, s.hangs, s.answers+time.Duration(len(es))*s.each
	})
	defer s.set(func() { s.now-- })
	if down {
		err := errNetwork
		if hangs {
			<-ctx.Done()
			err = ctx.Err()
		}
		return slices.Repeat([]series.EndAnswer{{Err: err}}, len(es))
	}
	out := s.Store.ReleaseRuns(context.WithoutCancel(ctx), es)
	select {
	case <-time.After(answers):
		return out
	case <-ctx.Done():
		return slices.Repeat([]series.EndAnswer{{Err: ctx.Err()}}, len(es))
	}
}

// ended ends leases as done, one after the other.
func ended(ctx context.Context, leases []*lock.Lease, apart time.Duration) endings {
	ends := make(endings, len(leases))
	for _, s := range leases {
		s.End(ctx, series.EndRequest{Kind: series.EndDone, Outcome: series.OutcomeOK, OK: true}, ends)
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
				leases := runs(t, lock.New(store, "a").Claimer(), store, slices.Repeat([]time.Duration{time.Second}, 11)...)
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

// silentShard is a store with a shard for each last byte of a key, one of which does not
// answer endings, or refuses them.
type silentShard struct {
	*faulty
	shard   int
	refuses bool
}

func (s silentShard) Shards() int            { return 256 }
func (s silentShard) Shard(key string) int   { return int(key[len(key)-1]) }
func (s silentShard) Refuses(err error) bool { return errors.Is(err, errNotPermitted) }

var errNotPermitted = errors.New("no permission")

func (s silentShard) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	for _, e := range es {
		switch {
		case s.Shard(e.Key) != s.shard:
		case s.refuses:
			return slices.Repeat([]series.EndAnswer{{Err: errNotPermitted}}, len(es))
		default:
			<-ctx.Done()
			return slices.Repeat([]series.EndAnswer{{Err: ctx.Err()}}, len(es))
		}
	}
	return s.Store.ReleaseRuns(ctx, es)
}

// A refusable counts what an ending was answered.
type refusable struct {
	mu             sync.Mutex
	ended, refused int
}

func (r *refusable) Ended(series.EndAnswer) { r.mu.Lock(); r.ended++; r.mu.Unlock() }
func (r *refusable) Refused()               { r.mu.Lock(); r.refused++; r.mu.Unlock() }

// Endings of different shards share no request: those of a shard that does not answer, or
// refuses, hold up no others. The notice names the shard and its error each time; a refused ending
// is notified of each refusal, and one without an answer of none.
func TestEndingsByShard(t *testing.T) {
	for name, refuses := range map[string]bool{"silent": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := silentShard{faulty: newFaulty(), shard: '1', refuses: refuses}
				l := lock.New(store, "node").Claimer()
				var mu sync.Mutex
				failed, answered := map[int]int{}, map[int]int{}
				l.OnEnd(func(shard int, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						failed[shard]++
					} else {
						answered[shard]++
					}
				})
				leases := runs(t, l, store, time.Minute, time.Minute, time.Minute)
				ctx, stop := context.WithCancel(t.Context())
				ends := make([]refusable, len(leases))
				for i, s := range leases {
					s.End(ctx, series.EndRequest{Kind: series.EndDone, Outcome: series.OutcomeOK, OK: true}, &ends[i])
				}
				time.Sleep(20 * time.Second)
				stop()
				time.Sleep(5 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				silent := 0
				for i, s := range leases {
					shard := store.Shard(s.Key())
					e := &ends[i]
					e.mu.Lock()
					switch {
					case shard != store.shard && (e.ended != 1 || e.refused != 0 || answered[shard] != 1 || failed[shard] != 0):
						t.Errorf("shard %d: %d answers, %d refusals, notices of %d answers and %d failures", shard, e.ended, e.refused, answered[shard], failed[shard])
					case shard == store.shard && (e.ended != 1 || (e.refused > 5) != refuses || failed[shard] < 5 || answered[shard] > 0):
						t.Errorf("the shard: %d answers, %d refusals, notices of %d answers and %d failures", e.ended, e.refused, answered[shard], failed[shard])
					}
					e.mu.Unlock()
					if shard == store.shard {
						silent++
					}
				}
				if silent != 1 {
					t.Fatalf("%d leases are of the shard", silent)
				}
			})
		})
	}
}

// A store that is slow, but within the time of a request, is asked once for each ending.
func TestSlowEndings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{faulty: newFaulty(), answers: 2500 * time.Millisecond}
		l := lock.New(store, "a").Claimer()
		l.EndTimeout(5 * time.Second)
		leases := runs(t, l, store, slices.Repeat([]time.Duration{time.Second}, 11)...)
		ends := ended(t.Context(), leases, 400*time.Millisecond)
		time.Sleep(10 * time.Second)
		if requests, most := store.counts(); len(ends) != len(leases) || requests > len(leases) || most > 8 {
			t.Errorf("%d of %d endings have an answer after %d requests, %d at once", len(ends), len(leases), requests, most)
		}
	})
}

// A store is back that needs longer for the ends of a thousand runs than a request may
// take: it gets fewer at a time, and answers all.
func TestManyEndingsAfterOutage(t *testing.T) {
	for _, each := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &outage{faulty: newFaulty(), down: true, each: each}
			leases := runs(t, lock.New(store, "a").Claimer(), store, slices.Repeat([]time.Duration{time.Minute}, 1000)...)
			ends := ended(t.Context(), leases, time.Millisecond)
			time.Sleep(10 * time.Second)
			asked, most := 0, 0
			store.set(func() { asked, store.most, store.down = store.requests, 0, false })
			time.Sleep(10*time.Second + 3*1000*each)
			store.set(func() { asked, most = store.requests-asked, store.most })
			if len(ends) != len(leases) || asked > 90 || most > 1 {
				t.Errorf("at %v each %d of %d endings have an answer, after %d requests, %d at once", each, len(ends), len(leases), asked, most)
			}
		})
	}
}

// While all requests are on their way, endings wait for one to return, and are sent
// together then.
func TestEndingsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{faulty: newFaulty(), answers: time.Second}
		leases := runs(t, lock.New(store, "a").Claimer(), store, slices.Repeat([]time.Duration{time.Minute}, 60)...)
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
				ends := ended(ctx, runs(t, lock.New(store, "a").Claimer(), store, time.Second, time.Second), 0)
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
