package zklock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cronce/cronce/lock/zklock"
)

// If there are more members than one step reads, each step reads the same ones, in whatever order
// the server lists them.
func TestMembersAreChosenByName(t *testing.T) {
	for _, more := range []int{-1, 0, 1, 100} {
		names := make([]string, zklock.MaxMembers+more)
		for i := range names {
			names[i] = fmt.Sprintf("node-%06d", i)
		}
		want := slices.Clone(names[:min(len(names), zklock.MaxMembers)])
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if got := zklock.FirstNames(names); !slices.Equal(got, want) {
			t.Errorf("with %d more the %d names are others than the first %d", more, len(got), len(want))
		}
	}
}
