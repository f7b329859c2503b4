package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// slowly is a store that takes its time to answer renewals, and counts them. Keys that
// begin with mute are on a server of their own.
type slowly struct {
	*memlock.Store
	answer func(hs []driver.LeaseRef) time.Duration // how long an answer takes

	mu     sync.Mutex
	flying int
	asked  map[string]int // renewals of a key in flight
	counts
}

// counts counts the requests to a store.
type counts struct {
	requests int
	most     int // requests in flight at once
	mostOf   int // of one key at once
	twice    int // requests that name a key twice
}

func (s *slowly) seen() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *slowly) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	s.count(hs, 1)
	defer s.count(hs, -1)
	select {
	case <-time.After(s.answer(hs)):
		return s.Store.RenewAll(ctx, hs)
	case <-ctx.Done():
		return renewEach(ctx, hs, s.Store.Renew)
	}
}

func (s *slowly) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	r := s.RenewAll(ctx, []driver.LeaseRef{h})[0]
	return r.Grant, r.Err
}

func (s *slowly) count(hs []driver.LeaseRef, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying += by
	s.most = max(s.most, s.flying)
	s.requests += max(by, 0)
	if s.asked == nil {
		s.asked = make(map[string]int)
	}
	keys := make(map[string]bool, len(hs))
	for _, h := range hs {
		if by > 0 && keys[h.Key] {
			s.twice++
		}
		keys[h.Key] = true
		s.asked[h.Key] += by
		s.mostOf = max(s.mostOf, s.asked[h.Key])
	}
}

// Server implements driver.Distributed.
func (s *slowly) Server(key string) string { return key[:4] }

// crowd takes n leases.
func crowd(t *testing.T, l *lock.Locker, n int, key string, ttl time.Duration) (leases []*lock.Lease) {
	t.Helper()
	for i := range n {
		leases = append(leases, acquire(t, l, fmt.Sprint(key, i), lock.Options{TTL: ttl}))
	}
	return leases
}

// Ten thousand leases are renewed by few requests at once, and few in all: none is lost, and no
// renewal is repeated because its answer takes a while.
func TestManyLeasesAreRenewed(t *testing.T) {
	const n, ttl = 10000, 30 * time.Second
	for name, test := range map[string]struct {
		together       bool
		most, requests int // in 40 s
	}{
		"together":   {together: true, most: 2, requests: 5 * n / 200},
		"one by one": {most: 16, requests: 5 * n},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slowly{Store: new(memlock.Store), answer: func([]driver.LeaseRef) time.Duration { return 20 * time.Millisecond }}
				l := lock.New(plainOnly{store}, "a")
				if test.together {
					l = lock.New(store, "a")
				}
				leases := crowd(t, l, n, "many", ttl)
				time.Sleep(40 * time.Second)
				wantTrusted(t, leases)
				if c := store.seen(); c.most > test.most || c.mostOf != 1 || c.requests > test.requests {
					t.Errorf("%d requests, %d at once, %d at once of one lease, want up to %d, %d and 1", c.requests, c.most, c.mostOf, test.requests, test.most)
				}
				letGo(leases)
			})
		})
	}
}

// A store that answers nothing for most of a lease's trust gets at most six renewals of a lease at
// once, and few requests. All leases live on when it answers again.
func TestSilentStoreKeepsItsLeases(t *testing.T) {
	const n, ttl = 2000, 30 * time.Second
	for name, l := range map[string]func(*slowly) *lock.Locker{
		"together":   func(s *slowly) *lock.Locker { return lock.New(s, "a") },
		"one by one": func(s *slowly) *lock.Locker { return lock.New(plainOnly{s}, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var store *slowly
				back := time.Now().Add(20 * time.Second)
				store = &slowly{Store: new(memlock.Store), answer: func([]driver.LeaseRef) time.Duration {
					return max(10*time.Millisecond, time.Until(back))
				}}
				leases := crowd(t, l(store), n, "many", ttl)
				time.Sleep(time.Minute)
				wantTrusted(t, leases)
				if c := store.seen(); c.most > 64 || c.mostOf > 6 {
					t.Errorf("%d requests at once, %d of one lease, want up to 64 and 6", c.most, c.mostOf)
				}
				letGo(leases)
			})
		})
	}
}

// Renewals that a server does not answer delay no renewal at another server, and renewals of long
// leases delay none of short ones.
func TestSilentServerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowly{Store: new(memlock.Store), answer: func(hs []driver.LeaseRef) time.Duration {
			if hs[0].Key[:4] == "mute" || hs[0].TTL == 10*time.Minute {
				return 24 * time.Hour
			}
			return time.Millisecond
		}}
		l := lock.New(store, "a")
		silent := append(crowd(t, l, 300, "mute", 3*time.Second), crowd(t, l, 300, "live", 10*time.Minute)...)
		leases := crowd(t, l, 300, "live/", 3*time.Second)
		time.Sleep(8 * time.Minute)
		wantTrusted(t, leases)
		letGo(append(leases, silent...))
		time.Sleep(48 * time.Hour)
	})
}

// Leases that want replicas are renewed by requests of their own, so that replicas which are away cost no other lease.
func TestSilentReplicasHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowlyCopied{slowly: slowly{Store: new(memlock.Store), answer: func(hs []driver.LeaseRef) time.Duration {
			for _, h := range hs {
				if h.Replicas > 0 {
					return 24 * time.Hour
				}
			}
			return time.Millisecond
		}}}
		l := lock.New(store, "a")
		silent := acquire(t, l, "many0", lock.Options{TTL: 3 * time.Second, Replicas: 1})
		leases := crowd(t, l, 10, "many/", 3*time.Second)
		time.Sleep(time.Minute)
		wantTrusted(t, leases)
		wantErr(t, "the lease whose replica is away", silent.Check(), lock.ErrLost)
		letGo(leases)
		time.Sleep(48 * time.Hour)
	})
}

// slowlyCopied is slowly with a replica that answers whom it is asked by, but for renewals.
type slowlyCopied struct{ slowly }

func (s *slowlyCopied) Replicas(context.Context, string) (int, error) { return 1, nil }

func (s *slowlyCopied) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Replicas = 0
	return s.Store.Acquire(ctx, a)
}

func (s *slowlyCopied) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return s.Acquire(ctx, a)
}

// Of the leases of eighty servers that are due at once, those whose trust ends first are renewed first: sixty-four requests
// are in flight, and the next one is sent when one of them is answered.
func TestRenewalsInTheOrderOfTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, most, ttl = 80, 64, 30 * time.Second
		var mu sync.Mutex
		began := map[string]time.Time{}
		answers := time.Now().Add(10500 * time.Millisecond)
		store := &slowly{Store: new(memlock.Store), answer: func(hs []driver.LeaseRef) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			if len(hs) != 1 {
				t.Errorf("%d leases of different servers share a request", len(hs))
			}
			if _, known := began[hs[0].Key]; !known {
				began[hs[0].Key] = time.Now()
			}
			return max(time.Millisecond, time.Until(answers))
		}}
		l := lock.New(store, "a")
		var leases []*lock.Lease
		for i := range n {
			leases = append(leases, acquire(t, l, fmt.Sprintf("%04d", i), lock.Options{TTL: ttl}))
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(ttl / 2)
		for i, s := range leases {
			mu.Lock()
			at, first := began[s.Key()], i < most
			mu.Unlock()
			if at.IsZero() || at.Before(answers) != first {
				t.Errorf("the lease %d of %d is renewed %v before the first answers, want among the first: %v", i, n, answers.Sub(at), first)
			}
		}
		if c := store.seen(); c.most != most || c.requests != n {
			t.Errorf("%d requests, %d at once, want %d and %d", c.requests, c.most, n, most)
		}
		wantTrusted(t, leases)
		letGo(leases)
	})
}

// A lease waits for a second renewal while its lane is full. The answer to the first one comes and it is due again:
// the request that is sent then names it once.
func TestRenewalNamesALeaseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
		// The renewals of other and another, at 9.733 s and 9.803 s, keep the lane full while they are not late: until 10.733 s.
		answered := map[string]time.Time{"many": at(10000), "other": at(10700), "another": at(10700)}
		var mu sync.Mutex
		sent := map[string][]time.Duration{}
		store := &slowly{Store: new(memlock.Store), answer: func(hs []driver.LeaseRef) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			wait := time.Millisecond
			for _, h := range hs {
				sent[h.Key] = append(sent[h.Key], time.Since(began).Round(time.Millisecond))
				wait = max(wait, time.Until(answered[h.Key]))
			}
			return wait
		}}
		l := lock.New(oneServer{store}, "a")
		leases := []*lock.Lease{acquire(t, l, "many", lock.Options{TTL: 16 * time.Second})} // is due at 5.333 s, 9.867 s and, as answered, 10.667 s
		for _, key := range []string{"other", "another"} {
			time.Sleep(time.Until(at(map[string]int{"other": 4400, "another": 4470}[key])))
			leases = append(leases, acquire(t, l, key, lock.Options{TTL: 16 * time.Second}))
		}
		time.Sleep(time.Until(at(11000)))
		mu.Lock()
		got := fmt.Sprint(sent)
		mu.Unlock()
		if want := "map[another:[9.803s] many:[5.333s 10.7s] other:[9.733s]]"; got != want {
			t.Errorf("the renewals are %s, want %s", got, want)
		}
		if c := store.seen(); c.twice != 0 {
			t.Errorf("%d requests name a lease twice", c.twice)
		}
		wantTrusted(t, leases)
		letGo(leases)
	})
}

// oneServer is slowly with all keys on one server.
type oneServer struct{ *slowly }

func (oneServer) Server(string) string { return "" }
