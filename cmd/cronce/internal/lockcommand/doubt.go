package lockcommand

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/delivery"
)

const (
	probeEvery   = 2 * time.Second // interval at which a waiting process probes the store
	probeTimeout = time.Second
	reminder     = time.Minute // interval at which a waiting process repeats the reason, and checks a store that answers
	printTimeout = time.Second // the longest wait for the last reason to be printed
	reasons      = 16          // the number of reasons that wait for a pipe that is not read
	mostRefusals = 3           // probes in a row that the store refuses; after fewer its password may be about to change
)

// reportDoubt prints the reason each time the store stops answering, or is found unfit, while the command
// waits for a lock, and repeats it each minute. The wait continues, possibly without end. If the store
// refuses the user, giveUp ends the wait: a repeat is useless. After the returned function has returned,
// nothing more is printed. The command does not wait for w, which may be a pipe that is not read.
func (s lockStore) reportDoubt(ctx context.Context, w io.Writer, key string, giveUp context.CancelCauseFunc) (over func()) {
	ctx, stop := context.WithCancel(ctx)
	lines := delivery.New(reasons, 0, func(text string, _ int64) bool {
		_, err := io.WriteString(w, text)
		return err == nil
	}, func(any) {})
	var mu sync.Mutex
	report := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			lines.Add(fmt.Sprintf("cronce: lock %q: %s: still waiting\n", key, terminal.Printable(err.Error())), 0)
		}
	}
	go func() {
		t := time.NewTicker(probeEvery)
		defer t.Stop()
		var reported time.Time // zero: the store answered last
		for checked, refusals := time.Now(), 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			err := s.unsure(ctx, key)
			if err == nil && time.Since(checked) >= reminder {
				checked, err = time.Now(), s.fitForLocks(ctx) // a store that answers may take no writes
			}
			switch refused := err != nil && s.refuses(err); {
			case !refused:
				refusals = 0
			case refusals+1 == mostRefusals:
				giveUp(err)
				return
			default:
				refusals++
			}
			switch {
			case err == nil:
				reported = time.Time{}
			case time.Since(reported) >= reminder:
				report(err)
				reported = time.Now()
			}
		}
	}()
	return func() {
		mu.Lock()
		stop()
		mu.Unlock()
		printed, stop := context.WithTimeout(context.Background(), printTimeout)
		defer stop()
		lines.Wait(printed)
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
