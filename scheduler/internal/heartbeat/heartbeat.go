// Package heartbeat reports to the store that a node is alive, reads the list of live nodes, and
// feeds the cluster clock.
package heartbeat

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/internal/signal"
)

// Intervals of heartbeats.
const (
	Every     = series.MemberEvery
	ttl       = series.MemberFor
	handshake = time.Second // after the first heartbeat, so that nodes that start together soon see each other
	reread    = 100 * time.Millisecond
)

// A Store has a list of nodes and a clock.
type Store interface {
	series.Membership
	driver.Clocked
}

// Health is notified of answers and failures of the store.
type Health interface {
	Answered(p health.Part, err error)
}

// Events writes events to the log.
type Events interface {
	ClockStepped(by time.Duration)
	ClockOffset(offset time.Duration)
	ClockUnsteady()
	StoreReplaced(server string)
}

// Config has the dependencies and settings of a Heart. All fields but ClockOffset and Idle are
// required.
type Config struct {
	Store       Store
	Node        string
	Partitions  int
	Clock       *clock.Clock
	Health      Health
	Events      Events
	Timeout     time.Duration                             // of one request
	ClockWarn   time.Duration                             // the offset between this machine's clock and the store's above which it is logged
	ClockOffset time.Duration                             // added to this machine's clock, for tests
	Early       signal.Signal                             // raised to request a heartbeat before its time
	Nodes       func(nodes rendezvous.Nodes, joined bool) // gets the list of live nodes
	Joined      func()                                    // is called, after the handshake, when a node joined
	Stepped     func(by time.Duration)                    // is called when the clock adopted a step
	Idle        func() time.Duration                      // returns how long nothing can happen; nil: it is not known
}

// A Heart sends the heartbeats of a node. Only one goroutine at a time may use it, but any may call Drain.
type Heart struct {
	cfg       Config
	drain     signal.Signal // raised when the node drains
	nodes     rendezvous.Nodes
	warned    time.Duration // the clock offset that was logged; 0: none
	disagreed time.Time     // when the log last had that readings of the clock do not agree
	process   string        // the process of the store that answers
	next      time.Duration // the time until the next heartbeat
}

// New returns a Heart. It starts nothing.
func New(cfg Config) *Heart {
	return &Heart{cfg: cfg, drain: signal.New(), nodes: rendezvous.Of(cfg.Node, nil)}
}

// Run sends heartbeats until ctx ends, and returns when the store has answered the last one or its time is over. After Drain
// it leaves the list in place of each heartbeat, and reads the clock.
func (h *Heart) Run(ctx context.Context) {
	t := time.NewTimer(handshake)
	defer t.Stop()
	drains := false
	for first := true; ; first = false {
		select {
		case <-t.C:
		case <-h.cfg.Early:
		case <-h.drain:
			drains = true
		case <-ctx.Done():
			return
		}
		switch {
		case drains:
			h.withdraw(ctx)
			h.readClock(ctx)
		case h.Beat(ctx) && !first: // nodes that start together with this one have nothing to read yet
			h.cfg.Joined()
		}
		t.Reset(h.next)
	}
}

// Drain makes Run leave the list: the node claims nothing more, so its share of ticks to claim and of runs to watch is for
// others, however long its own runs go on.
func (h *Heart) Drain() { h.drain.Raise() }

// interval returns the time between a heartbeat and the next one.
func (h *Heart) interval() time.Duration {
	if h.cfg.Idle == nil {
		return Every
	}
	return max(Every, h.cfg.Idle())
}

// Beat sends one heartbeat, reads the list of nodes, and reads the clock. It reads the clock even
// if the list cannot be read, because no job waits for the list. It reports whether a node joined.
func (h *Heart) Beat(ctx context.Context) (joined bool) {
	next := h.interval()
	h.next = next
	whole := context.WithoutCancel(ctx)                                                                    // a request that is cut short may reach the store after Leave, and list the node again
	a, err := wait.CallWithin(whole, h.cfg.Timeout, func(ctx context.Context) (series.BeatAnswer, error) { // the call may outlive this method
		return h.cfg.Store.Beat(ctx, series.Beat{Node: h.cfg.Node, TTL: next + ttl - Every, Ahead: h.Offset()})
	})
	if ctx.Err() != nil {
		return false // the node stops
	}
	h.cfg.Health.Answered(health.Part{Kind: health.Nodes}, err)
	if err != nil {
		if h.cfg.Partitions > 1 || !errors.Is(err, context.DeadlineExceeded) { // other partitions may answer, or only the list may be refused
			h.readClock(ctx)
		}
		return false
	}
	nodes := rendezvous.Of(h.cfg.Node, a.Nodes)
	joined = nodes.Joined(&h.nodes)
	h.nodes = nodes
	h.cfg.Nodes(nodes, joined)
	h.observe(ctx, a.Readings)
	h.recognise(ctx, a.Readings)
	return joined
}

// readClock reads the clock if the list of nodes cannot be read, or is not needed any more.
func (h *Heart) readClock(ctx context.Context) {
	rs, err := wait.CallWithin(ctx, h.cfg.Timeout, func(ctx context.Context) ([]driver.ClockReading, error) {
		ctx, stop := context.WithTimeout(ctx, h.cfg.Timeout/2) // leaves out servers that do not answer by then
		defer stop()
		return h.cfg.Store.Now(ctx)
	})
	if err == nil {
		h.observe(ctx, rs)
	}
}

// observe feeds the clock. After a reading that differs by a step it continues to read until enough
// readings agree or too many do not. So neither a clock that jumps nor masters whose clocks
// disagree delay a heartbeat for long.
func (h *Heart) observe(ctx context.Context, rs []driver.ClockReading) {
	stepped, again := h.cfg.Clock.Observe(rs)
	for reads := 1; again && reads < clock.MostReads && wait.Sleep(ctx, reread) == nil; reads++ {
		rs, err := wait.CallWithin(ctx, h.cfg.Timeout, h.cfg.Store.Now)
		if err != nil {
			return
		}
		stepped, again = h.cfg.Clock.Observe(rs)
	}
	if again {
		h.warnUnsteady()
	}
	if stepped != 0 {
		h.cfg.Events.ClockStepped(stepped)
		h.cfg.Stepped(stepped)
	}
	h.warnOffset()
}

// warnUnsteady logs, at most once a minute, that the readings of the store's clock do not agree.
func (h *Heart) warnUnsteady() {
	if time.Since(h.disagreed) < health.Reminder {
		return
	}
	h.disagreed = time.Now()
	h.cfg.Events.ClockUnsteady()
}

// Offset returns how far this machine's clock is ahead of the store's, or 0 while the store's has not been read.
func (h *Heart) Offset() time.Duration {
	if !h.cfg.Clock.Ready() {
		return 0
	}
	return time.Now().Add(h.cfg.ClockOffset).Sub(h.cfg.Clock.Now())
}

// warnOffset logs that this machine's clock differs from the store's by more than slow answers
// explain. It logs this once until it changes. An offset near the limit, which readings place on
// either side of it, has not changed: only one below half the limit ends the warning.
func (h *Heart) warnOffset() {
	offset := h.Offset()
	switch {
	case offset.Abs() <= h.cfg.ClockWarn/2:
		h.warned = 0
	case offset.Abs() > h.cfg.ClockWarn+h.cfg.Clock.WrongBy() && (offset-h.warned).Abs() > h.cfg.ClockWarn:
		h.warned = offset
		h.cfg.Events.ClockOffset(offset)
	}
}

// recognise logs that the store was restarted or replaced: another process answers, and the earlier
// one does not. If the earlier one answers too, the list of nodes has moved to another master of a
// Cluster.
func (h *Heart) recognise(ctx context.Context, rs []driver.ClockReading) {
	if len(rs) == 0 || rs[0].Process == "" || rs[0].Process == h.process {
		return
	}
	if h.process != "" {
		all, err := wait.CallWithin(ctx, h.cfg.Timeout, h.cfg.Store.Now)
		if err != nil {
			return // the next heartbeat repeats the check
		}
		if !slices.ContainsFunc(all, func(r driver.ClockReading) bool { return r.Process == h.process }) {
			h.cfg.Events.StoreReplaced(rs[0].Server)
		}
	}
	h.process = rs[0].Process
}

// Leave removes the node from the list, so that its share goes to others at once. If the request
// fails, the entry expires with the time to live of the last heartbeat.
func (h *Heart) Leave(ctx context.Context) { _ = h.leave(ctx) }

func (h *Heart) leave(ctx context.Context) error {
	_, err := wait.CallWithin(ctx, h.cfg.Timeout, func(ctx context.Context) (any, error) {
		return nil, h.cfg.Store.Leave(ctx, h.cfg.Node)
	})
	return err
}

// withdraw leaves the list in a drain. Once is not enough: a heartbeat that was given up may reach the store later, and a
// failover may lose that the node left.
func (h *Heart) withdraw(ctx context.Context) {
	err := h.leave(ctx)
	if ctx.Err() == nil {
		h.cfg.Health.Answered(health.Part{Kind: health.Nodes}, err)
	}
}
