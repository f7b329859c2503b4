package lock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A StoreEvent is a fault of the store that a Locker noticed while it held leases. Another owner
// may have been granted a held key then, this one or others.
type StoreEvent struct {
	// Key is the key of a lease that the store has forgotten; empty if the event is about a server.
	Key   string
	Fence int64
	// Server is the server whose clock jumped, or that was replaced, and Step how far its clock
	// jumped: if forward, its leases ended early; if back, they last longer.
	Server string
	Step   time.Duration
	// Replaced reports that the server was restarted, or that another took its place. Data that it
	// had neither written to disk nor replicated is gone.
	Replaced bool
	// Dropped is how many events before this one were not reported, because the function was too
	// slow.
	Dropped int
}

func (t StoreEvent) afterDropped(n int) StoreEvent {
	t.Dropped = n
	return t
}

func (t StoreEvent) String() string {
	switch {
	case t.Key != "":
		return fmt.Sprintf("the store has forgotten the lease on %q with the fence %d", t.Key, t.Fence)
	case t.Replaced:
		return fmt.Sprintf("the server %s was restarted or replaced: data that it had neither written to disk nor replicated is gone", t.Server)
	}
	return fmt.Sprintf("the clock of the store %s jumped by %v", t.Server, t.Step)
}

// OnStoreEvent sets a function that is called with each later store event; nil removes it. One
// goroutine of the Locker calls f for one event after the other, and no renewal and no end of a
// lease waits for it. While 1,024 events wait, a new one replaces the newest. A panic in f is
// recovered. [Locker.Wait] also waits for f. If the store is [driver.Clocked], its clocks and
// processes are checked with the renewals of leases: an event while no lease is held is
// reported with the next renewal.
func (l *Locker) OnStoreEvent(f func(StoreEvent)) { l.storeEvents.function.Store(&f) }

// storeEvents reports store events, and detects the events of servers.
type storeEvents struct {
	observer[StoreEvent]
	start time.Time // when the Locker was made: our clock counts from there

	reading sync.Mutex // held while clocks are read
	looked  time.Time
	clocks  map[string]offset     // by server
	servers []driver.ClockReading // the last readings
}

// An offset is how far a clock is ahead of ours, which takes no steps, and the greatest error of
// that measurement.
type offset struct{ ahead, wrong time.Duration }

const (
	clockStep  = 500 * time.Millisecond // a smaller step is drift
	clockEvery = time.Second            // how often clocks are read
)

// check compares the clocks of the store with ours, unless it did so within the last second, and
// reports the differences.
func (t *storeEvents) check(ctx context.Context, b *background, d driver.Driver) {
	clocked, can := d.(driver.Clocked)
	if !can || !t.observed() {
		return
	}
	for _, found := range t.find(ctx, clocked) {
		t.add(b, found)
	}
}

// find returns the events since the last readings.
func (t *storeEvents) find(ctx context.Context, clocked driver.Clocked) (all []StoreEvent) {
	if !t.reading.TryLock() {
		return nil
	}
	defer t.reading.Unlock()
	if time.Since(t.looked) < clockEvery {
		return nil
	}
	t.looked = time.Now()
	readings, err := clocked.Now(ctx)
	if err != nil {
		return nil // the next renewal reads them again
	}
	for _, server := range replaced(t.servers, readings) {
		all = append(all, StoreEvent{Server: server, Replaced: true})
	}
	t.servers = slices.Concat(readings, missing(t.servers, readings))
	for _, r := range readings {
		if step := t.step(r); step != 0 {
			all = append(all, StoreEvent{Server: r.Server, Step: step})
		}
	}
	return all
}

// replaced returns the servers with a new process, if an old process is gone. If none is gone, the
// new server has joined: one more master of a Cluster replaced no other.
func replaced(before, now []driver.ClockReading) (servers []string) {
	unknown := func(r driver.ClockReading, among []driver.ClockReading) bool {
		return r.Process != "" && !slices.ContainsFunc(among, func(o driver.ClockReading) bool { return o.Process == r.Process })
	}
	gone := slices.ContainsFunc(before, func(r driver.ClockReading) bool { return unknown(r, now) })
	for _, r := range now {
		if gone && unknown(r, before) {
			servers = append(servers, r.Server)
		}
	}
	return servers
}

// replacedWithin is the time within which a server that does not answer is expected to be replaced.
const replacedWithin = 2 * time.Minute

// missing returns the servers that no longer answer and are not replaced yet: in a failover the
// place of a master stays empty for a while, and the other masters of a Cluster answer meanwhile.
func missing(before, now []driver.ClockReading) (servers []driver.ClockReading) {
	fresh := 0 // servers at an address that is new
	for _, r := range now {
		if !slices.ContainsFunc(before, func(o driver.ClockReading) bool { return o.Server == r.Server || o.Process == r.Process }) {
			fresh++
		}
	}
	for _, r := range before {
		answers := slices.ContainsFunc(now, func(o driver.ClockReading) bool { return o.Server == r.Server || o.Process == r.Process })
		switch {
		case answers || time.Since(r.Received) >= replacedWithin:
		case fresh > 0: // its place is taken
			fresh--
		default:
			servers = append(servers, r)
		}
	}
	return servers
}

// step returns how far a clock has jumped since its last reading, or 0.
func (t *storeEvents) step(r driver.ClockReading) time.Duration {
	half := r.Received.Sub(r.Sent) / 2
	now := offset{ahead: r.Time.Sub(t.start.Round(0)) - r.Sent.Add(half).Sub(t.start), wrong: half}
	before, known := t.clocks[r.Server]
	if t.clocks == nil {
		t.clocks = make(map[string]offset)
	}
	t.clocks[r.Server] = now
	step := now.ahead - before.ahead
	if !known || step.Abs() < clockStep+now.wrong+before.wrong {
		return 0
	}
	return step
}
