package rig

import (
	"testing"
	"time"
)

// Soon receives what must come soon, and ends the test if it does not.
func Soon[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(40 * time.Second):
		t.Fatal("it never came")
		panic("not reached")
	}
}
