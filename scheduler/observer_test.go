package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// An eventLog is an Observer that keeps all events.
type eventLog struct {
	mu  sync.Mutex
	all []scheduler.Event
}

func (l *eventLog) Observe(e scheduler.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

// observed returns the events of a kind.
func (n *node) observed(kind scheduler.EventKind) (all []scheduler.Event) {
	n.events.mu.Lock()
	defer n.events.mu.Unlock()
	for _, e := range n.events.all {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// checkEvents wants each node that stopped cleanly to have delivered one event for each line of its
// log that is not debug, or is about a run of a quiet job.
func (c *world) checkEvents() {
	c.t.Helper()
	for _, n := range c.nodes {
		if !n.killed.IsZero() || n.err != nil || c.silent || len(n.events.all) == 0 {
			continue
		}
		var want, got []string
		for _, e := range n.logs.All() {
			ofRun := strings.HasPrefix(e.Message, "run ")
			if k := e.ContextMap(); (e.Level > zap.DebugLevel || ofRun) && e.Message != "run panicked" && e.Message != "working" {
				tick, _ := k["tick"].(string)
				if mark, is := k["mark"].(string); is && e.Message == "mark ahead" {
					tick = mark
				}
				want = append(want, eventText(e.Message, k["job"], tick, k["attempt"], k["reason"], k["outcome"]))
			}
		}
		for _, e := range n.events.all {
			got = append(got, textOf(e))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			c.t.Errorf("%s: %d events, want one for each of %d lines:\n%s", n.ID(), len(got), len(want), difference(got, want))
		}
	}
}

// eventText returns the common content of an event and its line. It omits nil values.
func eventText(values ...any) string {
	var s strings.Builder
	for _, v := range values {
		if v != nil {
			fmt.Fprint(&s, v, " ")
		}
	}
	return strings.Join(strings.Fields(s.String()), " ")
}

func textOf(e scheduler.Event) string {
	tick, attempt, reason := "", any(nil), e.Reason
	if !e.Tick.IsZero() {
		tick = e.Tick.Format("2006-01-02T15:04:05.000Z")
	}
	if e.Attempt > 0 && e.Kind != scheduler.EventLeaseLost {
		attempt = e.Attempt
	}
	if e.Kind == scheduler.EventStoreRisk {
		reason = ""
	}
	return eventText(e.Kind, e.Job, tick, attempt, reason, e.Outcome)
}

// difference lists the elements of one of two sorted lists that are not in the other.
func difference(got, want []string) string {
	var s strings.Builder
	for len(got)+len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && got[0] < want[0]:
			fmt.Fprintln(&s, "+", got[0])
			got = got[1:]
		case len(got) == 0 || want[0] < got[0]:
			fmt.Fprintln(&s, "-", want[0])
			want = want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
	return s.String()
}

// A job runs once and fails once, and its node dies during a third run. The observers get the start
// and the end of each run, with its delay, duration and error, and the start of the attempt that
// took the third run over.
func TestObserverGetsRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		calls := 0
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 10s", Takeover: scheduler.TakeoverRerun, Func: func(ctx context.Context, r *scheduler.Run) error {
			switch calls++; calls {
			case 2:
				return errors.New("no such table")
			case 3:
				<-ctx.Done()
			}
			time.Sleep(2 * time.Second)
			return nil
		}})
		c.pass(31 * time.Second)
		first := c.nodes[0]
		first.kill()
		second := c.start()
		c.pass(40 * time.Second)
		second.drain()
		started, finished := first.observed(scheduler.EventRunStarted), first.observed(scheduler.EventRunFinished)
		if len(started) != 3 || len(finished) < 2 {
			t.Fatalf("%d starts, %d ends", len(started), len(finished))
		}
		for _, e := range started {
			if e.Job != "a" || e.Node != first.ID() || e.Attempt != 1 || e.Fence == 0 || e.Late < 0 || e.Late > 100*time.Millisecond || e.Tick.Location() != time.UTC {
				t.Errorf("started: %+v", e)
			}
		}
		if e := finished[0]; e.Outcome != "ok" || e.Took != 2*time.Second || e.Err != "" || !e.Tick.Equal(started[0].Tick) || e.Fence != started[0].Fence {
			t.Errorf("finished: %+v", e)
		}
		if e := finished[1]; e.Outcome != "failed" || e.Err != "no such table" {
			t.Errorf("failed: %+v", e)
		}
		if e := second.observed(scheduler.EventRunStarted)[0]; e.Attempt != 2 || !e.Tick.Equal(started[2].Tick) || e.Fence <= started[2].Fence {
			t.Errorf("taken over: %+v, want attempt 2 of %v", e, started[2].Tick)
		}
		if all := second.events.all; all[0].Kind != scheduler.EventNodeStarted || all[len(all)-1].Kind != scheduler.EventNodeStopped {
			t.Errorf("from %q to %q, want node started and node stopped", all[0].Kind, all[len(all)-1].Kind)
		}
	})
}

// Twice the store does not answer for most of a lease, and answers again in time. Each time there
// is one event, the run continues, and its lease is not lost.
func TestObserverGetsLateRenewals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1h", Lease: 30 * time.Second, Func: func(ctx context.Context, r *scheduler.Run) error {
			time.Sleep(5 * time.Minute)
			return context.Cause(ctx)
		}})
		c.pass(time.Hour)
		n := c.nodes[0]
		for times := range 2 {
			n.partition()
			for begin := time.Now(); len(n.observed(scheduler.EventRenewalLate)) == times && time.Since(begin) < 20*time.Second; {
				c.pass(time.Second)
			}
			n.heal()
			c.pass(30 * time.Second)
		}
		late := n.observed(scheduler.EventRenewalLate)
		if len(late) != 2 || late[0].Left > 10*time.Second || late[0].Left < 8*time.Second || late[0].Attempt != 1 || late[0].Fence == 0 {
			t.Errorf("late: %+v, want two with up to 10s left", late)
		}
		c.pass(5 * time.Minute)
		c.wantTally("a", "ran ok 1")
	})
}

// An Observer takes a minute for each event, and never returns from the last. Every tick runs in
// time, and Run returns an error CancelGrace after the drain.
func TestSlowObserverDelaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c := plan(t, everySecond(3)...)
		c.slack = 4 * time.Second // the node waits three of these for its observer
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.CancelGrace = 3 * time.Second
			cfg.Observers = []scheduler.Observer{scheduler.ObserverFunc(func(scheduler.Event) { <-release })}
		}
		n := c.start()
		c.pass(30*time.Second + 500*time.Millisecond)
		for _, r := range c.ranAny() {
			if late := r.began.Sub(r.Tick); late > 10*time.Millisecond {
				t.Errorf("%s began %v late", r.Job, late)
			}
		}
		if ran := len(c.ran("job0")); ran < 29 {
			t.Errorf("%d runs", ran)
		}
		at := time.Now()
		if err := n.drain(); fmt.Sprint(err) != fmt.Sprintf("scheduler: observers[0] did not take the last %d events in 3s", n.logs.Len()) || time.Since(at) != 3*time.Second {
			t.Errorf("Run: %v after %v", err, time.Since(at))
		}
		close(release)
	})
}

// An Observer is blocked while 20,000 ticks are skipped or run. It gets the first 16,384 events, in
// order, and then the number of dropped events.
func TestObserverGetsCountOfDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []scheduler.Event
		release := make(chan struct{})
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Observers = []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) { <-release; got = append(got, e) })}
		}
		n := c.start()
		c.pass(10_000*time.Second + 500*time.Millisecond)
		close(release)
		c.pass(10 * time.Second)
		if err := n.drain(); err != nil {
			t.Fatal(err)
		}
		delivered, dropped := 0, 0
		for i, e := range got {
			delivered++
			dropped += e.Dropped
			if e.Dropped > 0 && i < 16_384 {
				t.Errorf("event %d: %d were dropped before it", i, e.Dropped)
			}
			if i > 0 && e.At.Before(got[i-1].At) {
				t.Errorf("event %d is older than the one before", i)
			}
		}
		if lines := n.logs.Len(); dropped < 1000 || delivered+dropped != lines {
			t.Errorf("%d delivered and %d dropped, want %d", delivered, dropped, lines)
		}
	})
}

// An Observer panics on each run that starts, and ends its goroutine on each that finishes. Every
// tick runs, each other event arrives, and the log has the panic once a minute.
func TestObserverPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		passed, finished := 0, 0
		c := plan(t, everySecond(1)...)
		c.setup = func(i int, cfg *scheduler.Config) {
			cfg.Observers = []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
				switch e.Kind {
				case scheduler.EventRunStarted:
					panic("no such label")
				case scheduler.EventRunFinished:
					finished++
					runtime.Goexit()
				default:
					passed++
				}
			})}
		}
		n := c.start()
		c.pass(90*time.Second + 500*time.Millisecond)
		if err := n.drain(); err != nil {
			t.Fatal(err)
		}
		if ran := len(c.ran("job0")); ran < 89 || finished != ran || passed != 3 {
			t.Errorf("%d runs, %d ends, %d other events, want 3", ran, finished, passed)
		}
		c.wantLogged(2, "observer panicked", "err", "no such label")
	})
}

func ExampleObserver() {
	ended := make(chan scheduler.Event)
	node, err := scheduler.New(scheduler.Config{
		Store: memlock.New(memlock.Options{}),
		Jobs:  []scheduler.Job{{Name: "report", Spec: "* * * * * *", Func: func(context.Context, *scheduler.Run) error { return io.ErrUnexpectedEOF }}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) {
			if e.Kind == scheduler.EventRunFinished {
				select {
				case ended <- e:
				default:
				}
			}
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		e := <-ended
		fmt.Println(e.Job, e.Outcome, e.Err)
		stop()
	}()
	fmt.Println(node.Run(ctx))
	// Output:
	// report failed unexpected EOF
	// <nil>
}
