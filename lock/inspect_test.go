package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// An answer to a question that comes within 40 ms of the end of the caller's context is the caller's, and a
// doubt has the cause of that end, also if it comes a moment before it.
func TestAnswersToQuestionsAtTheEnd(t *testing.T) {
	for _, name := range []string{"Holders", "Inspect", "Forcings"} {
		for _, c := range []struct {
			took time.Duration
			err  error // of the store
		}{{time.Second + 20*time.Millisecond, nil}, {time.Second + 20*time.Millisecond, errNetwork}, {time.Second, errNetwork}, {time.Millisecond, lock.ErrUnsupported}} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := lock.New(&answersAfter{Store: new(memlock.Store), took: c.took, err: c.err}, "a")
					err := questions(nil)[name](ctxFor(t, time.Second), l)
					doubt := errors.Is(c.err, errNetwork)
					if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || errors.Is(err, context.DeadlineExceeded) != doubt {
						t.Errorf("%v after %v: the caller gets %v", c.err, c.took, err)
					}
				})
			})
		}
	}
}

// answersAfter is a store that answers questions after a time, with its error if it has one.
type answersAfter struct {
	*memlock.Store
	took time.Duration
	err  error
}

func (s *answersAfter) Holders(context.Context, string) ([]driver.Holder, error) {
	time.Sleep(s.took)
	return nil, s.err
}

func (s *answersAfter) Inspect(context.Context, string) (driver.KeyState, error) {
	time.Sleep(s.took)
	return driver.KeyState{}, s.err
}

func (s *answersAfter) ForceRecords(context.Context, string) ([]driver.ForceRecord, error) {
	time.Sleep(s.took)
	return nil, s.err
}
