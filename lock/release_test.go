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

// The release of a lease that was lost before returns ErrLost, whichever owner has the key now: a
// free key does not mean that no other owner had it. Another owner keeps its lease.
func TestReleaseAfterLoss(t *testing.T) {
	const after = 2 * time.Second
	fixed := lock.Options{TTL: time.Second, Fixed: true}
	release := func(t *testing.T, l *lock.Locker, meanwhile func()) error {
		lease := acquire(t, l, "k", fixed)
		time.Sleep(after)
		meanwhile()
		err := lease.Release(t.Context())
		wantErr(t, "the second release", lease.Release(t.Context()), lock.ErrReleased)
		return err
	}
	ways := map[string]func(t *testing.T, l *lock.Locker, meanwhile func()) error{
		"one": release,
		"several": func(t *testing.T, l *lock.Locker, meanwhile func()) error {
			leases, err := l.AcquireAll(t.Context(), []string{"j", "k"}, fixed)
			wantErr(t, "both", err, nil)
			time.Sleep(after)
			meanwhile()
			return leases.Release(t.Context())
		},
		"Do": func(t *testing.T, l *lock.Locker, meanwhile func()) error {
			return l.Do(t.Context(), "k", fixed, func(context.Context, *lock.Lease) error {
				time.Sleep(after)
				meanwhile()
				return nil
			})
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(memlock.Store)
				l, other := lock.New(store, "a"), lock.New(store, "b")
				wantErr(t, "nobody had it", way(t, l, func() {}), lock.ErrLost)
				wantErr(t, "another had it", way(t, l, func() {
					wantErr(t, "the release", acquire(t, other, "k", lock.Options{}).Release(t.Context()), nil)
				}), lock.ErrLost)
				var theirs *lock.Lease
				wantErr(t, "another has it", way(t, l, func() { theirs = acquire(t, other, "k", lock.Options{}) }), lock.ErrLost)
				wantErr(t, "the other's release", theirs.Release(t.Context()), nil)
			})
		})
	}
}

// Work that was cancelled frees its keys: a context that has ended, also the context of the lease
// itself, or that ends before the request, does not prevent a release.
func TestReleaseOfCancelled(t *testing.T) {
	for name, end := range map[string]func(stop func(), store *faulty){
		"before": func(stop func(), _ *faulty) { stop() },
		"while the store was in doubt": func(stop func(), store *faulty) {
			asked := 0
			store.lose = func(string) bool { stop(); asked++; return asked == 1 }
		},
	} {
		for what, keys := range map[string][]string{"one": {"k"}, "several": {"j", "k"}} {
			t.Run(name+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newFaulty()
					l := lock.New(heeding{store}, "a")
					ctx, stop := context.WithCancel(t.Context())
					leases, err := l.AcquireAll(ctx, keys, lock.Options{})
					wantErr(t, "acquire", err, nil)
					end(stop, store)
					wantErr(t, "release", leases.Release(ctx), nil)
					free(t, l, keys...)
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(&memlock.Store{}, "a")
		lease := acquire(t, l, "k", lock.Options{})
		wantErr(t, "release with its own context", lease.Release(lease.Context()), nil)
		free(t, l, "k")
		store := newFaulty()
		l = lock.New(heeding{store}, "a")
		lease = acquire(t, l, "k", lock.Options{})
		store.Forget()
		lease.Cancel(nil)
		wantErr(t, "release of a forgotten lease with its own context", lease.Release(lease.Context()), lock.ErrForgotten)
	})
}

// A release that gets no answer is repeated for the length of the lease, or for a second if its context has
// ended, and no longer: the key is free when the lease is over, and the caller waits.
func TestReleaseWithoutAnswer(t *testing.T) {
	for name, keys := range map[string][]string{"one": {"k"}, "several": {"j", "k"}} {
		for cancelled, most := range map[bool]time.Duration{false: 5 * time.Second, true: time.Second} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newFaulty()
					l := lock.New(store, "a")
					var d diary
					l.OnEvent(d.note)
					leases, err := l.AcquireAll(t.Context(), keys, lock.Options{TTL: 5 * time.Second})
					wantErr(t, "acquire", err, nil)
					store.lose = func(string) bool { return true }
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					if cancelled {
						stop()
					}
					began := time.Now()
					err = leases.Release(ctx)
					wantErr(t, "the release", err, errNetwork)
					if took := time.Since(began); took != most || !strings.HasPrefix(err.Error(), "lock: release ") {
						t.Errorf("the release, cancelled %v, took %v: %v", cancelled, took, err)
					}
					all := d.take(t, l)
					if len(all) != 2*len(keys) {
						t.Fatalf("the events are %+v", all)
					}
					for _, e := range all[len(keys):] {
						if e.Kind != lock.EventReleased || !errors.Is(e.Err, errNetwork) {
							t.Errorf("the event is %+v, want a release in doubt", e)
						}
					}
				})
			})
		}
	}
}

// A key that the store has forgotten was not freed by its holder, whose release says
// so: other owners may have had it. A release that repeats one without an answer says
// nothing of the kind, for that may have freed the key, and one of a lease whose time is
// over says only that. A lease that was taken by force is known to have been, also by a
// repeated release.
func TestReleaseOfAForgottenKey(t *testing.T) {
	for name, c := range map[string]struct {
		forget, lose bool
		force, next  bool // the key is freed by force, and another owner has it then
		after        time.Duration
		want         error
	}{
		"forced":                          {force: true, want: lock.ErrForced},
		"forced, and reply lost":          {force: true, lose: true, want: lock.ErrForced},
		"forced, another has it":          {force: true, next: true, want: lock.ErrForced},
		"forced, another, and reply lost": {force: true, next: true, lose: true, want: lock.ErrForced},
		"held":                            {},
		"reply lost":                      {lose: true},
		"forgotten":                       {forget: true, want: lock.ErrForgotten},
		"forgotten, and reply lost":       {forget: true, lose: true},
		"forgotten, and late":             {forget: true, after: time.Hour, want: lock.ErrLost},
		"reply lost, then late":           {lose: true, after: 54*time.Second - time.Millisecond}, // its trust is 54 s
	} {
		ways := map[string]func(ctx context.Context, l *lock.Locker, o lock.Options, f func()) error{
			"one": func(ctx context.Context, l *lock.Locker, o lock.Options, f func()) error {
				lease, err := l.Acquire(ctx, "k", o)
				wantErr(t, "acquire", err, nil)
				f()
				return lease.Release(ctx)
			},
			"several": func(ctx context.Context, l *lock.Locker, o lock.Options, f func()) error {
				leases, err := l.AcquireAll(ctx, []string{"j", "k"}, o)
				wantErr(t, "acquire", err, nil)
				f()
				return leases.Release(ctx)
			},
			"Do": func(ctx context.Context, l *lock.Locker, o lock.Options, f func()) error {
				return l.Do(ctx, "k", o, func(context.Context, *lock.Lease) error { f(); return nil })
			},
		}
		for way, use := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newFaulty()
					lost := false
					store.lose = func(op string) bool {
						first := strings.HasPrefix(op, "release") && c.lose && !lost
						lost = lost || first
						return first
					}
					err := use(t.Context(), lock.New(store, "a"), lock.Options{TTL: time.Minute, Fixed: true}, func() {
						if c.forget {
							store.Forget()
						}
						if c.force {
							_, err := lock.New(store, "b").Force(t.Context(), driver.ForceRequest{Key: "k", By: "alice", Reason: "gone"})
							wantErr(t, "force", err, nil)
						}
						if c.next {
							acquire(t, lock.New(store, "b"), "k", lock.Options{})
						}
						time.Sleep(c.after)
					})
					wantErr(t, "the release", err, c.want)
					if errors.Is(err, lock.ErrForgotten) != errors.Is(c.want, lock.ErrForgotten) {
						t.Errorf("the release: %v", err)
					}
				})
			})
		}
	}
}

// heeding is a store that is not asked when the context has ended.
type heeding struct{ *faulty }

func (h heeding) Release(ctx context.Context, of driver.LeaseRef) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return h.faulty.Release(ctx, of)
}

func (h heeding) ReleaseAll(ctx context.Context, of []driver.LeaseRef) []error {
	if ctx.Err() != nil {
		errs := make([]error, len(of))
		for i := range errs {
			errs[i] = ctx.Err()
		}
		return errs
	}
	return h.faulty.ReleaseAll(ctx, of)
}

// A caller that gives up while the store is silent does not wait for the undoing, which may last as
// long as the leases.
func TestGivingUpIsNotHeldUp(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, l *lock.Locker, o lock.Options) error{
		"several": func(ctx context.Context, l *lock.Locker, o lock.Options) error {
			_, err := l.AcquireAll(ctx, []string{"a", "held"}, o)
			return err
		},
		"Do": func(ctx context.Context, l *lock.Locker, o lock.Options) error {
			return l.Do(ctx, "a", o, func(ctx context.Context, _ *lock.Lease) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &mute{Store: &memlock.Store{}}
				acquire(t, lock.New(store, "b"), "held", lock.Options{})
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
				defer stop()
				begin := time.Now()
				l := lock.New(store, "a")
				err := use(ctx, l, lock.Options{TTL: time.Minute})
				if took := time.Since(begin); took > 4*time.Second || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it took %v: %v", took, err)
				}
				wantErr(t, "the wait for what goes on behind", l.Wait(t.Context()), nil)
			})
		})
	}
}

// mute is a store that answers no release.
type mute struct{ *memlock.Store }

func (s *mute) Release(ctx context.Context, _ driver.LeaseRef) error {
	<-ctx.Done()
	return ctx.Err()
}
