package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// judged is a store that reports whether it is fit.
type judged struct {
	*memlock.Store
	risks []driver.Risk
	err   error
	hangs bool
}

func (j *judged) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	if j.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return j.risks, j.err
}

// Open returns a Locker, and the risks, on a store that is fit, and a Locker on a store without a
// check. It returns refusals and doubt unchanged.
func TestOpen(t *testing.T) {
	risk := driver.Risk{Topic: "persistence", Server: "s1", Text: "it forgets", Fix: "set appendonly yes"}
	down := errors.New("connection refused")
	for name, c := range map[string]struct {
		store driver.Driver
		node  string
		risks int
		err   error
		bad   bool
	}{
		"a store that cannot tell":   {store: new(memlock.Store)},
		"a fit store":                {store: &judged{Store: new(memlock.Store), risks: []driver.Risk{risk}}, risks: 1},
		"a store that is not fit":    {store: &judged{Store: new(memlock.Store), err: fmt.Errorf("evicts: %w", lock.ErrUnfit)}, err: lock.ErrUnfit},
		"doubt":                      {store: &judged{Store: new(memlock.Store), err: down}, err: down},
		"a store that hangs":         {store: &judged{Store: new(memlock.Store), hangs: true}, err: context.DeadlineExceeded},
		"no store":                   {bad: true},
		"a node of 100 bytes":        {store: new(memlock.Store), node: strings.Repeat("n", 100)},
		"a node of 101 bytes":        {store: new(memlock.Store), node: strings.Repeat("n", 101), bad: true},
		"a node that does not print": {store: new(memlock.Store), node: "a\n", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				l, risks, err := lock.Open(t.Context(), c.store, c.node)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if _, bad := errors.AsType[*lock.ArgumentError](err); bad != c.bad || !bad && !errors.Is(err, c.err) {
					t.Fatalf("the error is %v, want %v", err, c.err)
				}
				if (l == nil) != (err != nil) || len(risks) != c.risks {
					t.Errorf("%v, %d risks, %v", l, len(risks), err)
				}
				if err == nil {
					wantErr(t, "release", acquire(t, l, "k", lock.Options{}).Release(t.Context()), nil)
				}
			})
		})
	}
	if got := risk.String(); got != "s1: persistence: it forgets: set appendonly yes" {
		t.Errorf("a risk is shown as %s", got)
	}
}

// A Locker without a store is refused where it is made, and not at its first request, also if an
// interface hides that there is none.
func TestNewWithoutAStore(t *testing.T) {
	for _, none := range []driver.Driver{nil, (*memlock.Store)(nil), (*struct{ *memlock.Store })(nil)} {
		func() {
			defer func() {
				if r := recover(); r != "lock: New: the store is nil, must be a store" {
					t.Errorf("New(%T) panicked with %v", none, r)
				}
			}()
			lock.New(none, "a")
			t.Errorf("New(%T) returned", none)
		}()
		_, _, err := lock.Open(t.Context(), none, "a")
		if bad, is := errors.AsType[*lock.ArgumentError](err); !is || bad.Argument != "store" || bad.Value != "nil" {
			t.Errorf("Open(%T): %v, want the argument store", none, err)
		}
	}
}

// A program opens its Locker on a store that was asked whether it is fit.
func ExampleOpen() {
	ctx := context.Background()
	var store memlock.Store // or a driver of redislock, sqllock, zklock, redlock
	locker, risks, err := lock.Open(ctx, &store, "node-1")
	if err != nil {
		fmt.Println("the store is not fit, or does not answer:", err)
		return
	}
	for _, risk := range risks {
		fmt.Println(risk) // the store can be used: log it
	}
	err = locker.Do(ctx, "report", lock.Options{}, func(ctx context.Context, _ *lock.Lease) error {
		fmt.Println("no other process makes the report")
		return nil
	})
	fmt.Println(err)
	// Output:
	// no other process makes the report
	// <nil>
}
