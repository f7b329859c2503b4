package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

// KeepOutput implements [series.OutputKeeper]. It keeps no output of a series that is not open.
func (s *Store) KeepOutput(ctx context.Context, o series.Output) error {
	if err := doubt(ctx, "keep an output of", o.Key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(o.Key).outputs.Keep(o)
	return nil
}

// Output implements [series.OutputKeeper].
func (s *Store) Output(ctx context.Context, key string, number int64) (series.Output, error) {
	if err := doubt(ctx, "read an output of", key); err != nil {
		return series.Output{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(key).outputs.Of(key, number), nil
}
