package exec

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/scheduler"
)

// A witness records the requests of the code under test, with their times.
type witness struct {
	began time.Time
	asked []string
	done  chan reply
}

func (w *witness) note(what string, times ...time.Time) {
	text := fmt.Sprintf("%v %s", time.Since(w.began), what)
	for _, at := range times {
		text += fmt.Sprintf(" %v", at.Sub(w.began))
	}
	w.asked = append(w.asked, text)
}

func (w *witness) over() <-chan reply          { return w.done }
func (w *witness) extend(term, kill time.Time) { w.note("extend", term, kill) }
func (w *witness) stop(kill time.Time)         { w.note("stop", kill) }
func (w *witness) kill()                       { w.note("kill") }

// SIGTERM is sent by the grace, but at most by a third of the lease, before the trust in the lease
// ends, and SIGKILL when it ends. Both move with each renewal.
func TestKillTimes(t *testing.T) {
	for _, c := range []struct {
		trust, grace, term time.Duration
	}{
		{2700 * time.Millisecond, 4 * time.Second, 1800 * time.Millisecond},
		{4500 * time.Millisecond, 4 * time.Second, 3 * time.Second},
		{13500 * time.Millisecond, 4 * time.Second, 9500 * time.Millisecond},
		{27 * time.Second, 5 * time.Second, 22 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			w := newWatch(func() time.Time { return began.Add(c.trust) }, c.grace)
			if w.term.Sub(began) != c.term || w.kill.Sub(began) != c.trust {
				t.Errorf("trust %v: SIGTERM after %v, SIGKILL after %v, want %v", c.trust, w.term.Sub(began), w.kill.Sub(began), c.term)
			}
		})
	}
}

// A renewal that is read late, as by a node that was stopped, does not shorten the time between SIGTERM and SIGKILL.
func TestRenewalReadLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadline := time.Now().Add(9 * time.Second)
		w := newWatch(func() time.Time { return deadline }, 4*time.Second)
		time.Sleep(8 * time.Second)
		deadline = deadline.Add(3 * time.Second)
		if !w.read() || w.kill != deadline || w.kill.Sub(w.term) != 3*time.Second {
			t.Errorf("SIGTERM comes %v before SIGKILL, want 3s", w.kill.Sub(w.term))
		}
	})
}

func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		cause error // of the context's end after 5s; nil: it does not end
		want  []string
	}{
		"renewed": {nil, []string{"1.35s extend 10s 13s"}},
		"stopped": {errors.New("enough"), []string{"1.35s extend 10s 13s", "5s stop 8s"}},
		"lost":    {fmt.Errorf("%w: gone", lock.ErrLost), []string{"1.35s extend 10s 13s", "5s kill"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				began := time.Now()
				x := &witness{began: began, done: make(chan reply, 1)}
				w := newWatch(func() time.Time {
					if time.Since(began) >= 1300*time.Millisecond { // it was renewed
						return began.Add(13 * time.Second)
					}
					return began.Add(9 * time.Second)
				}, 3*time.Second)
				if c.cause != nil {
					time.AfterFunc(5*time.Second, func() { stop(c.cause) })
				}
				time.AfterFunc(6*time.Second, func() { x.done <- reply{Code: 3} })
				if end := w.follow(ctx, x); end.Code != 3 || !slices.Equal(x.asked, c.want) {
					t.Errorf("%v, asked for %q, want %q", end, x.asked, c.want)
				}
			})
		})
	}
}

// After a command was ended for its lease, the run goes on until the lease is renewed or lost: a lost run is taken over, as its job
// says, and one whose lease goes on has failed.
func TestAwaitTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		renewed, lost, want time.Duration // 0: never
	}{
		"renewed": {2500 * time.Millisecond, 0, 2600 * time.Millisecond}, // at the next reading
		"lost":    {0, 3 * time.Second, 3 * time.Second},
		"neither": {0, 0, 4100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				began := time.Now()
				w := newWatch(func() time.Time {
					if c.renewed > 0 && time.Since(began) >= c.renewed {
						return began.Add(6 * time.Second)
					}
					return began.Add(3 * time.Second)
				}, time.Second)
				if c.lost > 0 {
					time.AfterFunc(c.lost, func() { stop(lock.ErrLost) })
				}
				time.Sleep(2 * time.Second) // SIGTERM has ended it
				if w.await(ctx); time.Since(began) != c.want {
					t.Errorf("it returned after %v, want %v", time.Since(began), c.want)
				}
			})
		})
	}
}

// A run without a lease, as in a test, has no kill times.
func TestWatchWithoutLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &witness{done: make(chan reply, 1)}
		w := newWatch(func() time.Time { return time.Time{} }, time.Second)
		time.AfterFunc(time.Hour, func() { x.done <- reply{} })
		if w.follow(t.Context(), x); x.asked != nil || !w.term.IsZero() {
			t.Errorf("asked for %q", x.asked)
		}
	})
}

// The result of a command that was ended for its lease reports this, unless the context had ended
// as well.
func TestResult(t *testing.T) {
	over, stop := context.WithCancel(t.Context())
	stop()
	c := &Command{Args: []string{"x"}}
	for _, r := range []struct {
		ctx  context.Context
		end  reply
		want string
	}{
		{t.Context(), reply{}, ""},
		{t.Context(), reply{Code: 4}, "exit code 4: last"},
		{t.Context(), reply{Signal: 9}, "killed by SIGKILL: last"},
		{t.Context(), reply{Lease: true}, ErrExpired.Error()},
		{over, reply{Lease: true, Signal: 15}, "killed by SIGTERM: last"},
		{over, reply{Lease: true}, ErrExpired.Error()}, // it was not started, or exited with 0 at SIGTERM
		{t.Context(), reply{Err: "no such file or directory"}, `exec: starting "x": no such file or directory`},
	} {
		got := ""
		if err := result(r.ctx, c, &r.end, "first\nlast\n"); err != nil {
			got = err.Error()
		}
		if got != r.want {
			t.Errorf("%+v: %q, want %q", r.end, got, r.want)
		}
	}
}

// Exit codes decide whether the run is skipped, and whether another try is useful.
func TestCodes(t *testing.T) {
	some := &Command{Args: []string{"x"}, SkipCodes: []int{3}, PermanentCodes: []int{4}}
	only := &Command{Args: []string{"x"}, RetryCodes: []int{75}}
	for _, c := range []struct {
		command *Command
		end     reply
		want    string
	}{
		{some, reply{Code: 1}, "again"}, {some, reply{Code: 3}, "skip"}, {some, reply{Code: 4}, "final"}, {some, reply{Signal: 9}, "again"},
		{some, reply{Code: 126}, "final"}, {some, reply{Code: 127}, "final"},
		{only, reply{Code: 75}, "again"}, {only, reply{Code: 1}, "final"}, {only, reply{Signal: 9}, "final"},
	} {
		if got := kind(result(t.Context(), c.command, &c.end, "")); got != c.want {
			t.Errorf("%+v: %s, want %s", c.end, got, c.want)
		}
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := result(over, some, &reply{Code: 3}, ""); kind(err) != "again" {
		t.Errorf("%v: a command that was made to end had something to do, also with the code of one that had not", err)
	}
}

// kind returns how the scheduler takes an error.
func kind(err error) string {
	switch {
	case errors.Is(err, scheduler.ErrSkipped):
		return "skip"
	case reflect.TypeOf(err) == reflect.TypeOf(scheduler.Permanent(errors.New("any"))):
		return "final"
	}
	return "again"
}
