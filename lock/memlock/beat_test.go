package memlock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A node that is to live for longer than the list allows gets itself and all live nodes.
func TestBeatBeyondTheLongestLife(t *testing.T) {
	s := memlock.New(memlock.Options{})
	for _, of := range []struct {
		node string
		ttl  time.Duration
		want []string
	}{{"far", 48 * time.Hour, []string{"far"}}, {"a", time.Minute, []string{"a"}}, {"far", 48 * time.Hour, []string{"a", "far"}}} {
		a, err := s.Beat(t.Context(), series.Beat{Node: of.node, TTL: of.ttl})
		if err != nil || !slices.Equal(a.Nodes, of.want) {
			t.Errorf("%s reads %q, %v, want %q", of.node, a.Nodes, err, of.want)
		}
	}
}

// The list is full of nodes that end sooner. A node that is to live for longer takes a place in it.
func TestBeatBehindAFullList(t *testing.T) {
	s := memlock.New(memlock.Options{})
	for i := range series.MaxNodes {
		if _, err := s.Beat(t.Context(), series.Beat{Node: fmt.Sprintf("n%04d", i), TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Beat(t.Context(), series.Beat{Node: "far", TTL: time.Hour})
	if err != nil || len(a.Nodes) != series.MaxNodes || !slices.Contains(a.Nodes, "far") {
		t.Errorf("%d nodes, %v, want %d, with the node itself: %t", len(a.Nodes), err, series.MaxNodes, slices.Contains(a.Nodes, "far"))
	}
}
