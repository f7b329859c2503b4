package memlock

import (
	"context"
	"maps"

	"github.com/cronce/cronce/lock/series"
)

var _ series.GroupPeeker = (*Store)(nil)

// Decided implements [series.GroupPeeker].
func (s *Store) Decided(ctx context.Context, g series.Group) (bool, error) {
	if err := doubt(ctx, "ask whether a group is decided", g.String()); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups[g] > s.now().UnixMilli(), nil
}

// Noticed implements [series.GroupPeeker]. The store sends no notices of groups: a question costs no more.
func (s *Store) Noticed(series.Group) bool { return false }

// KeepDecided implements [series.GroupPeeker].
func (s *Store) KeepDecided(ctx context.Context, g series.Group) error {
	if err := doubt(ctx, "keep that a group is decided", g.String()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now().UnixMilli()
	maps.DeleteFunc(s.groups, func(_ series.Group, until int64) bool { return until <= now })
	if s.groups == nil {
		s.groups = map[series.Group]int64{}
	}
	s.groups[g] = now + series.GroupLife.Milliseconds()
	return nil
}
