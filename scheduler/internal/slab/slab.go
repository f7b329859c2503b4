// Package slab allocates values of one type some at a time.
package slab

import "sync"

// A Slab allocates values some at a time: a run of a short job costs little more than
// what is allocated for it. One value that lives long keeps its few neighbours. The zero
// Slab is ready. It is safe for concurrent use.
type Slab[T any] struct {
	mu   sync.Mutex
	room []T
}

// size is how many values are allocated together.
const size = 15

// New returns a zero value.
func (s *Slab[T]) New() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.room) == 0 {
		s.room = make([]T, size)
	}
	v := &s.room[0]
	s.room = s.room[1:]
	return v
}
