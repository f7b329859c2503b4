package rig

import (
	"math/rand/v2"
	"testing"
)

// Random runs test with random cases. The same seed yields the same cases. After the first failed case
// it ends the test and prints the seed and the round.
func Random(t *testing.T, seed uint64, rounds int, test func(r *rand.Rand)) {
	t.Helper()
	for round := range rounds {
		one(t, seed, round, test)
		if t.Failed() {
			return
		}
	}
}

func one(t *testing.T, seed uint64, round int, test func(r *rand.Rand)) {
	t.Helper()
	returned := false
	defer func() {
		if !returned || t.Failed() {
			t.Logf("seed %d, round %d", seed, round)
		}
	}()
	test(rand.New(rand.NewPCG(seed, uint64(round))))
	returned = true
}

// OneOf returns a random value of values.
func OneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// Between returns a random number from low to high, inclusive.
func Between(r *rand.Rand, low, high int) int { return low + r.IntN(high-low+1) }
