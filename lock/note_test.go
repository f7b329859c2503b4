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

// A note of up to 64 bytes is shown with each holder, and no other is asked for.
func TestNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlock.Store)
		l, _, err := lock.Open(t.Context(), store, strings.Repeat("n", 100)) // the longest
		wantErr(t, "open", err, nil)
		note := strings.Repeat("é", driver.MaxNote/2)
		first := acquire(t, l, "k", lock.Options{Note: note, Limit: 2})
		second := acquire(t, l, "k", lock.Options{Limit: 2})
		all, err := l.Holders(t.Context(), "k")
		if err != nil || len(all) != 2 || all[0].Note != note || all[1].Note != "" || len(all[0].Owner) != len(all[1].Owner) {
			t.Errorf("the holders are %+v, %v", all, err)
		}
		if at, err := l.Inspect(t.Context(), "k"); err != nil || at.Owner != all[0].Owner {
			t.Errorf("it is held by %+v, %v", at, err)
		}
		wantErr(t, "release", first.Release(t.Context()), nil)
		wantErr(t, "release", second.Release(t.Context()), nil)
		both, err := l.AcquireAll(t.Context(), []string{"x", "y"}, lock.Options{Note: "a move"})
		wantErr(t, "several", err, nil)
		for _, key := range []string{"x", "y"} {
			if all, err := l.Holders(t.Context(), key); err != nil || len(all) != 1 || all[0].Note != "a move" {
				t.Errorf("the holders of %s are %+v, %v", key, all, err)
			}
		}
		wantErr(t, "release", both.Release(t.Context()), nil)
		for _, bad := range []string{strings.Repeat("x", driver.MaxNote+1), strings.Repeat("é", driver.MaxNote/2+1), "a\nb", "a|b", "a;b", "\x1b[31m", "\xff", "\u202e"} {
			_, acquired := l.Acquire(t.Context(), "k", lock.Options{Note: bad})
			_, tried := l.TryAcquire(t.Context(), "k", lock.Options{Note: bad})
			_, several := l.AcquireAll(t.Context(), []string{"x", "y"}, lock.Options{Note: bad})
			for _, err := range []error{acquired, tried, several} {
				if refused, is := errors.AsType[*lock.ArgumentError](err); !is || refused.Argument != "note" {
					t.Errorf("%q is answered with %v", bad, err)
				}
			}
			free(t, l, "k", "x", "y")
		}
	})
}

// An owner that asks after a grant that came too late has the note as well.
func TestNoteAfterALateGrant(t *testing.T) {
	for _, way := range []string{"wait", "try"} {
		synctest.Test(t, func(t *testing.T) {
			store := newFaulty()
			slow := times(1, "acquire")
			store.before = func(op string) {
				if slow(op) {
					time.Sleep(2800 * time.Millisecond)
				}
			}
			l := lock.New(polled{store}, "a")
			ask := map[string]func(context.Context, string, lock.Options) (*lock.Lease, error){"wait": l.Acquire, "try": l.TryAcquire}[way]
			lease, err := ask(context.Background(), "k", lock.Options{TTL: 3 * time.Second, Note: "why"})
			wantErr(t, "acquire", err, nil)
			all, err := lock.New(store.Store, "").Holders(t.Context(), "k")
			if err != nil || len(all) != 1 || all[0].Note != "why" {
				t.Errorf("the holders are %+v, %v", all, err)
			}
			wantErr(t, "release", lease.Release(t.Context()), nil)
		})
	}
}
