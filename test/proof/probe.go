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

// probes renews runs of the jobs that nodes were started with.
type probes struct {
	mu   sync.Mutex
	runs []series.RunRef // they do not exist
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

// renew sends renewals that the store refuses without a change. A store that locks its rows replies after
// the transaction that holds them, as it replies to a node.
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
	probeUsual = 100 * time.Millisecond // a busy server takes this long, too
	probeLimit = 2 * time.Second        // the timeout of one probe
)

// probe sends requests to a server until the test ends, not through the proxies, and adds slow
// replies to the meter. A server that is down refuses at once, which is not a wait.
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
