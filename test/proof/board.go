package proof

import (
	"sync"
	"time"
)

// A Board receives the ledger and the logs. It may be used concurrently.
type Board struct {
	mu      sync.Mutex
	view    View
	changed chan struct{} // closed with the next change
}

func newBoard() *Board { return &Board{changed: make(chan struct{})} }

func (b *Board) addRecord(r Record) {
	b.add(func(v *View) { v.Records = append(v.Records, r) })
}

func (b *Board) addLine(l Line) {
	b.add(func(v *View) { v.Lines = append(v.Lines, l) })
}

func (b *Board) add(f func(*View)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.view)
	close(b.changed)
	b.changed = make(chan struct{})
}

// View returns the current state. Its slices are only ever appended to.
func (b *Board) View() View {
	v, _ := b.look()
	return v
}

func (b *Board) look() (View, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

// Await reports whether cond became true within limit. It tests cond after each change.
func (b *Board) Await(limit time.Duration, cond func(View) bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		v, changed := b.look()
		if cond(v) {
			return true
		}
		select {
		case <-changed:
		case <-deadline.C:
			v, _ := b.look()
			return cond(v)
		}
	}
}
