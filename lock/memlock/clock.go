package memlock

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Now reads the store's clock.
func (s *Store) Now(ctx context.Context) ([]driver.ClockReading, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock: read the clock: %w", err)
	}
	return []driver.ClockReading{s.reading()}, nil
}

func (s *Store) reading() driver.ClockReading {
	r := driver.ClockReading{Server: "memory", Sent: time.Now()}
	r.Time = s.now().Round(0) // without the monotonic clock of this process
	r.Received = time.Now()
	return r
}

func (s *Store) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now()
	}
	return time.Now()
}
