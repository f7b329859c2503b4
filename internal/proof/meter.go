package proof

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// A Meter measures how long this machine lets a thread wait that is ready to run.
// Scenarios on a machine that is busy otherwise would blame nodes for what they
// had no processor for: bounds that are times grow by what the meter saw, and by
// no more.
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
			m.mu.Lock()
			m.waits = append(m.waits, wait{due, late})
			m.mu.Unlock()
		}
	}
}

// Starved is how long, in all, the thread waited in the interval. Without a meter
// it is nothing.
func (m *Meter) Starved(from, to time.Time) (sum time.Duration) {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.waits {
		if w.from.Add(w.long).After(from) && w.from.Before(to) {
			sum += w.long
		}
	}
	return sum
}
