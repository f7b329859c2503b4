package proof

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// probes are those of the jobs that nodes were started with.
type probes struct {
	mu   sync.Mutex
	runs []series.RunRef // that no node has
}

func (s *probes) add(jobs []Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		known := func(r series.RunRef) bool { return r.Key == j.Name }
		if !slices.ContainsFunc(s.runs, known) {
			s.runs = append(s.runs, series.RunRef{Key: j.Name, Number: 1, Owner: "probe/1", Fence: 1, TTL: driver.MinTTL})
		}
	}
}

// renew asks for what is refused, and changes nothing. A store that locks its rows
// answers when the transaction that has them is done, as it would a node.
func (s *probes) renew(ctx context.Context, d series.Numbered) error {
	s.mu.Lock()
	runs := slices.Clone(s.runs)
	s.mu.Unlock()
	for _, a := range d.RenewRuns(ctx, runs) {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}

const (
	probeEvery = 100 * time.Millisecond
	probeUsual = 100 * time.Millisecond // a busy server needs that, too
	probeLimit = 2 * time.Second        // then it asks again
)

// probe asks a server again and again until the test ends, past all proxies, and
// notes how long its answers took where that was long. A server that is not there
// refuses at once, which is no wait.
func probe(t testing.TB, m *rig.Meter, ask func(context.Context) error) {
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
				m.Waited(sent, took)
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
