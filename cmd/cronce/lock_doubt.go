package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

const (
	doubtLooks   = 2 * time.Second // how often who waits for a lock makes sure of its store
	doubtTimeout = time.Second
)

// tellDoubt writes, while a lock is waited for, why its store does not answer, once
// each time that begins: the wait goes on, and may be without end. Nothing is
// written any more when the returned function has returned.
func (s *store) tellDoubt(ctx context.Context, w io.Writer, key string) (over func()) {
	ctx, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	tell := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			fmt.Fprintf(w, "cronce: lock %q: %s: asking on\n", key, terminal.Printable(err.Error()))
		}
	}
	go func() {
		t := time.NewTicker(doubtLooks)
		defer t.Stop()
		for told := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if err := s.unsure(ctx, key); err == nil {
				told = false
			} else if !told {
				told = true
				tell(err)
			}
		}
	}()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stop()
	}
}

// unsure is why nobody knows who holds a lock; nil: the store answers.
func (s *store) unsure(ctx context.Context, key string) error {
	ctx, stop := context.WithTimeout(ctx, doubtTimeout)
	defer stop()
	if _, err := s.driver.Inspect(ctx, key); err != nil {
		return s.failed(err)
	}
	return nil
}
