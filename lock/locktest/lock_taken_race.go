package locktest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cronce/cronce/lock/driver"
)

const racers = 6

// race runs f in racers goroutines that begin together, and counts how many of them report success.
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

// Operators that free a key at the same time take its lease from the holder once, and one record is
// kept; a request that one of them sends twice counts once.
func forceRace(s *fixture) {
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
