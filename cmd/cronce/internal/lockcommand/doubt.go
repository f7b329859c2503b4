package lockcommand

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

const (
	probeEvery   = 2 * time.Second // interval at which a waiting process probes the store
	probeTimeout = time.Second
)

// reportDoubt prints the reason each time the store stops answering while the command waits for a
// lock. The wait continues, possibly without end. After the returned function has returned, nothing
// more is printed.
func (s lockStore) reportDoubt(ctx context.Context, w io.Writer, key string) (over func()) {
	ctx, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			fmt.Fprintf(w, "cronce: lock %q: %s: still waiting\n", key, terminal.Printable(err.Error()))
		}
	}
	go func() {
		t := time.NewTicker(probeEvery)
		defer t.Stop()
		for reported := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			if err := s.unsure(ctx, key); err == nil {
				reported = false
			} else if !reported {
				reported = true
				report(err)
			}
		}
	}()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stop()
	}
}

// unsure returns the reason why the holder of a lock is unknown; nil: the store answers.
func (s lockStore) unsure(ctx context.Context, key string) error {
	ctx, stop := context.WithTimeout(ctx, probeTimeout)
	defer stop()
	if _, err := s.Front().Inspect(ctx, key); err != nil {
		return s.Failed(err)
	}
	return nil
}
