package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// A kept lease is a plain lease or a numbered one.
type kept interface {
	Check() error
	Context() context.Context
	Deadline() time.Time
	Abandon(cause error)
}

// runs claims one run for each TTL.
func runs(t *testing.T, store interface {
	driver.Driver
	series.Numbered
}, replicas int, ttls ...time.Duration) (leases []kept) {
	t.Helper()
	l := claimer.New(store, "a")
	for i, ttl := range ttls {
		key := fmt.Sprint("job-", i)
		mark := store.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "a"}})[0].Mark
		time.Sleep(time.Millisecond)
		a := l.Claim(t.Context(), []series.Claim{{Key: key, Owner: l.Owner(), Number: mark + 1, After: mark, TTL: ttl,
			Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber, Replicas: replicas}})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d was answered %+v", i, a)
		}
		leases = append(leases, a.Lease)
	}
	return leases
}

// wantTrusted wants leases to be trusted.
func wantTrusted[L kept](t *testing.T, leases []L) {
	t.Helper()
	for i, s := range leases {
		if err := s.Check(); err != nil {
			t.Errorf("lease %d: %v: %v", i, err, context.Cause(s.Context()))
		}
	}
}

// letGo stops the renewal of leases, and lets requests that are on their way end.
func letGo[L kept](leases []L) {
	for _, s := range leases {
		s.Abandon(lock.ErrReleased)
	}
	time.Sleep(time.Minute)
}

// A store that is slow to answer costs no lease, as long as the answers come while the
// lease is trusted: neither does a short lease shorten the time of a long one's
// renewal, nor is a renewal given up before its lease.
func TestSlowRenewals(t *testing.T) {
	const short, long = 500 * time.Millisecond, 30 * time.Second
	for name, test := range map[string]struct {
		ttls   []time.Duration
		answer time.Duration
	}{
		"one long beside five short": {[]time.Duration{long, short, short, short, short, short}, 200 * time.Millisecond},
		"three of three seconds":     {[]time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}, 1100 * time.Millisecond},
		"one of three seconds":       {[]time.Duration{3 * time.Second}, 1650 * time.Millisecond},
		"one of thirty seconds":      {[]time.Duration{long}, 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				store.before = func(op string) {
					if op == "renew" {
						time.Sleep(test.answer)
					}
				}
				l := lock.New(store, "a")
				leases := runs(t, store, 0, test.ttls...)
				for _, ttl := range test.ttls {
					leases = append(leases, acquire(t, l, fmt.Sprint("plain-", len(leases)), lock.Options{TTL: ttl}))
				}
				for range 20 {
					time.Sleep(9 * time.Second)
					wantTrusted(t, leases)
				}
				letGo(leases)
			})
		})
	}
}

// late is a store that carries out requests at once, and answers them after a delay.
type late struct {
	*faulty
	mu    sync.Mutex
	delay time.Duration
}

func (s *late) by(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

func (s *late) wait() {
	s.mu.Lock()
	d := s.delay
	s.mu.Unlock()
	time.Sleep(d)
}

func (s *late) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	defer s.wait()
	return s.faulty.Acquire(ctx, a)
}

func (s *late) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	defer s.wait()
	return s.faulty.AcquireAll(ctx, as)
}

func (s *late) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	defer s.wait()
	return s.faulty.Wait(ctx, a)
}

func (s *late) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	defer s.wait()
	return s.faulty.RenewAll(ctx, hs)
}

func (s *late) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	defer s.wait()
	return s.faulty.Renew(ctx, h)
}

func (s *late) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	defer s.wait()
	return s.Store.Claim(context.WithoutCancel(ctx), cs)
}

func (s *late) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	defer s.wait()
	return s.faulty.RenewRuns(ctx, rs)
}

// Trust counts from when a request was sent, of each kind of request: time that the
// answer spends on its way does not count for the holder.
func TestTrustCountsFromTheRequest(t *testing.T) {
	const ttl, delay, margin = 4 * time.Second, 800 * time.Millisecond, 400 * time.Millisecond
	for name, take := range map[string]func(*testing.T, *lock.Locker, *late) []kept{
		"TryAcquire": func(t *testing.T, l *lock.Locker, _ *late) []kept {
			return []kept{acquire(t, l, "k", lock.Options{TTL: ttl})}
		},
		"Acquire": func(t *testing.T, l *lock.Locker, _ *late) []kept {
			s, err := l.Acquire(t.Context(), "k", lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return []kept{s}
		},
		"Acquire by polling": func(t *testing.T, _ *lock.Locker, store *late) []kept {
			s, err := lock.New(plainOnly{store}, "a").Acquire(t.Context(), "k", lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return []kept{s}
		},
		"AcquireAll": func(t *testing.T, l *lock.Locker, _ *late) []kept {
			s, err := l.AcquireAll(t.Context(), abc, lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return []kept{s.All()[0], s.All()[1], s.All()[2]}
		},
		"Claim": func(t *testing.T, _ *lock.Locker, store *late) []kept {
			return runs(t, store, 0, ttl)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &late{faulty: newFaulty()}
				store.by(delay)
				leases := take(t, lock.New(store, "a"), store)
				lease := leases[len(leases)-1]
				if left := time.Until(lease.Deadline()); left != ttl-delay-margin {
					t.Errorf("trusted for %v after an answer that came %v late, want %v", left, delay, ttl-delay-margin)
				}
				for granted := lease.Deadline(); lease.Deadline().Equal(granted); { // until it was renewed
					time.Sleep(time.Millisecond)
				}
				if left := time.Until(lease.Deadline()); left > ttl-delay-margin || left < ttl-delay-margin-time.Millisecond {
					t.Errorf("trusted for %v after a renewal that came %v late, want %v", left, delay, ttl-delay-margin)
				}
				time.Sleep(10 * ttl)
				wantTrusted(t, leases)
				letGo(leases)
			})
		})
	}
}

// A renewal is answered after the one that was sent after it: the trust that the later
// one gave stays.
func TestLateAnswerTakesNoTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		slow := times(1, "renew")
		store.before = func(op string) {
			if slow(op) {
				time.Sleep(time.Second)
			}
		}
		lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 4 * time.Second})
		for last, end := lease.Deadline(), time.Now().Add(5*time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if now := lease.Deadline(); now.Before(last) {
				t.Fatalf("after %d renewals the deadline went back by %v", store.renewals.Load(), last.Sub(now))
			} else {
				last = now
			}
		}
		letGo([]*lock.Lease{lease})
	})
}

// The cause of a lost lease says why it was lost.
func TestWhyLost(t *testing.T) {
	for name, test := range map[string]struct {
		fixed  bool
		before func()
		lose   bool
		want   string
	}{
		"not renewed":    {fixed: true, want: "its time is over, and it is not renewed"},
		"no answer":      {before: func() { time.Sleep(time.Hour) }, want: "no renewal was answered within 2.7s"},
		"errors":         {lose: true, want: "no renewal was answered within 2.7s: " + errNetwork.Error()},
		"a late renewal": {before: func() { time.Sleep(1701 * time.Millisecond) }, want: "no renewal was answered within 2.7s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				store.before = func(op string) {
					if op == "renew" && test.before != nil {
						test.before()
					}
				}
				store.lose = func(op string) bool { return op == "renew" && test.lose }
				lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: 3 * time.Second, Fixed: test.fixed})
				<-lease.Context().Done()
				cause := context.Cause(lease.Context())
				wantErr(t, "cause", cause, lock.ErrLost)
				if want := lock.ErrLost.Error() + ": " + test.want; cause.Error() != want {
					t.Errorf("the cause is %q, want %q", cause, want)
				}
				time.Sleep(2 * time.Hour) // requests that hang end
			})
		})
	}
}

// A store that is silent for as long as a lease is trusted gets at most six renewals of it: each
// repeat comes when half of the remaining trust is gone. After half of the trust there are two.
func TestSilentStoreHasFewRenewals(t *testing.T) {
	for _, ttl := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			var silent atomic.Bool
			store.before = func(op string) {
				if op == "renew" && silent.Load() {
					time.Sleep(ttl)
				}
			}
			l := lock.New(store, "a")
			leases := append(runs(t, store, 0, ttl), acquire(t, l, "plain", lock.Options{TTL: ttl}))
			time.Sleep(ttl / 4)
			silent.Store(true)
			before := store.renewals.Load()
			time.Sleep(ttl * 9 / 20) // a repeat comes at about 0.6 of the TTL, the next one at 0.75
			if n := store.renewals.Load() - before; n != 4 {
				t.Errorf("TTL %v: %d renewals of two leases, want 2 of each", ttl, n)
			}
			time.Sleep(ttl)
			if n := store.renewals.Load() - before; n > 12 {
				t.Errorf("TTL %v: %d renewals of two leases, want at most 6 of each", ttl, n)
			}
			silent.Store(false)
			letGo(leases)
		})
	}
}
