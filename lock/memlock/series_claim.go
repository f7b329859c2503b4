package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

// MostShards implements [series.Sharder].
func (s *Store) MostShards() int { return series.MaxShards }

// Claim implements [series.Numbered]. It judges the whole batch at one instant.
func (s *Store) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	out := make([]series.Answer, len(cs))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	ended := ctx.Err() != nil
	for i := range cs {
		c := &cs[i]
		if ended {
			out[i].Err = doubt(ctx, "claim", c.Key)
			continue
		}
		r := s.record(c.Key)
		out[i] = r.Claim(us, c, s.writer(r))
	}
	return out
}
