package sqllock

import (
	"strconv"
	"testing"

	"github.com/cronce/cronce/lock/driver"
)

// Of the owners that could not give their places up the last hundred are remembered, so that a
// later grant to one of them is freed; each once.
func TestAbandonedOwners(t *testing.T) {
	var w waiters
	for i := range crowd + 1 {
		w.abandon(strconv.Itoa(i))
	}
	for _, row := range []struct {
		owner string
		want  bool
	}{
		{"0", false}, // the oldest was forgotten
		{"1", true},
		{"1", false}, // already freed
		{strconv.Itoa(crowd), true},
		{strconv.Itoa(crowd + 1), false},
	} {
		if got := w.give(row.owner, driver.Grant{Fence: 1}); got != row.want {
			t.Errorf("owner %s: abandoned is %v, want %v", row.owner, got, row.want)
		}
	}
}
