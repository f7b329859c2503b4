package memlock

import (
	"context"

	"github.com/cronce/cronce/lock"
)

var _ lock.Peeker = (*Store)(nil)

// Peek tells which numbers are decided. Its answers are always whole.
func (s *Store) Peek(ctx context.Context, ps []lock.Peek, _ bool) ([]*lock.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]*lock.Answer, len(ps))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	for i := range ps {
		out[i] = s.look(ps[i].Key).Peek(us, ps[i].Number)
	}
	return out, nil
}
