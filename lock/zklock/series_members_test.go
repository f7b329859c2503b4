package zklock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/series"
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

// A reader of the list removes no node, not even one that has been gone for a day: that is left to those that beat.
func TestMembersRemovesNothing(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Namespace: fresh()})
	_, err := d.Beat(t.Context(), series.Beat{Node: "gone", TTL: time.Second})
	must(t, err)
	must(t, d.Leave(t.Context(), "gone"))
	at := now(t, d)
	for past, want := range []int{1, 0, 1} { // days; the third reader's clock was put back
		d.ClockFrom(at.Add(time.Duration(past%2) * series.GoneFor).UnixMilli)
		l, err := d.Members(t.Context())
		must(t, err)
		if len(l.Members) != want {
			t.Errorf("reader %d finds %+v, want %d", past, l.Members, want)
		}
	}
}
