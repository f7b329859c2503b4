package locktest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cronce/cronce/lock/driver"
)

const racers = 6

// race runs f for so many that begin together, and counts those that report success.
func race(f func(i int) bool) int {
	var done atomic.Int32
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			if f(i) {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return int(done.Load())
}

// Operators that free a key at the same time take its lease from the holder once, and
// one record is kept; what one of them sends twice counts once.
func forceRace(s *stand) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, h := s.acquire(a)
		h.Limit = limit
		before := len(s.forcings("key"))
		freed := race(func(i int) bool {
			_, err := s.driver.(driver.Forcer).Force(s.ctx, forcing(fmt.Sprint(limit, " of ", i/2)))
			if err != nil && !errors.Is(err, driver.ErrFree) {
				s.Errorf("force: %v", err)
			}
			return err == nil
		})
		if freed != 1 && freed != 2 {
			s.Errorf("%d have freed the key", freed)
		}
		equal(s, "records", len(s.forcings("key"))-before, 1)
		s.notRenewed(h)
	}
}

// Of owners that adopt one lease at the same time one has it.
func adoptRace(s *stand) {
	for _, limit := range s.limits() {
		a := s.acquisition(long)
		a.Limit = limit
		_, old := s.acquire(a)
		old.Limit = limit
		to := make([]driver.Acquisition, racers)
		for i := range to {
			to[i] = s.acquisition(long)
		}
		fences := make([]int64, racers)
		equal(s, "adoptions", race(func(i int) bool {
			g, err := s.adopt(old, to[i])
			if err != nil && !errors.Is(err, driver.ErrLost) {
				s.Errorf("adopt: %v", err)
			}
			fences[i] = g.Fence
			return err == nil
		}), 1)
		var h driver.LeaseRef
		for i, fence := range fences {
			if fence > 0 {
				h = driver.LeaseRef{Key: "key", Owner: to[i].Owner, Fence: fence, TTL: long, Limit: limit}
			}
		}
		s.renewed(h)
		s.release(h)
	}
}
