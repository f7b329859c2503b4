package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/heartbeat"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// A server is a store in memory whose clock, process and answers a test can change.
type server struct {
	*memlock.Store
	mu      sync.Mutex
	ahead   time.Duration   // offset of this machine's clock
	jumps   bool            // each reading is a minute ahead of the previous one
	process []string        // the servers that answer Now; the first answers heartbeats
	fault   error           // the error of heartbeats, and of leaving
	answer  <-chan struct{} // heartbeats are answered once it is closed; nil: at once
	reads   int             // readings of the clock without a heartbeat
}

func newServer() *server {
	s := &server{process: []string{"p1"}}
	s.Store = memlock.New(memlock.Options{Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.jumps {
			s.ahead += time.Minute
		}
		return time.Now().Add(s.ahead)
	}})
	return s
}

// set changes the server.
func (s *server) set(change func(s *server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *server) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	s.mu.Lock()
	fault, answer, process, sent := s.fault, s.answer, s.process[0], time.Now()
	s.mu.Unlock()
	if fault != nil {
		return series.BeatAnswer{}, fault
	}
	if answer != nil {
		select {
		case <-answer:
		case <-ctx.Done():
			late := context.WithoutCancel(ctx) // the server has the request
			time.AfterFunc(3*time.Second, func() { _, _ = s.Store.Beat(late, b) })
			return series.BeatAnswer{}, ctx.Err()
		}
	}
	a, err := s.Store.Beat(ctx, b)
	for i := range a.Readings {
		a.Readings[i].Process, a.Readings[i].Server, a.Readings[i].Sent = process, "server", sent
	}
	return a, err
}

func (s *server) Leave(ctx context.Context, node string) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		return fault
	}
	return s.Store.Leave(ctx, node)
}

func (s *server) Now(ctx context.Context) (all []driver.ClockReading, err error) {
	s.mu.Lock()
	s.reads++
	processes := slices.Clone(s.process)
	s.mu.Unlock()
	for _, p := range processes {
		if p == "down" {
			return nil, errors.New("refused")
		}
		rs, err := s.Store.Now(ctx)
		if err != nil {
			return nil, err
		}
		rs[0].Process = p
		all = append(all, rs...)
	}
	return all, nil
}

// A node is the heart of a node, with the events that it reported.
type node struct {
	*heartbeat.Heart
	clock clock.Clock
	early signal.Signal
	mu    sync.Mutex
	lines []string
}

// newNode returns a node that has not started.
func newNode(s *server, name string, change ...func(*heartbeat.Config)) *node {
	n := &node{early: signal.New()}
	c := heartbeat.Config{
		Store: s, Node: name, Partitions: 1, Clock: &n.clock, Health: n, Events: n, Timeout: 2 * time.Second, ClockWarn: 500 * time.Millisecond,
		Early: n.early, Joined: func() { n.say("joined") }, Stepped: func(by time.Duration) { n.say("stepped %v", by) },
		Nodes: func(all rendezvous.Nodes, joined bool) { n.say("%d nodes, %v", all.Count(), joined) },
	}
	for _, f := range change {
		f(&c)
	}
	n.Heart = heartbeat.New(c)
	return n
}

// start sends the first heartbeat, as a node does before its jobs are opened, and then
// runs the heart until the test ends.
func (n *node) start(t *testing.T) {
	n.Beat(t.Context())
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

func (n *node) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *node) Answered(p health.Part, err error) {
	if err != nil {
		n.say("no list: %v", err)
	}
}
func (n *node) ClockStepped(by time.Duration)    { n.say("clock stepped %v", by) }
func (n *node) ClockOffset(offset time.Duration) { n.say("clock offset %v", offset) }
func (n *node) ClockUnsteady()                   { n.say("clock unsteady") }
func (n *node) StoreReplaced(server string)      { n.say("replaced %s", server) }

// said compares the events since the last call.
func (n *node) said(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	got := n.lines
	n.lines = nil
	n.mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("the node said %q, want %q", got, want)
	}
}

// Two nodes start together. Each has the other on its list a second later, and does not count it as
// a node that joins. A third node, which starts later, joins within ten seconds.
func TestNodesFindEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a, b := newNode(s, "a"), newNode(s, "b")
		a.start(t)
		b.start(t)
		a.said(t, "1 nodes, false")
		b.said(t, "2 nodes, true") // it is not opened yet: claims do not change
		time.Sleep(1500 * time.Millisecond)
		a.said(t, "2 nodes, true")
		b.said(t, "2 nodes, false")
		c := newNode(s, "c")
		c.start(t)
		time.Sleep(heartbeat.Every)
		a.said(t, "3 nodes, true", "joined")
	})
}

// A node that leaves is removed from the list at once. A node that falls silent stays for 25 more
// seconds, because two of its heartbeats may be lost.
func TestNodesLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a, b, silent := newNode(s, "a"), newNode(s, "b"), newNode(s, "silent")
		b.Beat(t.Context())
		silent.Beat(t.Context())
		a.start(t)
		a.said(t, "3 nodes, true")
		b.Leave(t.Context())
		a.early.Raise()
		a.said(t, "2 nodes, false")
		time.Sleep(24 * time.Second)
		a.said(t, "2 nodes, false", "2 nodes, false")
		time.Sleep(7 * time.Second)
		a.said(t, "1 nodes, false")
	})
}

// A node leaves while its heartbeat is on its way: Run returns when the store has answered it, so that it cannot list the node again.
func TestLastHeartbeatIsBeforeTheLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		answer := make(chan struct{})
		s.answer = answer
		n := newNode(s, "a")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.Run(ctx)
		}()
		n.early.Raise()
		synctest.Wait()
		stop()
		time.AfterFunc(time.Second, func() { close(answer) })
		<-ended
		n.Leave(t.Context())
		time.Sleep(5 * time.Second)
		if a, err := s.Members(t.Context()); err != nil || len(a.Members) != 1 || a.Members[0].Left == 0 {
			t.Errorf("the store has %+v (%v), want one node that left", a.Members, err)
		}
	})
}

// A node that is to read the list early sends its next heartbeat ten seconds after that one.
func TestEarlyHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a")
		n.start(t)
		time.Sleep(5 * time.Second)
		n.said(t, "1 nodes, false", "1 nodes, false")
		n.early.Raise()
		n.said(t, "1 nodes, false")
		time.Sleep(heartbeat.Every - time.Millisecond)
		n.said(t)
		time.Sleep(time.Millisecond)
		n.said(t, "1 nodes, false")
	})
}

// While nothing can happen, a node sends no heartbeat, and stays on the list.
func TestIdleNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a", func(c *heartbeat.Config) { c.Idle = func() time.Duration { return 3 * heartbeat.Every } })
		n.start(t)
		time.Sleep(time.Second)
		n.said(t, "1 nodes, false", "1 nodes, false")
		time.Sleep(3*heartbeat.Every - time.Millisecond)
		n.said(t)
		if a, err := s.Members(t.Context()); err != nil || len(a.Members) != 1 || !a.Members[0].Alive(time.Now().UnixMilli()) {
			t.Errorf("the store has %+v (%v), want one node that is alive", a.Members, err)
		}
		time.Sleep(time.Millisecond)
		n.said(t, "1 nodes, false")
	})
}

// The store refuses the list of nodes. The node still reads the clock, because its jobs only need
// the clock.
func TestClockWithoutTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fault = errors.New("refused")
		n := newNode(s, "a")
		n.start(t)
		time.Sleep(2 * heartbeat.Every)
		n.said(t, "no list: refused", "no list: refused", "no list: refused")
		if !n.clock.Ready() {
			t.Error("the clock was not read")
		}
	})
}

// The store does not answer at all. A node with one partition sends no further request for the clock. A
// node with several does, because the others may answer.
func TestClockOfASilentPartition(t *testing.T) {
	for partitions, want := range map[int]int{1: 0, 4: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.answer = make(chan struct{})
			n := newNode(s, "a", func(c *heartbeat.Config) { c.Partitions = partitions })
			n.Beat(t.Context())
			n.said(t, "no list: context deadline exceeded")
			if s.reads != want {
				t.Errorf("with %d partitions the clock was read %d times, want %d", partitions, s.reads, want)
			}
		})
	}
}

// A node stops while a heartbeat has no answer. This proves nothing about the store.
func TestHeartbeatCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.answer = make(chan struct{})
		n := newNode(s, "a")
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if n.Beat(ctx) {
			t.Error("a node joined")
		}
		n.said(t)
	})
}

// The store's clock steps by a minute. The node reads it twice more, adopts the step, and moves its
// planned instants.
func TestClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a")
		n.start(t)
		time.Sleep(5 * time.Second)
		n.said(t, "1 nodes, false", "1 nodes, false")
		s.set(func(s *server) { s.ahead = time.Minute })
		time.Sleep(heartbeat.Every)
		n.said(t, "1 nodes, false", "clock stepped 1m0s", "stepped 1m0s", "clock offset -1m0s")
		if off := n.Offset(); off != -time.Minute {
			t.Errorf("the machine's clock is %v ahead, want -1m", off)
		}
	})
}

// No two readings of the store's clock agree. The node keeps its time, and logs this once a minute.
func TestClockUnsteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a")
		n.start(t)
		time.Sleep(1500 * time.Millisecond)
		n.said(t, "1 nodes, false", "1 nodes, false")
		s.set(func(s *server) { s.jumps = true })
		time.Sleep(80 * time.Second)
		n.mu.Lock()
		defer n.mu.Unlock()
		unsteady := 0
		for _, l := range n.lines {
			if l == "clock unsteady" {
				unsteady++
			} else if l != "1 nodes, false" {
				t.Errorf("the node said %q", l)
			}
		}
		if unsteady != 2 {
			t.Errorf("%d times unsteady in 80 s, want 2", unsteady)
		}
	})
}

// This machine's clock is wrong by more than the node's limit. The node warns once, and again when
// the offset has changed by as much. Its heartbeats report the offset once the clock has been read.
func TestClockOffsetIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a", func(c *heartbeat.Config) { c.ClockOffset = 2 * time.Second })
		ahead := func(want int64) {
			t.Helper()
			if a, err := s.Members(t.Context()); err != nil || len(a.Members) != 1 || *a.Members[0].Ahead != want {
				t.Errorf("the store has %+v (%v), want one node that is %d ms ahead", a.Members, err, want)
			}
		}
		n.start(t)
		n.said(t, "1 nodes, false", "clock offset 2s")
		ahead(0) // not read yet when the heartbeat was sent
		time.Sleep(12 * time.Second)
		n.said(t, "1 nodes, false", "1 nodes, false")
		ahead(2000)
		s.set(func(s *server) { s.ahead = -10 * time.Second })
		time.Sleep(heartbeat.Every)
		n.said(t, "1 nodes, false", "clock stepped -10s", "stepped -10s", "clock offset 12s")
	})
}

// An answer that takes long makes a clock that is slightly wrong look worse. The node does not warn.
func TestClockOffsetOfASlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		answer := make(chan struct{})
		s.answer = answer
		time.AfterFunc(time.Second, func() { close(answer) })
		n := newNode(s, "a", func(c *heartbeat.Config) { c.ClockOffset = -200 * time.Millisecond })
		n.Beat(t.Context())
		n.said(t, "1 nodes, false")
		if off := n.Offset(); off > -600*time.Millisecond {
			t.Errorf("the clock looks wrong by %v, want more than the limit", off)
		}
	})
}

// This machine's clock is wrong by about the node's limit, and readings place it on either side of that. The node warns once, and
// once more when the clock was right meanwhile.
func TestClockOffsetNearTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		n := newNode(s, "a", func(c *heartbeat.Config) { c.ClockOffset = c.ClockWarn })
		n.Beat(t.Context())
		n.said(t, "1 nodes, false")
		beats := func(ahead time.Duration, want ...string) {
			t.Helper()
			s.set(func(s *server) { s.ahead = ahead })
			for range 10 { // the clock follows by small steps
				n.Beat(t.Context())
			}
			n.mu.Lock()
			lines := slices.DeleteFunc(slices.Clone(n.lines), func(l string) bool { return l == "1 nodes, false" })
			n.lines = nil
			n.mu.Unlock()
			if !slices.Equal(lines, want) {
				t.Errorf("with a store ahead by %v: %q, want %q", ahead, lines, want)
			}
		}
		const near = 10 * time.Millisecond
		beats(-near, "clock offset 510ms")
		beats(near)
		beats(-near)
		beats(400 * time.Millisecond)
		beats(-near, "clock offset 510ms")
	})
}

// Another process answers the heartbeats. If the earlier one no longer answers, the store was
// restarted or replaced, and may have lost decisions. If it answers, the list of nodes has moved to
// another master.
func TestStoreReplaced(t *testing.T) {
	for _, c := range []struct {
		now  []string // the processes that answer then
		want []string
	}{
		{[]string{"p2"}, []string{"1 nodes, false", "replaced server"}},
		{[]string{"p2", "p1"}, []string{"1 nodes, false"}},
		{[]string{"p1", "p2"}, []string{"1 nodes, false"}},
		{[]string{""}, []string{"1 nodes, false"}},           // not known
		{[]string{"p2", "down"}, []string{"1 nodes, false"}}, // it is not known whether the earlier one answers
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			n := newNode(s, "a")
			n.Beat(t.Context())
			n.said(t, "1 nodes, false")
			s.set(func(s *server) { s.process = c.now })
			n.Beat(t.Context())
			n.said(t, c.want...)
			s.reads = 0
			n.Beat(t.Context())
			n.said(t, "1 nodes, false")
			if again := slices.Contains(c.now, "down"); s.reads > 0 != again {
				t.Errorf("%q: the next heartbeat checks again: %v, want %v", c.now, !again, again)
			}
		})
	}
}
