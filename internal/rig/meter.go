package rig

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Meter measures how long a ready thread waits for a processor of this machine. Other waits can be
// added with [Meter.Waited]. A test with a time limit extends it by [Meter.Starved], so that no test
// fails because the machine is busy. A Meter may be used concurrently.
type Meter struct {
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex
	waits []wait
	due   time.Time // of the next measurement; zero while there is none
}

// A wait is a wait that was longer than usual.
type wait struct {
	from time.Time
	long time.Duration
}

const (
	meterEvery = 10 * time.Millisecond
	meterUsual = 5 * time.Millisecond // an idle machine also takes this long
)

// NewMeter starts a meter. It stops at the end of the test.
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
	runtime.LockOSThread() // a thread of its own, as nodes have
	// Otherwise the thread would end with the goroutine, and the system would kill every server and
	// node that was started from the thread (Pdeathsig).
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due := time.Now().Add(meterEvery)
		m.expect(due)
		timer.Reset(meterEvery)
		select {
		case <-timer.C:
		case <-m.stop:
			m.expect(time.Time{})
			return
		}
		if late := time.Since(due); late > meterUsual {
			m.Waited(due, late)
		}
	}
}

func (m *Meter) expect(due time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = due
}

// Waited adds a wait that was measured elsewhere, such as by a probe of a server.
func (m *Meter) Waited(from time.Time, long time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = append(m.waits, wait{from, long})
}

// Starved returns the total length of the waits that overlap the interval. Time that is part of
// several waits counts once. A wait that has not ended counts until now: when the machine continues, a
// caller may run before the meter. A nil Meter returns 0.
func (m *Meter) Starved(from, to time.Time) (sum time.Duration) {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	waits := slices.Clone(m.waits)
	if late := time.Since(m.due); !m.due.IsZero() && late > meterUsual {
		waits = append(waits, wait{m.due, late})
	}
	m.mu.Unlock()
	slices.SortFunc(waits, func(a, b wait) int { return a.from.Compare(b.from) })
	var counted time.Time // the end of the time that is in sum
	for _, w := range waits {
		end := w.from.Add(w.long)
		if !end.After(from) || !w.from.Before(to) || !end.After(counted) {
			continue
		}
		sum += end.Sub(w.from) - max(0, counted.Sub(w.from)) // without the part that is in sum already
		counted = end
	}
	return sum
}
