package guard_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cronce/cronce/lock/guard"
)

func TestGuard(t *testing.T) {
	var g guard.Guard
	boom := errors.New("boom")
	for i, c := range []struct {
		fence   int64
		fails   error
		want    error
		highest int64
	}{
		{5, nil, nil, 5},
		{5, nil, nil, 5},
		{4, nil, guard.ErrStale, 5},
		{9, boom, boom, 9},
		{8, nil, guard.ErrStale, 9},
	} {
		called := false
		err := g.Do(c.fence, func() error { called = true; return c.fails })
		if !errors.Is(err, c.want) || called == errors.Is(err, guard.ErrStale) || g.Highest() != c.highest {
			t.Errorf("write %d: %v, called %v, highest %d, want %v and %d", i, err, called, g.Highest(), c.want, c.highest)
		}
	}
	if err := g.Do(0, func() error { t.Error("written"); return nil }); err == nil {
		t.Error("a write without a fence was done")
	}
}

// With many concurrent writers the written value never goes back.
func TestGuardConcurrent(t *testing.T) {
	var g guard.Guard
	var wg sync.WaitGroup
	last := int64(0)
	for i := range int64(100) {
		wg.Go(func() {
			_ = g.Do(i+1, func() error {
				if i+1 < last {
					t.Errorf("%d was written after %d", i+1, last)
				}
				last = i + 1
				return nil
			})
		})
	}
	wg.Wait()
	if last != 100 || g.Highest() != 100 {
		t.Errorf("the last write is %d, the highest fence %d", last, g.Highest())
	}
}

func TestCondition(t *testing.T) {
	if got := guard.Condition("i.fence", "?"); got != "(i.fence IS NULL OR i.fence <= ?)" {
		t.Error(got)
	}
}

type result struct {
	n   int64
	err error
}

func (r result) RowsAffected() (int64, error) { return r.n, r.err }
func (r result) LastInsertId() (int64, error) { return 0, nil }

func TestWritten(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		result
		want error
	}{{result{1, nil}, nil}, {result{0, nil}, guard.ErrStale}, {result{0, boom}, boom}} {
		if err := guard.Written(c.result); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.result, err, c.want)
		}
	}
	if fmt.Sprint(guard.Written(result{1, nil})) != "<nil>" {
		t.Error("a write was refused")
	}
}
