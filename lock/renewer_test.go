package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// runs claims one run for each TTL, all in one batch.
func runs(t *testing.T, l *lock.Claimer, store series.Numbered, ttls ...time.Duration) (leases []*lock.Lease) {
	t.Helper()
	cs := openSeries(t, l, store, len(ttls))
	for i := range cs {
		cs[i].TTL = ttls[i]
	}
	for i, a := range l.Claim(t.Context(), cs) {
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d was answered %+v", i, a)
		}
		leases = append(leases, a.Lease)
	}
	return leases
}

// wantTrusted wants leases to be trusted.
func wantTrusted(t *testing.T, leases []*lock.Lease) {
	t.Helper()
	for _, s := range leases {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v: %v", s.Key(), err, context.Cause(s.Context()))
		}
	}
}

// letGo stops the renewal of leases, and lets requests that are on their way end.
func letGo(leases []*lock.Lease) {
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
				leases := runs(t, l.Claimer(), store, test.ttls...)
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

// Leases of one TTL share a request, leases of different TTLs do not.
func TestRenewalsByTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		leases := runs(t, lock.New(store, "a").Claimer(), store, time.Second, 1020*time.Millisecond, time.Second)
		time.Sleep(500 * time.Millisecond)
		if n := store.renewals.Load(); n != 2 {
			t.Errorf("%d renewal requests for two TTLs, want 2", n)
		}
		wantTrusted(t, leases)
		letGo(leases)
	})
}

// sharded is a store whose series live in shards, by the last byte of their keys.
type sharded struct{ *faulty }

func (s sharded) Shards() int          { return 256 }
func (s sharded) Shard(key string) int { return int(key[len(key)-1]) }

// Leases of one TTL in different shards share no request: one shard that is silent
// holds up no other.
func TestRenewalsByShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sharded{newFaulty()}
		leases := runs(t, lock.New(store, "a").Claimer(), store, time.Second, time.Second, time.Second)
		time.Sleep(500 * time.Millisecond)
		if n := store.renewals.Load(); n != 3 {
			t.Errorf("%d renewal requests for three shards, want 3", n)
		}
		letGo(leases)
	})
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
	for name, take := range map[string]func(*testing.T, *lock.Locker, *late) []*lock.Lease{
		"TryAcquire": func(t *testing.T, l *lock.Locker, _ *late) []*lock.Lease {
			return []*lock.Lease{acquire(t, l, "k", lock.Options{TTL: ttl})}
		},
		"Acquire": func(t *testing.T, l *lock.Locker, _ *late) []*lock.Lease {
			s, err := l.Acquire(t.Context(), "k", lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return []*lock.Lease{s}
		},
		"Acquire by polling": func(t *testing.T, _ *lock.Locker, store *late) []*lock.Lease {
			s, err := lock.New(plainOnly{store}, "a").Acquire(t.Context(), "k", lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return []*lock.Lease{s}
		},
		"AcquireAll": func(t *testing.T, l *lock.Locker, _ *late) []*lock.Lease {
			s, err := l.AcquireAll(t.Context(), abc, lock.Options{TTL: ttl})
			wantErr(t, "acquire", err, nil)
			return s.All()
		},
		"Claim": func(t *testing.T, l *lock.Locker, store *late) []*lock.Lease {
			return runs(t, l.Claimer(), store, ttl)
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

// A process that could not run for a while finds its lease lost by the first look,
// which says by how much it came late; a renewal that came first says that.
func TestWhyLostLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(newFaulty(), "a")
		late := acquire(t, l, "k", lock.Options{})
		late.TrustEnded(5 * time.Second)
		wantErr(t, "check", late.Check(), lock.ErrLost)
		if cause := context.Cause(late.Context()); !strings.HasSuffix(cause.Error(), "; this process noticed it 5s late") {
			t.Errorf("the cause is %q", cause)
		}
		renewed := acquire(t, l, "j", lock.Options{})
		renewed.TrustEnded(1200 * time.Millisecond)
		renewed.RenewedLate()
		if cause := context.Cause(renewed.Context()); !errors.Is(cause, lock.ErrLost) || !strings.HasSuffix(cause.Error(), ": a renewal was answered 1.2s too late") {
			t.Errorf("the cause is %q", cause)
		}
		slept := l.Suspended()
		suspended := acquire(t, l, "i", lock.Options{})
		slept.Store(int64(time.Minute))
		wantErr(t, "check", suspended.Check(), lock.ErrLost)
		if cause := context.Cause(suspended.Context()); !strings.HasSuffix(cause.Error(), ": this machine was suspended, or its clock was put forward") {
			t.Errorf("the cause is %q", cause)
		}
	})
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
			leases := append(runs(t, l.Claimer(), store, ttl), acquire(t, l, "plain", lock.Options{TTL: ttl}))
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
