package rig_test

import (
	"testing"

	"github.com/cronce/cronce/internal/rig"
)

// The goroutines of this test are counted, those that they start as well, and no others.
func TestGoroutines(t *testing.T) {
	end, started := make(chan struct{}), make(chan struct{})
	go func() { <-end }() // of another, as far as the count goes
	own := rig.Goroutines(t)
	go func() {
		go func() { close(started); <-end }()
		<-end
	}()
	<-started
	if n := own(); n != 3 {
		t.Errorf("%d goroutines are counted, want 3", n)
	}
	close(end)
}
