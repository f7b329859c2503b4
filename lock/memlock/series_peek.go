package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

var _ series.Peeker = (*Store)(nil)

// Peek implements [series.Peeker]. Its answers are always whole.
func (s *Store) Peek(ctx context.Context, ps []series.NumberRef, _ bool) ([]*series.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]*series.Answer, len(ps))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	for i := range ps {
		out[i] = s.record(ps[i].Key).Peek(us, ps[i].Number)
	}
	return out, nil
}
