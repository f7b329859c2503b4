package web

import (
	"sync"
	"time"

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
func (p *shared[T]) from(s *ops.Snapshot, made func(*ops.Snapshot) T) T { return p.lately(s, 0, made) }

// lately returns the part for a snapshot, or for one that was read up to rest before it and has the same answer of the store.
func (p *shared[T]) lately(s *ops.Snapshot, rest time.Duration, made func(*ops.Snapshot) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || p.of != s && (s.Down != p.of.Down || s.AsOf.Before(p.of.AsOf) || s.AsOf.Sub(p.of.AsOf) >= rest) {
		p.part, p.of = made(s), s
	}
	return p.part
}
