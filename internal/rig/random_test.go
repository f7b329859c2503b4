package rig_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/rig"
)

// The same seed draws the same cases, each round another, and the ends of a range are drawn.
func TestRandom(t *testing.T) {
	draw := func(seed uint64) (all []int) {
		rig.Random(t, seed, 100, func(r *rand.Rand) { all = append(all, rig.Between(r, 1, 3)*rig.OneOf(r, 1, 10)) })
		return all
	}
	first := draw(1)
	if again := draw(1); !slices.Equal(first, again) {
		t.Errorf("drawn %v, then %v", first, again)
	}
	if other := draw(2); slices.Equal(first, other) {
		t.Errorf("two seeds draw %v", first)
	}
	slices.Sort(first)
	if kinds := slices.Compact(first); len(kinds) != 6 {
		t.Errorf("drawn are %v", kinds)
	}
}
