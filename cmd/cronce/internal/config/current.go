package config

import (
	"sync"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
)

// A current value is made of files and made again each time it is asked for: secrets
// and certificates are replaced while a node runs. It may be used concurrently.
type current[T any] struct {
	make  func() (T, error)
	fixed bool        // made of something that can be read once only
	stale func(error) // is called when the last value is used on, once until the files can be read again

	mu   sync.Mutex
	last T
	bad  bool
}

// newCurrent makes the value a first time, which must succeed. A pipe among the
// files can be read once only, so its value stays. Stale may be nil.
func newCurrent[T any](stale func(error), make func() (T, error), files ...string) (*current[T], error) {
	c := &current[T]{make: make, stale: stale}
	for _, name := range files {
		c.fixed = c.fixed || boundedfile.Once(name)
	}
	var err error
	c.last, err = make()
	return c, err
}

// value is made of the files as they are now. While they cannot be used, as in the
// middle of their replacement, it is the last one that could be made.
func (c *current[T]) value() T {
	if c.fixed {
		return c.last
	}
	v, err := c.make()
	v, first := c.keep(v, err)
	if first && c.stale != nil {
		c.stale(err)
	}
	return v
}

func (c *current[T]) keep(v T, err error) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := err != nil && !c.bad
	if c.bad = err != nil; err == nil {
		c.last = v
	}
	return c.last, first
}
