package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := wait.Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %v: %v, want nil after an hour", time.Since(began), err)
		}
		if err := wait.Sleep(t.Context(), -time.Hour); err != nil {
			t.Errorf("a negative time: %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began = time.Now()
		if err := wait.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v, want the end of the context after a minute", time.Since(began), err)
		}
		if err := wait.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that has ended: %v", err)
		}
	})
}

// A lagging context has a deadline that passed, but has not ended.
type lagging struct{ context.Context }

func (lagging) Err() error { return nil }

func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancel(t.Context())
		bounded, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for name, c := range map[string]struct {
			ctx       context.Context
			now, then bool
		}{
			"without an end":            {t.Context(), false, false},
			"cancelled":                 {cancelled, false, true},
			"with a deadline":           {bounded, false, true},
			"not yet aware of its end":  {lagging{bounded}, false, true},
			"without a deadline, alive": {lagging{cancelled}, false, false},
		} {
			if wait.Ended(c.ctx) != c.now {
				t.Errorf("%s: ended, want alive", name)
			}
			defer func() {
				if got := wait.Ended(c.ctx); got != c.then {
					t.Errorf("%s: %v a minute later, want %v", name, got, c.then)
				}
			}()
		}
		cancel()
		time.Sleep(time.Minute)
	})
}

func TestWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := make(chan struct{}, 1)
		woken <- struct{}{}
		if !wait.Woken(t.Context(), time.Hour, woken) {
			t.Error("the value of the channel is not reported")
		}
		if began := time.Now(); wait.Woken(t.Context(), time.Hour, woken) || time.Since(began) != time.Hour {
			t.Error("without a value: want false after an hour")
		}
	})
}

var errFailed = errors.New("failed")

// A call returns its result until ctx and the grace have ended, however long the function takes.
func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		grace, lasts, want time.Duration
		fails              error // of the function
		result             int
		err                error
	}{
		"within the time":            {0, time.Second, time.Second, nil, 1, nil},
		"too long":                   {0, time.Hour, time.Minute, nil, 0, context.DeadlineExceeded},
		"within the grace":           {time.Second, time.Minute + time.Millisecond, time.Minute + time.Millisecond, nil, 1, nil},
		"after the grace":            {time.Second, time.Hour, time.Minute + time.Second, nil, 0, context.DeadlineExceeded},
		"a failure within the time":  {0, time.Second, time.Second, errFailed, 1, errFailed},
		"a failure within the grace": {time.Second, time.Minute + time.Millisecond, time.Minute + time.Millisecond, errFailed, 1, errFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				began := time.Now()
				v, err := wait.Call(ctx, c.grace, func(context.Context) (int, error) { time.Sleep(c.lasts); return 1, c.fails })
				if v != c.result || !errors.Is(err, c.err) || time.Since(began) != c.want {
					t.Errorf("%d, %v after %v, want %d, %v after %v", v, err, time.Since(began), c.result, c.err, c.want)
				}
				time.Sleep(2 * time.Hour) // the function continues in the background
			})
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := wait.Call(ended, time.Hour, func(context.Context) (int, error) { t.Error("called"); return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func TestCallWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := wait.CallWithin(t.Context(), time.Second, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
