package memlock

import (
	"context"
	"maps"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A member is a node: the time until which it is alive, or the time when it left, and how far its clock is ahead.
type member struct {
	until, left int64
	ahead       *int64
}

// Beat implements [series.Membership].
func (s *Store) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	if err := doubt(ctx, "beat of", b.Node); err != nil {
		return series.BeatAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = make(map[string]member)
	}
	p := series.BeatAnswer{Readings: []driver.ClockReading{s.reading()}}
	ms := p.Readings[0].Time.UnixMilli()
	s.nodes[b.Node] = member{until: ms + b.TTL.Milliseconds(), ahead: new(b.Ahead.Milliseconds())}
	maps.DeleteFunc(s.nodes, func(_ string, m member) bool { return max(m.until, m.left) <= ms-series.GoneFor.Milliseconds() })
	for _, m := range s.members(ms) {
		if m.Alive(ms) {
			p.Nodes = append(p.Nodes, m.Node)
		}
	}
	if !slices.Contains(p.Nodes, b.Node) {
		p.Nodes = append(p.Nodes[:min(len(p.Nodes), series.MaxNodes-1)], b.Node)
	}
	slices.Sort(p.Nodes)
	return p, nil
}

// members returns the nodes that are reported at ms, by name.
func (s *Store) members(ms int64) []series.Member {
	l := series.MemberList{Now: ms, Members: make([]series.Member, 0, len(s.nodes))}
	for node, m := range s.nodes {
		l.Members = append(l.Members, series.Member{Node: node, Until: m.until, Left: m.left, Ahead: m.ahead})
	}
	l.Trim()
	return l.Members
}

// Leave implements [series.Membership].
func (s *Store) Leave(ctx context.Context, node string) error {
	if err := doubt(ctx, "leave of", node); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, known := s.nodes[node]; known && m.left == 0 {
		s.nodes[node] = member{left: s.now().UnixMilli(), ahead: m.ahead}
	}
	return nil
}

// Members implements [series.Membership].
func (s *Store) Members(ctx context.Context) (series.MemberList, error) {
	if err := doubt(ctx, "list", "the nodes"); err != nil {
		return series.MemberList{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := s.now().UnixMilli()
	return series.MemberList{Now: ms, Members: s.members(ms)}, nil
}
