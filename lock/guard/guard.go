// Package guard rejects late writes at the resource, by their fence.
//
// A holder that was stopped and continues does not know that its lease is over. Only the resource
// that it writes to can know, by remembering the highest fence that it has seen. [Guard] does so in
// memory, [Condition] in a table of a database, and [Lua] in a Redis script.
package guard

import (
	"errors"
	"fmt"
	"sync"
)

// ErrStale is the answer to a write whose fence is lower than one that was seen before: its lease
// is over, and another owner has been granted the key since.
var ErrStale = errors.New("guard: a higher fence was seen")

// A Guard remembers the highest fence that one resource in this process has seen. The zero Guard
// has seen none. It is safe for concurrent use and must not be copied.
type Guard struct {
	mu      sync.Mutex
	highest int64
}

// Do calls write unless a higher fence was seen, and returns the error of write. One write runs at
// a time, so no write of a lower fence is still running when one of a higher fence begins. If write
// was not called because of a higher fence, the error wraps ErrStale. A fence must be greater than
// 0; the holder of a fence may write as often as it likes. Write must not call the Guard, which would wait for itself.
func (g *Guard) Do(fence int64, write func() error) error {
	if fence <= 0 {
		return fmt.Errorf("guard: the fence is %d, must be more than 0", fence)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if fence < g.highest {
		return fmt.Errorf("%w: the fence is %d, %d was seen", ErrStale, fence, g.highest)
	}
	g.highest = fence
	return write()
}

// Highest returns the highest fence that was seen, or 0 if there was none.
func (g *Guard) Highest() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest
}
