package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

// RenewRuns implements [series.Numbered].
func (s *Store) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	out := make([]series.RenewAnswer, len(rs))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	for i := range rs {
		if err := doubt(ctx, "renew", rs[i].Key); err != nil {
			out[i].Err = err
			continue
		}
		out[i] = s.record(rs[i].Key).Renew(us, &rs[i])
	}
	return out
}

// ReleaseRuns implements [series.Numbered].
func (s *Store) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	out := make([]series.EndAnswer, len(es))
	s.mu.Lock()
	defer s.mu.Unlock()
	us := s.now().UnixMicro()
	ended := ctx.Err() != nil
	for i := range es {
		e := &es[i]
		if ended {
			out[i].Err = doubt(ctx, "release", e.Key)
			continue
		}
		r := s.record(e.Key)
		out[i] = r.Release(us, e, s.writer(r))
	}
	return out
}
