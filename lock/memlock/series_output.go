package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

// KeepOutput keeps the output of a run, if its series is open.
func (s *Store) KeepOutput(ctx context.Context, o series.Output) error {
	if err := doubt(ctx, "keep an output of", o.Key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(o.Key).outputs.Keep(o)
	return nil
}

// Output returns the output of a number.
func (s *Store) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	if err := doubt(ctx, "read an output of", key); err != nil {
		return series.Output{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(key).outputs.Of(key, number), nil
}
