package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// A kept handler keeps lines, after it has called bad with each.
type kept struct {
	bad   func(r slog.Record) error
	mu    *sync.Mutex
	all   *[]slog.Record
	attrs []slog.Attr
}

func (k kept) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (k kept) WithGroup(string) slog.Handler                    { return k }
func (k kept) WithAttrs(attrs []slog.Attr) slog.Handler {
	k.attrs = slices.Concat(k.attrs, attrs)
	return k
}

func (k kept) Handle(_ context.Context, r slog.Record) error {
	if err := k.bad(r); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r = r.Clone()
	r.AddAttrs(k.attrs...)
	*k.all = append(*k.all, r)
	return nil
}

// lines returns the number of kept lines, and the counts in the lines about lost lines.
func (k kept) lines() (count int, lost []int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range *k.all {
		if r.Message != "log lines lost" {
			count++
			continue
		}
		lost = append(lost, attr(r, "count").Int64())
	}
	return count, lost
}

// attr returns the value of a key of a line.
func attr(r slog.Record, key string) (v slog.Value) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			v = a.Value
		}
		return true
	})
	return v
}

func keep(bad func(r slog.Record) error) kept {
	return kept{bad: bad, mu: new(sync.Mutex), all: new([]slog.Record)}
}

// The log of one of two nodes hangs. All due ticks of 20 jobs still run, on both nodes, and a run
// that is too long ends with its timeout. Run of the node returns CancelGrace after the end of the
// drain. The lines that were not written are counted.
func TestHungLoggerStopsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "long", Spec: "@every 10s", Timeout: 2 * time.Second, Func: takes(time.Hour)}}
		for i := range 20 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 1s", Lease: 3 * time.Second, Func: func(_ context.Context, r *scheduler.Run) error {
				r.Logger().Info("working")
				return nil
			}})
		}
		free := make(chan struct{})
		from := time.Now().Add(10 * time.Second)
		log := keep(func(slog.Record) error {
			if time.Now().After(from) {
				<-free
			}
			return nil
		})
		c := plan(t, jobs...)
		c.silent = true
		c.slack = 6 * time.Second
		c.setup = func(i int, cfg *scheduler.Config) {
			if i == 0 {
				cfg.Logger = slog.New(log)
				cfg.CancelGrace = 3 * time.Second
			}
		}
		hung, fine := c.start(), c.start()
		c.pass(90*time.Second + 500*time.Millisecond)
		by := map[*node]int{}
		for _, j := range jobs[1:] {
			ran := c.ran(j.Name)
			if len(ran) < 89 {
				t.Errorf("%s ran %d times in 90 seconds", j.Name, len(ran))
			}
			for _, r := range ran {
				by[r.node]++
			}
		}
		if by[hung] < 500 || by[fine] < 500 {
			t.Errorf("the node with the hung log ran %d ticks, the other %d", by[hung], by[fine])
		}
		for _, r := range c.ran("long") {
			if !r.over.IsZero() && r.over.Sub(r.began) != 2*time.Second {
				t.Errorf("a run with a timeout of 2s took %v", r.over.Sub(r.began))
			}
		}
		at := time.Now()
		if err := hung.drain(); err != nil || time.Since(at) < 3*time.Second || time.Since(at) > 6*time.Second {
			t.Errorf("Run returned %v after %v, want nil after the 3s for which it waits for its log", err, time.Since(at))
		}
		events := len(hung.events.all)
		written, _ := log.lines()
		working := by[hung]
		for _, j := range jobs[1:] { // runs during the drain
			for _, r := range c.ran(j.Name) {
				if r.node == hung && r.began.After(at) {
					working++
				}
			}
		}
		if lost := int(hung.Stats().LinesLost); written+lost != events+working {
			t.Errorf("%d lines were written and %d lost, want %d of events and %d of runs", written, lost, events, working)
		}
		close(free)
	})
}

// A handler hangs, panics, ends its goroutine or fails with each fifth line. Each other line is
// written in order with the time of its event, and the log has the number of lost lines.
func TestBadLoggerCostsLines(t *testing.T) {
	for name, bad := range map[string]func() error{
		"panics":              func() error { panic("no") },
		"ends its goroutine":  func() error { runtime.Goexit(); return nil },
		"returns an error":    func() error { return errBroken },
		"takes three seconds": func() error { time.Sleep(3 * time.Second); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				calls := 0
				log := keep(func(r slog.Record) error {
					if calls++; r.Message != "log lines lost" && calls%5 == 0 {
						return bad()
					}
					return nil
				})
				c := plan(t, everySecond(1)...)
				c.silent = true
				var said sayings
				c.stderr = &said
				c.slack = time.Minute // Run may wait this long for the lines
				c.setup = func(_ int, cfg *scheduler.Config) { cfg.Logger, cfg.CancelGrace = slog.New(log), time.Minute }
				n := c.start()
				c.pass(60*time.Second + 500*time.Millisecond)
				if err := n.drain(); err != nil {
					t.Error(err)
				}
				if ran := len(c.ran("job0")); ran < 59 {
					t.Errorf("%d runs", ran)
				}
				written, dropped := log.lines()
				total := int64(0)
				for _, count := range dropped {
					total += count
				}
				if lost := n.Stats().LinesLost; written+int(lost) != len(n.events.all) || total != lost {
					t.Errorf("%d lines were written, %d lost and %d of those in the log, want %d in all", written, lost, total, len(n.events.all))
				}
				i := 0
				for _, r := range *log.all {
					if r.Message == "log lines lost" {
						continue
					}
					for i < len(n.events.all) && (string(n.events.all[i].Kind) != r.Message || !n.events.all[i].At.Equal(r.Time)) {
						i++
					}
				}
				if i >= len(n.events.all) {
					t.Error("the lines do not have the order and the times of the events")
				}
			})
		})
	}
}

// The log hangs while 9,000 ticks run, and then works again. It has the oldest lines and the last
// line of that time, preceded by the number of lines between them with the name of the node.
func TestLogThatFlowsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		free := make(chan struct{})
		log := keep(func(slog.Record) error { <-free; return nil })
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing})
		c.silent = true
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Logger = slog.New(log) }
		n := c.start()
		c.pass(9_000*time.Second + 500*time.Millisecond)
		ends := n.observed(scheduler.EventRunFinished)
		close(free)
		c.pass(100 * time.Millisecond) // until the queue is empty; otherwise the lines of the drain would take the last place
		if err := n.drain(); err != nil {
			t.Error(err)
		}
		events := len(n.events.all)
		written, lost := log.lines()
		if len(lost) != 1 || lost[0] < 1000 || written+int(lost[0]) != events || n.Stats().LinesLost != lost[0] {
			t.Errorf("%d lines were written and %v lost, want %d", written, lost, events)
		}
		at, last := 1+16_383, ends[len(ends)-1] // one line is in the handler, and the last waiting line is the newest
		if all := *log.all; len(all) <= at+1 || all[at].Message != "log lines lost" || all[at+1].Message != string(last.Kind) || !all[at+1].Time.Equal(last.At) || !attr(all[at], "node").Equal(attr(all[0], "node")) {
			t.Errorf("after %q %v, want the count of the lost lines, and then %q %v", all[at-1].Message, all[at:min(len(all), at+3)], last.Kind, last.At)
		}
	})
}

// One Observer hangs, one ends its goroutine with each fourth event, and one works. Each affects
// only its own events, and its count of lost events is exact.
func TestSeveralObservers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var good, dropped, calls int
		free := make(chan struct{})
		c := plan(t, everySecond(1)...)
		c.slack = 6 * time.Second
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Observers = append(cfg.Observers,
				scheduler.ObserverFunc(func(scheduler.Event) { <-free }),
				scheduler.ObserverFunc(func(e scheduler.Event) {
					if calls++; calls%4 == 0 || e.Kind == scheduler.EventNodeStopped {
						runtime.Goexit()
					}
					good++
					dropped += e.Dropped
				}))
			cfg.CancelGrace = time.Second
		}
		n := c.start()
		c.pass(60*time.Second + 500*time.Millisecond)
		err := n.drain()
		all := len(n.events.all)
		if want := fmt.Sprintf("scheduler: observers[2] did not take the last %d events in 1s", all); fmt.Sprint(err) != want {
			t.Errorf("Run: %v, want %s", err, want)
		}
		if kinds := n.events.all; kinds[all-1].Kind != scheduler.EventNodeStopped {
			t.Errorf("the last event is %q", kinds[all-1].Kind)
		}
		last := calls - good - dropped // lost after the last event that was taken
		if calls != all || last < 1 || last > 2 {
			t.Errorf("of %d events %d were taken, and %d dropped before those: want all but the last", all, good, dropped)
		}
		if lost := n.Stats().EventsLost; int(lost) != all+calls-good {
			t.Errorf("%d events are lost, want %d of one Observer and %d of the other", lost, all, calls-good)
		}
		close(free)
	})
}

func TestNilObserverIsRefused(t *testing.T) {
	t.Parallel()
	_, err := scheduler.New(scheduler.Config{Store: new(memlock.Store), Observers: []scheduler.Observer{nil}})
	if want := "scheduler: configuration: observers[0]: is nil"; fmt.Sprint(err) != want {
		t.Errorf("New: %v, want %s", err, want)
	}
}
