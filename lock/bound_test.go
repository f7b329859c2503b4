package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
)

// A look is what somebody sees of a context at some moment.
type look struct {
	err, cause  error
	done        bool
	childErr    error
	childCause  error
	value       any
	deadline    time.Time
	hasDeadline bool
}

type lookKey struct{}

func lookAt(ctx, child context.Context) look {
	l := look{err: ctx.Err(), cause: context.Cause(ctx), value: ctx.Value(lookKey{})}
	l.deadline, l.hasDeadline = ctx.Deadline()
	if child != nil {
		synctest.Wait() // its end comes by another goroutine
		l.childErr, l.childCause = child.Err(), context.Cause(child)
		select {
		case <-ctx.Done():
			l.done = true
		default:
		}
	}
	return l
}

// The context of a request that is repeated shows everybody what one of the context
// package would: whoever looks, derives from it or waits for its end, early or late,
// and whatever ends it first. But who looks when several ends have come may not see
// which was the first.
func TestBoundIsAContextWithDeadline(t *testing.T) {
	cause, again, late := errors.New("enough"), errors.New("again"), errors.New("late")
	makers := []func(context.Context, time.Duration) (context.Context, context.CancelFunc){context.WithTimeout, lock.Bound}
	type ending = func(stop, caller, wait func())
	all := map[string]ending{ // how it ends if somebody has looked before
		"stop":         func(stop, _, _ func()) { stop() },
		"stop, caller": func(stop, caller, _ func()) { stop(); caller() },
		"stop, time":   func(stop, _, wait func()) { stop(); wait() },
		"time, caller": func(_, caller, wait func()) { wait(); caller() },
	}
	ends := map[string]ending{
		"twice":        func(stop, _, _ func()) { stop(); stop() },
		"caller":       func(_, caller, _ func()) { caller() },
		"time":         func(_, _, wait func()) { wait() },
		"caller, stop": func(stop, caller, _ func()) { caller(); stop() },
		"caller, time": func(_, caller, wait func()) { caller(); wait() },
		"time, stop":   func(stop, _, wait func()) { wait(); stop() },
	}
	maps.Copy(all, ends)
	for name, end := range all {
		for _, early := range []bool{false, true} { // whether somebody derives from it before that
			if _, always := ends[name]; !always && !early {
				continue // who looks first after both may see either
			}
			for _, d := range []time.Duration{time.Second, 2 * time.Minute} { // the caller's deadline is a minute
				t.Run(fmt.Sprint(name, early, d), func(t *testing.T) {
					var looks [][]look
					for _, make := range makers {
						synctest.Test(t, func(t *testing.T) {
							timed, stopTimed := context.WithTimeoutCause(context.WithValue(t.Context(), lookKey{}, "v"), time.Minute, late)
							defer stopTimed()
							caller, stopCaller := context.WithCancelCause(timed)
							ctx, stop := make(caller, d)
							defer stop()
							var child context.Context
							seen := []look{lookAt(ctx, nil)}
							if early {
								var stopChild context.CancelFunc
								child, stopChild = context.WithCancel(ctx)
								defer stopChild()
								seen = append(seen, lookAt(ctx, child))
							}
							end(stop, func() { stopCaller(cause) }, func() { time.Sleep(min(d, time.Minute) + time.Second) })
							seen = append(seen, lookAt(ctx, child))
							last, stopLast := context.WithCancel(ctx)
							defer stopLast()
							stopCaller(again)
							looks = append(looks, append(seen, lookAt(ctx, last)))
						})
					}
					for i, want := range looks[0] {
						if got := looks[1][i]; got != want {
							t.Errorf("look %d: %+v, the context package's %+v", i, got, want)
						}
					}
				})
			}
		}
	}
}

// Who waits for the end of such a context is woken when its time is over, or at once
// when the caller's is cancelled.
func TestBoundWakesWhoWaits(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			caller, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx, stop := lock.Bound(caller, time.Minute)
			defer stop()
			want, begin := time.Minute, time.Now()
			if cancelled {
				want = time.Second
				time.AfterFunc(want, cancel)
			}
			<-ctx.Done()
			if took := time.Since(begin); took != want {
				t.Errorf("cancelled %v: woken after %v, want %v", cancelled, took, want)
			}
		})
	}
}

// Who looks first after it was stopped sees that it has ended.
func TestBoundThatWasStopped(t *testing.T) {
	ctx, stop := lock.Bound(t.Context(), time.Minute)
	stop()
	child, stopChild := context.WithCancel(ctx)
	defer stopChild()
	for _, c := range []context.Context{ctx, child} {
		<-c.Done()
		wantErr(t, "after stop", c.Err(), context.Canceled)
	}
}
