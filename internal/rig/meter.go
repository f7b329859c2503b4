package rig

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Meter measures how long a thread that is ready to run waits for a processor of
// this machine, and adds up the waits that [Meter.Waited] notes. A test whose bound is
// a time extends it by [Meter.Starved], so that a busy machine fails no test. It may be
// used concurrently.
type Meter struct {
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex
	waits []wait
}

// A wait is one that was longer than usual.
type wait struct {
	from time.Time
	long time.Duration
}

const (
	meterEvery = 10 * time.Millisecond
	meterUsual = 5 * time.Millisecond // what an idle machine needs, too
)

// NewMeter starts a meter. It ends with the test.
func NewMeter(t testing.TB) *Meter {
	m := &Meter{stop: make(chan struct{})}
	m.stopped.Go(m.run)
	t.Cleanup(func() {
		close(m.stop)
		m.stopped.Wait()
	})
	return m
}

func (m *Meter) run() {
	runtime.LockOSThread() // a thread of its own, as the nodes' are
	// Without this the thread would end with the goroutine, and the system would
	// kill every server and node that was once started from it (Pdeathsig).
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due := time.Now().Add(meterEvery)
		timer.Reset(meterEvery)
		select {
		case <-timer.C:
		case <-m.stop:
			return
		}
		if late := time.Since(due); late > meterUsual {
			m.Waited(due, late)
		}
	}
}

// Waited notes a wait that something else measured, such as a probe of a server.
func (m *Meter) Waited(from time.Time, long time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = append(m.waits, wait{from, long})
}

// Starved is how long the waits were, in all, that touch the interval. What waited at
// the same time counts once. Without a meter it is nothing.
func (m *Meter) Starved(from, to time.Time) (sum time.Duration) {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	waits := slices.Clone(m.waits)
	m.mu.Unlock()
	slices.SortFunc(waits, func(a, b wait) int { return a.from.Compare(b.from) })
	var counted time.Time // until then
	for _, w := range waits {
		end := w.from.Add(w.long)
		if !end.After(from) || !w.from.Before(to) || !end.After(counted) {
			continue
		}
		sum += end.Sub(w.from) - max(0, counted.Sub(w.from)) // a part of it may be counted
		counted = end
	}
	return sum
}
