package config

import (
	"sync"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

// A Current value is computed from files each time it is read, because secrets and certificates are
// replaced while a node runs. It is safe for concurrent use.
type Current[T any] struct {
	make  func() (T, error)
	fixed bool        // a file can be read only once, so the value is fixed
	stale func(error) // called when the files cannot be read, once until they can be read again

	mu   sync.Mutex
	last T
	bad  bool
}

// NewCurrent computes the value for the first time, which must succeed. If one of the files is a
// pipe, which can be read only once, the value is fixed. Later failures are reported as [Config.OnStale] says.
func NewCurrent[T any](of *Config, make func() (T, error), files ...string) (*Current[T], error) {
	c := &Current[T]{make: make, stale: of.stale}
	for _, name := range files {
		c.fixed = c.fixed || boundedfile.Once(name)
	}
	var err error
	c.last, err = make()
	return c, err
}

// Value returns the value from the current files. While they cannot be read, as during a
// replacement, it returns the last value.
func (c *Current[T]) Value() T {
	_, last := c.read()
	return last
}

// Readable returns what can be read of the current files, and nothing of the last value: for files
// whose content must have no effect once it is gone.
func (c *Current[T]) Readable() T {
	now, _ := c.read()
	return now
}

// read returns what can be read of the files now, and the last value that could be read as a whole.
func (c *Current[T]) read() (now, last T) {
	if c.fixed {
		return c.last, c.last
	}
	now, err := c.make()
	last, first := c.keep(now, err)
	if first && c.stale != nil {
		c.stale(err)
	}
	return now, last
}

func (c *Current[T]) keep(v T, err error) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := err != nil && !c.bad
	if c.bad = err != nil; err == nil {
		c.last = v
	}
	return c.last, first
}
