package proof

import (
	"context"
	"testing"
	"time"
)

const (
	probeEvery = 50 * time.Millisecond
	probeUsual = 100 * time.Millisecond // a busy server needs that, too
	probeLimit = 2 * time.Second        // then it asks again
)

// probe asks a server again and again until the test ends, past all proxies, and
// notes how long its answers took where that was long. A server that is not there
// refuses at once, which is no wait.
func (m *Meter) probe(t testing.TB, ask func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			sent := time.Now()
			asking, end := context.WithTimeout(ctx, probeLimit)
			_ = ask(asking)
			end()
			if took := time.Since(sent); took > probeUsual {
				m.waited(sent, took)
			}
			pause := time.NewTimer(probeEvery)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			pause.Stop()
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}
