package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

// KeepOutput keeps the output of a run, if its series is open.
func (s *Store) KeepOutput(ctx context.Context, o driver.Output) error {
	if err := doubt(ctx, "keep an output of", o.Key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(o.Key).outputs.Keep(o)
	return nil
}

// Output returns the output of a number.
func (s *Store) Output(ctx context.Context, key string, number int64) (driver.Output, error) {
	if err := doubt(ctx, "read an output of", key); err != nil {
		return driver.Output{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(key).outputs.Of(key, number), nil
}
