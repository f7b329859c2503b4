package lock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// cutOff is a store that refuses the first request, and lets the next hang until
// its context ends.
type cutOff struct {
	*memlock.Store
	asked int
}

var errRefused = errors.New("connection refused")

func (s *cutOff) ask(ctx context.Context) error {
	if s.asked++; s.asked == 1 {
		return errRefused
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *cutOff) Acquire(ctx context.Context, _ driver.Acquisition) (driver.Grant, error) {
	return driver.Grant{}, s.ask(ctx)
}

func (s *cutOff) AcquireAll(ctx context.Context, _ []driver.Acquisition) ([]driver.Grant, error) {
	return nil, s.ask(ctx)
}

// A caller that repeats its request until its context ends gets the cause of that end and the fault
// of the store, and not the error of the last request, which was only cut off.
func TestEndKeepsTheDoubt(t *testing.T) {
	errImpatient := errors.New("the caller has had enough")
	for name, ask := range map[string]func(context.Context, *cutOff) error{
		"polling": func(ctx context.Context, s *cutOff) error {
			_, err := lock.New(plainOnly{s}, "a").Acquire(ctx, "k", lock.Options{})
			return err
		},
		"trying": func(ctx context.Context, s *cutOff) error {
			_, err := lock.New(s, "a").TryAcquire(ctx, "k", lock.Options{})
			return err
		},
		"barging": func(ctx context.Context, s *cutOff) error {
			_, err := lock.New(s, "a").Acquire(ctx, "k", lock.Options{Barge: true})
			return err
		},
		"asking for several": func(ctx context.Context, s *cutOff) error {
			_, err := lock.New(s, "a").AcquireAll(ctx, []string{"j", "k"}, lock.Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeoutCause(t.Context(), 2*time.Second, errImpatient)
				defer stop()
				s := &cutOff{Store: new(memlock.Store)}
				err := ask(ctx, s)
				wantErr(t, "the error", err, errImpatient)
				wantErr(t, "the error", err, errRefused)
				if n := strings.Count(err.Error(), errImpatient.Error()); n != 1 {
					t.Errorf("the error has its cause %d times: %v", n, err)
				}
				if s.asked != 2 {
					t.Errorf("asked %d times", s.asked)
				}
			})
		})
	}
}

// The TTL of a lease ends the repetition too: the caller gets the doubt alone.
func TestTTLKeepsTheDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := lock.New(&cutOff{Store: new(memlock.Store)}, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: time.Second})
		wantErr(t, "the error", err, errRefused)
		if want := `lock: acquire "k": connection refused`; err.Error() != want {
			t.Errorf("the error is %v, want %v: the caller's context goes on", err, want)
		}
	})
}
