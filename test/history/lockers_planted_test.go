package history_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/test/history"
)

// oneFloor is a Locker with one floor for the fences of all keys, whichever server judges
// them.
type oneFloor struct {
	*wire
	mu    sync.Mutex
	floor int64
}

func (f *oneFloor) raised(a driver.Acquisition) driver.Acquisition {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.Fence = max(a.Fence, f.floor)
	return a
}

func (f *oneFloor) saw(g driver.Grant, err error) (driver.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.floor = max(f.floor, g.Fence)
	return g, err
}

func (f *oneFloor) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return f.saw(f.wire.Acquire(ctx, f.raised(a)))
}

func (f *oneFloor) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return f.saw(f.wire.Wait(ctx, f.raised(a)))
}

// sameNames is a Locker whose owners have no random bits: the owners of two processes with one name are
// the same.
type sameNames struct{ *wire }

func plainName(owner string) string {
	node, rest, _ := strings.Cut(owner, "/")
	_, number, _ := strings.Cut(rest, ".")
	return node + "/" + number
}

func (s sameNames) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Owner = plainName(a.Owner)
	return s.wire.Acquire(ctx, a)
}

func (s sameNames) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Owner = plainName(a.Owner)
	return s.wire.Wait(ctx, a)
}

func (s sameNames) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	h.Owner = plainName(h.Owner)
	return s.wire.Renew(ctx, h)
}

func (s sameNames) Release(ctx context.Context, h driver.LeaseRef) error {
	h.Owner = plainName(h.Owner)
	return s.wire.Release(ctx, h)
}

func (s sameNames) AcquireAll(context.Context, []driver.Acquisition) ([]driver.Grant, error) {
	return nil, lock.ErrUnsupported
}

// shy is a Locker that refuses a key while another goroutine of its process is merely
// asking for it.
type shy struct {
	*wire
	mu     sync.Mutex
	asking map[string]bool
}

func (s *shy) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	s.mu.Lock()
	if s.asking[a.Key] {
		s.mu.Unlock()
		return driver.Grant{}, &lock.HeldError{Key: a.Key}
	}
	s.asking[a.Key] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asking, a.Key)
	}()
	return s.wire.Acquire(ctx, a)
}

// Faults of Lockers that do not show in the history of a store's requests are found in the holds of the
// processes, within three histories.
func TestPlantedLockersAreFound(t *testing.T) {
	for name, plant := range map[string]func(*wire) driver.Driver{
		"one floor for all keys":          func(w *wire) driver.Driver { return &oneFloor{wire: w} },
		"owners without random bits":      func(w *wire) driver.Driver { return sameNames{w} },
		"a try refused for those who ask": func(w *wire) driver.Driver { return &shy{wire: w, asking: map[string]bool{}} },
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			for seed := uint64(0); seed < 3 && !history.Refuted(err); seed++ {
				var holds []history.Hold
				synctest.Test(t, func(t *testing.T) {
					to := newCluster(0, -skew)
					holds = lockers(t, seed, func(p int) driver.Driver { return plant(newWire(to, seed<<8+uint64(p))) })
				})
				err = history.CheckHolds(holds, driver.MinTTL, onTheWay)
			}
			if !history.Refuted(err) {
				t.Errorf("the fault was not found: %v", err)
			}
		})
	}
}
