package rig

import (
	"testing"
	"time"
)

// Soon receives a value that should come soon, and fails the test if it does not.
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

// longest is generous, for a busy machine or an ensemble that elects a leader.
const longest = 2 * time.Minute

// Eventually waits until a condition is true, and fails the test if it stays false.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for give := time.Now().Add(longest); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("%s: not within %v", what, longest)
		}
	}
}
