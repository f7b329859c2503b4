package renew_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// newKeeper returns a keeper of leases that a store renews for 30 seconds.
func newKeeper() *renew.Keeper[string] {
	return renew.New(renew.Config[string]{
		Share: func(string) renew.Sharing { return renew.Sharing{} },
		Renew: func(_ context.Context, refs []string) []renew.Renewal {
			answers := make([]renew.Renewal, len(refs))
			for i := range answers {
				answers[i] = renew.Renewal{Alive: true, Left: 30 * time.Second}
			}
			return answers
		},
	})
}

// granted returns a lease that was granted now, for as long as was requested.
func granted(k *renew.Keeper[string], ttl time.Duration) *renew.Lease[string] {
	s := new(renew.Lease[string])
	k.Begin(s, context.Background(), "k", renew.Grant{TTL: ttl, Left: ttl, Sent: time.Now()})
	k.Add(k.Now(), s)
	return s
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A process that could not run for a while finds its lease lost by the first look,
// which says by how much it came late; a renewal that came first says that.
func TestWhyLostLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		late := granted(k, 30*time.Second)
		late.TrustEnded(5 * time.Second)
		wantErr(t, "check", late.Check(), driver.ErrLost)
		if cause := context.Cause(late.Context()); !strings.HasSuffix(cause.Error(), "; this process noticed it 5s late") {
			t.Errorf("the cause is %q", cause)
		}
		renewed := granted(k, 30*time.Second)
		renewed.TrustEnded(1200 * time.Millisecond)
		renewed.RenewedLate()
		if cause := context.Cause(renewed.Context()); !errors.Is(cause, driver.ErrLost) || !strings.HasSuffix(cause.Error(), ": a renewal was answered 1.2s too late") {
			t.Errorf("the cause is %q", cause)
		}
		slept := k.Suspended()
		suspended := granted(k, 30*time.Second)
		slept.Store(int64(time.Minute))
		wantErr(t, "check", suspended.Check(), driver.ErrLost)
		if cause := context.Cause(suspended.Context()); !strings.HasSuffix(cause.Error(), ": this machine was suspended, or its clock was put forward") {
			t.Errorf("the cause is %q", cause)
		}
	})
}

// A renewal that is answered when the trust has ended changes nothing any more,
// though the timer has not fired yet: a Check that has returned ErrLost returns it for good.
func TestLateRenewalRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := granted(newKeeper(), 30*time.Second)
		lease.RenewedLate()
		if err := lease.Check(); !errors.Is(err, driver.ErrLost) {
			t.Errorf("check: %v, want driver.ErrLost", err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, driver.ErrLost) {
			t.Errorf("the context ended with %v, want driver.ErrLost", cause)
		}
	})
}

// A wall clock that was put back by an hour shows a suspension of ten minutes from the
// next renewal on.
func TestCheckNoticesASuspensionAfterTheClockWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		slept := k.Suspended()
		lease := granted(k, 30*time.Second)
		lease.GrantedAhead(time.Hour)
		time.Sleep(11 * time.Second)
		synctest.Wait() // it was renewed
		wantErr(t, "check", lease.Check(), nil)
		slept.Store(int64(10 * time.Minute))
		wantErr(t, "check", lease.Check(), driver.ErrLost)
	})
}

// A renewal is answered after the one that was sent after it: the trust that the later one gave
// stays.
func TestLateAnswerTakesNoTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := granted(newKeeper(), 30*time.Second)
		sent := time.Now()
		time.Sleep(time.Second)
		answer := renew.Renewal{Alive: true, Left: 30 * time.Second}
		lease.Renewed(answer, time.Now())
		trusted := lease.Deadline()
		lease.Renewed(answer, sent)
		if got := lease.Deadline(); !got.Equal(trusted) {
			t.Errorf("the deadline moved by %v", got.Sub(trusted))
		}
	})
}

// A store that renews one lease at a time and is silent gets six renewals of a lease, however short
// its trust has become.
func TestSilentStoreHasFewRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		k := renew.New(renew.Config[string]{
			Share:  func(string) renew.Sharing { return renew.Sharing{} },
			Singly: true,
			Renew: func(ctx context.Context, _ []string) []renew.Renewal {
				sent.Add(1)
				<-ctx.Done()
				return []renew.Renewal{{Err: ctx.Err()}}
			},
		})
		lease := granted(k, 30*time.Second)
		<-lease.Context().Done()
		wantErr(t, "cause", context.Cause(lease.Context()), driver.ErrLost)
		if n := sent.Load(); n != 6 {
			t.Errorf("%d renewals, want 6", n)
		}
		time.Sleep(time.Minute) // requests end
	})
}

// RenewNow renews a lease at once. While a renewal is in flight it sends none, however often it is
// called: one follows the answer.
func TestRenewNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests, answer := 0, make(chan bool)
		k := renew.New(renew.Config[string]{
			Share: func(string) renew.Sharing { return renew.Sharing{} },
			Renew: func(_ context.Context, refs []string) []renew.Renewal {
				requests++
				<-answer
				answers := make([]renew.Renewal, len(refs))
				for i := range answers {
					answers[i] = renew.Renewal{Alive: true, Left: 30 * time.Second}
				}
				return answers
			},
		})
		s := granted(k, 30*time.Second)
		now := func(match bool) {
			k.RenewNow(func(string) bool { return match })
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if now(false); requests != 0 {
			t.Errorf("%d renewals of another lease", requests)
		}
		for range 10 {
			now(true)
		}
		if requests != 1 {
			t.Errorf("%d renewals are in flight after 10 notices, want 1", requests)
		}
		for i := range 2 {
			answer <- true
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if requests != 2 {
				t.Errorf("%d renewals after answer %d, want 2", requests, i+1)
			}
		}
		s.End()
		time.Sleep(time.Minute)
	})
}

// A renewal that fails at once is repeated a second later. The cause of the loss has the beginning of the
// text of the last error, unless an answer has followed the error.
func TestRenewalsThatFail(t *testing.T) {
	const ok, fails, silent = "ok", "fails", "silent"
	for _, c := range []struct {
		answers []string // the last one is repeated
		sent    []time.Duration
		end     string // of the cause
	}{
		{[]string{fails}, []time.Duration{10 * time.Second, 11 * time.Second, 12 * time.Second}, " 27s: " + strings.Repeat("é", 256) + "…"},
		{[]string{fails, ok}, []time.Duration{10 * time.Second, 11 * time.Second, 21 * time.Second}, ""},
		{[]string{fails, ok, silent}, []time.Duration{10 * time.Second, 11 * time.Second, 21 * time.Second}, " within 27s"},
	} {
		t.Run(strings.Join(c.answers, "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var sent []time.Duration
				k := renew.New(renew.Config[string]{
					Share: func(string) renew.Sharing { return renew.Sharing{} },
					Renew: func(ctx context.Context, _ []string) []renew.Renewal {
						mu.Lock()
						sent = append(sent, time.Since(began))
						answer := c.answers[min(len(sent), len(c.answers))-1]
						mu.Unlock()
						switch answer {
						case fails:
							return []renew.Renewal{{Err: errors.New(strings.Repeat("é", 300))}}
						case silent:
							<-ctx.Done()
						}
						return []renew.Renewal{{Alive: true, Left: 30 * time.Second}}
					},
				})
				lease := granted(k, 30*time.Second)
				time.Sleep(90 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(sent[:len(c.sent)], c.sent) {
					t.Errorf("renewals were sent after %v, want %v", sent, c.sent)
				}
				if cause := context.Cause(lease.Context()); (cause != nil) != (c.end != "") || cause != nil && !strings.HasSuffix(cause.Error(), c.end) {
					t.Errorf("the cause is %v, want its end to be %q", cause, c.end)
				}
				lease.End()
			})
		})
	}
}
