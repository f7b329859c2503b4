package memlock_test

import (
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
