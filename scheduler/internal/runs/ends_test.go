package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

var errNetwork = errors.New("network: reply lost")

// open claims numbers of new series, one for each lease, and returns the runs.
func open(t *testing.T, store *memlock.Store, ttls ...time.Duration) (runs []series.RunRef) {
	t.Helper()
	number := time.Now().Add(time.Second).Truncate(time.Second).UnixMilli()
	var cs []series.Claim
	for i, ttl := range ttls {
		key := fmt.Sprintf("job-%d", i)
		if s := store.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "a", Revision: "r"}}); s[0].Err != nil {
			t.Fatal(s[0].Err)
		}
		cs = append(cs, series.Claim{Key: key, Owner: fmt.Sprintf("a/%d", i), Number: number, After: number - 1000, TTL: ttl,
			Deadline: time.Second, Attempts: 1, Latest: number + 60_000, Revision: "r"})
	}
	time.Sleep(time.Until(time.UnixMilli(number)))
	for i, a := range store.Claim(t.Context(), cs) {
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d was answered %+v", i, a)
		}
		runs = append(runs, series.RunRef{Key: cs[i].Key, Number: number, Owner: cs[i].Owner, Fence: a.Fence, TTL: cs[i].TTL})
	}
	return runs
}

// newEnds returns a queue of ends for a store that refuses nothing.
func newEnds(store EndStore) *ends {
	return &ends{store: store, refuses: func(error) bool { return false }, answered: func(int, error) {}, timeout: 2 * time.Second}
}

// answers receives the answers to ends.
type answers chan series.EndAnswer

func (a answers) Ended(e series.EndAnswer) { a <- e }
func (answers) Refused()                   {}

func done(run series.RunRef) *series.EndRequest {
	return &series.EndRequest{RunRef: run, State: series.RunDone, Outcome: series.OutcomeOK, OK: true}
}

// An outage is a store that ends do not reach, or that answers them late.
type outage struct {
	*memlock.Store
	mu       sync.Mutex
	down     bool
	hangs    bool // then requests that do not reach it have no answer either
	delay    time.Duration
	each     time.Duration // additional time for each end
	requests int           // number of requests with ends
	now      int           // number of these that are on their way
	most     int           // the most that were on their way at once
}

func (s *outage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// counts returns the number of requests, and the most at once.
func (s *outage) counts() (requests, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.most
}

func (s *outage) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	var down, hangs bool
	var delay time.Duration
	s.set(func() {
		s.requests++
		s.now++
		s.most = max(s.most, s.now)
		down, hangs, delay = s.down, s.hangs, s.delay+time.Duration(len(es))*s.each
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
	case <-time.After(delay):
		return out
	case <-ctx.Done():
		return slices.Repeat([]series.EndAnswer{{Err: ctx.Err()}}, len(es))
	}
}

// endAll ends runs as done, one after the other.
func endAll(ctx context.Context, q *ends, runs []series.RunRef, apart time.Duration) answers {
	all := make(answers, len(runs))
	for _, run := range runs {
		q.add(ctx, 0, done(run), all, false)
		time.Sleep(apart)
	}
	return all
}

// The ends of runs are kept for however long the store is away, long after their leases, and the
// store gets them soon after its return. Meanwhile one request at a time is sent.
func TestEndingsAreKept(t *testing.T) {
	for name, hangs := range map[string]bool{"refused": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &outage{Store: &memlock.Store{}, down: true, hangs: hangs}
				leases := open(t, store.Store, slices.Repeat([]time.Duration{time.Second}, 11)...)
				ends := endAll(t.Context(), newEnds(store), leases, 300*time.Millisecond)
				time.Sleep(10 * time.Minute)
				if len(ends) != 0 {
					t.Errorf("%d endings were answered by a store that is away: %+v", len(ends), <-ends)
				}
				asked := 0
				store.set(func() { asked, store.most, store.down = store.requests, 0, false })
				if most := 10*60*4 + 50; asked > most {
					t.Errorf("%d requests in ten minutes, want at most %d", asked, most)
				}
				time.Sleep(2*time.Second + 300*time.Millisecond) // for the request without an answer, and a pause
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

// silentPartition is a store with a partition for each last byte of a key. One of the partitions does not
// answer ends, or refuses them.
type silentPartition struct {
	*memlock.Store
	partition int
	refuses   bool
}

func (s silentPartition) Partition(key string) int { return int(key[len(key)-1]) }
func (s silentPartition) Refuses(err error) bool   { return errors.Is(err, errNotPermitted) }

var errNotPermitted = errors.New("no permission")

func (s silentPartition) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	for _, e := range es {
		switch {
		case s.Partition(e.Key) != s.partition:
		case s.refuses:
			return slices.Repeat([]series.EndAnswer{{Err: errNotPermitted}}, len(es))
		default:
			<-ctx.Done()
			return slices.Repeat([]series.EndAnswer{{Err: ctx.Err()}}, len(es))
		}
	}
	return s.Store.ReleaseRuns(ctx, es)
}

// A refusable counts the answers to an end.
type refusable struct {
	mu             sync.Mutex
	ended, refused int
}

func (r *refusable) Ended(series.EndAnswer) { r.mu.Lock(); r.ended++; r.mu.Unlock() }
func (r *refusable) Refused()               { r.mu.Lock(); r.refused++; r.mu.Unlock() }

// Ends of different partitions share no request: a partition that does not answer, or refuses, delays no
// others. Each failure is reported with the partition and its error. A refused end is notified of each
// refusal, and one without an answer of none.
func TestEndingsByPartition(t *testing.T) {
	for name, refuses := range map[string]bool{"silent": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := silentPartition{Store: &memlock.Store{}, partition: '1', refuses: refuses}
				q := newEnds(store)
				q.refuses = store.Refuses
				var mu sync.Mutex
				failed, answered := map[int]int{}, map[int]int{}
				q.answered = func(partition int, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						failed[partition]++
					} else {
						answered[partition]++
					}
				}
				leases := open(t, store.Store, time.Minute, time.Minute, time.Minute)
				ctx, stop := context.WithCancel(t.Context())
				ends := make([]refusable, len(leases))
				for i, s := range leases {
					q.add(ctx, store.Partition(s.Key), done(s), &ends[i], false)
				}
				time.Sleep(20 * time.Second)
				stop()
				time.Sleep(5 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				silent := 0
				for i, s := range leases {
					partition := store.Partition(s.Key)
					e := &ends[i]
					e.mu.Lock()
					switch {
					case partition != store.partition && (e.ended != 1 || e.refused != 0 || answered[partition] != 1 || failed[partition] != 0):
						t.Errorf("partition %d: %d answers, %d refusals, notices of %d answers and %d failures", partition, e.ended, e.refused, answered[partition], failed[partition])
					case partition == store.partition && (e.ended != 1 || (e.refused > 5) != refuses || failed[partition] < 5 || answered[partition] > 0):
						t.Errorf("the partition: %d answers, %d refusals, notices of %d answers and %d failures", e.ended, e.refused, answered[partition], failed[partition])
					}
					e.mu.Unlock()
					if partition == store.partition {
						silent++
					}
				}
				if silent != 1 {
					t.Fatalf("%d leases are of the partition", silent)
				}
			})
		})
	}
}

// A store that is slow, but within the timeout of a request, gets one request for each end.
func TestSlowEndings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{Store: &memlock.Store{}, delay: 2500 * time.Millisecond}
		q := newEnds(store)
		q.timeout = 5 * time.Second
		leases := open(t, store.Store, slices.Repeat([]time.Duration{time.Second}, 11)...)
		ends := endAll(t.Context(), q, leases, 400*time.Millisecond)
		time.Sleep(10 * time.Second)
		if requests, most := store.counts(); len(ends) != len(leases) || requests > len(leases) || most > 8 {
			t.Errorf("%d of %d endings have an answer after %d requests, %d at once", len(ends), len(leases), requests, most)
		}
	})
}

// A store is back that needs more than the timeout of a request for the ends of a thousand runs. It
// gets fewer at a time, and answers all.
func TestManyEndingsAfterOutage(t *testing.T) {
	for _, each := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &outage{Store: &memlock.Store{}, down: true, each: each}
			leases := open(t, store.Store, slices.Repeat([]time.Duration{time.Minute}, 1000)...)
			ends := endAll(t.Context(), newEnds(store), leases, time.Millisecond)
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

// While the maximum of requests is on its way, ends wait for one to return, and are then sent
// together.
func TestEndingsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &outage{Store: &memlock.Store{}, delay: time.Second}
		leases := open(t, store.Store, slices.Repeat([]time.Duration{time.Minute}, 60)...)
		ends := endAll(t.Context(), newEnds(store), leases, 10*time.Millisecond)
		time.Sleep(10 * time.Second)
		if requests, most := store.counts(); len(ends) != len(leases) || requests != 9 || most != 8 {
			t.Errorf("%d of %d endings have an answer after %d requests, %d at once; want 9, 8 at once", len(ends), len(leases), requests, most)
		}
	})
}

// The end of the context stops the repeats, and the answer is doubt.
func TestEndingsAreGivenUp(t *testing.T) {
	for name, hangs := range map[string]bool{"refused": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &outage{Store: &memlock.Store{}, down: true, hangs: hangs}
				ctx, stop := context.WithCancel(t.Context())
				ends := endAll(ctx, newEnds(store), open(t, store.Store, time.Second, time.Second), 0)
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Second)
				asked := 0
				store.set(func() { asked = store.requests })
				for range 2 {
					if e := <-ends; e.Ended || e.Err == nil || errors.Is(e.Err, driver.ErrLost) {
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

// A lossy is a store whose answers to ends are lost, as lose says, after it has recorded the ends.
type lossy struct {
	*memlock.Store
	lose     func(request int) bool
	requests atomic.Int32
}

func (s *lossy) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	n := int(s.requests.Add(1))
	out := s.Store.ReleaseRuns(context.WithoutCancel(ctx), es)
	if s.lose(n) {
		return slices.Repeat([]series.EndAnswer{{Err: errNetwork}}, len(es))
	}
	return out
}

// Fifty ends share a request.
func TestEndsShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lossy{Store: &memlock.Store{}, lose: func(int) bool { return false }}
		runs := open(t, store.Store, slices.Repeat([]time.Duration{time.Minute}, 50)...)
		all := endAll(t.Context(), newEnds(store), runs, 0)
		for range runs {
			if e := <-all; !e.Ended || e.Err != nil {
				t.Errorf("an end was answered %+v", e)
			}
		}
		if store.requests.Load() != 1 {
			t.Errorf("%d requests, want 1", store.requests.Load())
		}
	})
}

// The answer to an end is lost. The end is sent again, and the store answers the same. This
// continues for longer than a lease of a second: the outage may last four.
func TestEndIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outage := time.Now().Add(5 * time.Second)
		store := &lossy{Store: &memlock.Store{}, lose: func(int) bool { return time.Now().Before(outage) }}
		all := endAll(t.Context(), newEnds(store), open(t, store.Store, time.Second), 0)
		if e := <-all; !e.Ended || e.Err != nil || store.requests.Load() < 4 {
			t.Errorf("the end was answered %+v after %d requests", e, store.requests.Load())
		}
	})
}

// An end that the store can never accept is sent once.
func TestWrongEndsAreNotRepeated(t *testing.T) {
	for _, err := range []error{&driver.ArgumentError{}, driver.ErrUnsupported} {
		synctest.Test(t, func(t *testing.T) {
			store := &wrong{err: err}
			all := endAll(t.Context(), newEnds(store), open(t, &memlock.Store{}, time.Second), 0)
			time.Sleep(time.Minute)
			if len(all) != 1 || store.requests.Load() != 1 {
				t.Errorf("%T: %d answers after %d requests, want 1 and 1", err, len(all), store.requests.Load())
			}
		})
	}
}

// A wrong is a store that finds each end wrong.
type wrong struct {
	err      error
	requests atomic.Int32
}

func (s *wrong) ReleaseRuns(_ context.Context, es []series.EndRequest) []series.EndAnswer {
	s.requests.Add(1)
	return slices.Repeat([]series.EndAnswer{{Err: s.err}}, len(es))
}

// While starts go first, ends wait together for 250 ms. An end that does not wait takes them along,
// and a flush sends them at once.
func TestEndsAreHeld(t *testing.T) {
	for name, release := range map[string]func(q *ends, run series.RunRef, to answers){
		"time passes":     nil,
		"another end":     func(q *ends, run series.RunRef, to answers) { q.add(context.Background(), 0, done(run), to, false) },
		"a drain flushes": func(q *ends, _ series.RunRef, _ answers) { q.flush() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &lossy{Store: &memlock.Store{}, lose: func(int) bool { return false }}
				runs := open(t, store.Store, slices.Repeat([]time.Duration{time.Minute}, 101)...)
				q, all, began := newEnds(store), make(answers, len(runs)), time.Now()
				for _, run := range runs[1:] {
					q.add(t.Context(), 0, done(run), all, true)
				}
				if time.Sleep(100 * time.Millisecond); store.requests.Load() != 0 {
					t.Fatalf("%d requests after 100 ms", store.requests.Load())
				}
				want := holdTime
				if release != nil {
					release(q, runs[0], all)
					want = 100*time.Millisecond + gather
				}
				for range runs[1:] {
					<-all
				}
				synctest.Wait()
				if took := time.Since(began); took > want || store.requests.Load() != 1 {
					t.Errorf("answered after %v with %d requests, want %v and 1", took, store.requests.Load(), want)
				}
			})
		})
	}
}
