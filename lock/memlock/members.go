package memlock

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// Beat tells that node lives for ttl more and returns who else does.
func (s *Store) Beat(ctx context.Context, node string, ttl time.Duration) (lock.Pulse, error) {
	if err := ask(ctx, "beat of", node, lock.CheckBeat(node, ttl)); err != nil {
		return lock.Pulse{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = make(map[string]int64)
	}
	p := lock.Pulse{Readings: []lock.Reading{s.reading()}}
	ms := p.Readings[0].Time.UnixMilli()
	s.nodes[node] = ms + ttl.Milliseconds()
	maps.DeleteFunc(s.nodes, func(_ string, until int64) bool { return until <= ms })
	p.Nodes = slices.Sorted(maps.Keys(s.nodes))
	return p, nil
}

// Leave takes node off the list.
func (s *Store) Leave(ctx context.Context, node string) error {
	if err := ask(ctx, "leave of", node, lock.CheckName("node", node)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, node)
	return nil
}
