package scheduler_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// The timetable does not wait for answers: each tick is claimed when it is due, however many
// earlier claims have no answer yet.
func TestTimetableWaitsForNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const back = 4500 * time.Millisecond
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Lease: 30 * time.Second, Overlap: scheduler.OverlapAllow, Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 10 * time.Second }
		n := c.start()
		n.wire.spoil(func(op string) fault {
			if op == "claim" {
				return fault{back: back}
			}
			return fault{}
		})
		c.pass(32*time.Second + back)
		n.wire.spoil(nil)
		runs := c.ran("a")
		if len(runs) < 30 {
			t.Errorf("%d runs in 30 seconds", len(runs))
		}
		for _, r := range runs {
			if took := r.began.Sub(r.Tick); took > back {
				t.Errorf("%v was claimed %v late", r.Tick, took-back)
			}
		}
		c.pass(back) // for the answers that are on their way
	})
}

// Two goroutines take turns at the timer: while one sends due requests, the other waits for the
// timer. More are needed only while answers are late, and end after that.
func TestTwoTakeTurnsAtTheAlarm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Lease: 30 * time.Second, Overlap: scheduler.OverlapAllow, Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 10 * time.Second }
		const prompt, late = 10 * time.Millisecond, 4500 * time.Millisecond
		n := c.start()
		askedBy := func(back time.Duration) (goroutines map[string]bool) {
			goroutines = make(map[string]bool)
			n.wire.spoil(func(op string) fault {
				if op != "claim" {
					return fault{}
				}
				goroutines[goroutine()] = true
				return fault{back: back}
			})
			c.pass(20 * time.Second)
			n.wire.spoil(nil)
			return goroutines
		}
		if got := len(askedBy(prompt)); got > 2 {
			t.Errorf("%d goroutines have asked for 20 ticks, want 2", got)
		}
		if got := len(askedBy(late)); got < 5 {
			t.Errorf("%d goroutines have asked while answers were late, that is no test", got)
		}
		c.pass(late) // the last answers
		if got := len(askedBy(prompt)); got > 2 {
			t.Errorf("%d goroutines have asked for 20 ticks when answers were prompt again, want 2", got)
		}
	})
}

// goroutine returns the number of the running goroutine.
func goroutine() string {
	stack := make([]byte, 64)
	return strings.Fields(string(stack[:runtime.Stack(stack, false)]))[1]
}
