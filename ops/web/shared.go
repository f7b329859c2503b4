package web

import (
	"sync"

	"github.com/cronce/cronce/ops"
)

// A shared is a part of a page that is made once for each snapshot, for all callers: each stream that follows the page needs it once
// a second, and with 10,000 jobs a picture of their ticks takes some 50 ms.
type shared[T any] struct {
	mu   sync.Mutex
	of   *ops.Snapshot
	part T
}

// from returns the part for a snapshot. Callers that need it at the same time wait for one of them to make it. They must not
// change it.
func (p *shared[T]) from(s *ops.Snapshot, made func(*ops.Snapshot) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != s {
		p.part, p.of = made(s), s
	}
	return p.part
}
