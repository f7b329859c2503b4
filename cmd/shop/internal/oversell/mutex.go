package oversell

import (
	"context"
	"sync"
)

// Mutex lets one buyer of this process at a time read, check and write. That is correct for one
// process, and wrong for several, because each process has a mutex of its own.
type Mutex struct {
	None
	line
	mu sync.Mutex
}

// Buy implements [Strategy].
func (s *Mutex) Buy(ctx context.Context, order string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns.Add(1)
	return s.None.Buy(ctx, order)
}
