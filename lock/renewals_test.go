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
	for _, h := range hs {
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

// Renewals that a server does not answer hold up none of another server, and those of long
// leases none of short ones.
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
