package oversell_test

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A strategy that does not exist is refused by its name: it has no seller, and no shelf in any store, so that nothing is sold from one.
func TestUnknownStrategy(t *testing.T) {
	var e oversell.Env
	_, _, opened := e.Open("redlok")
	_, shelf := e.Shelf("redlok")
	_, filled := e.Fill(t.Context(), "redlok", 1)
	for _, err := range []error{opened, shelf, filled} {
		if err == nil || !strings.Contains(err.Error(), "unknown strategy redlok") {
			t.Errorf("%v, want an unknown strategy", err)
		}
	}
}
