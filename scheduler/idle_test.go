package scheduler_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A counted store counts the requests of nodes that have nothing to do.
type counted struct {
	*memlock.Store
	beats, reads atomic.Int64
}

func (s *counted) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	s.beats.Add(1)
	return s.Store.Beat(ctx, b)
}

func (s *counted) Open(ctx context.Context, all []series.OpenRequest) []series.Series {
	s.reads.Add(1)
	return s.Store.Open(ctx, all)
}

// Three nodes on a store in memory have one monthly job, for 92 days. It runs three times, on its
// ticks, and between the ticks the nodes send about one request of each kind per hour.
func TestRareJobInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memlock.New(memlock.Options{})}
		var ticks []time.Time
		monthly := scheduler.Job{Name: "monthly", Spec: "0 0 1 * *", Func: func(_ context.Context, r *scheduler.Run) error {
			if late := time.Since(r.Tick); late > time.Second {
				t.Errorf("%v started %v late", r.Tick, late)
			}
			ticks = append(ticks, r.Tick)
			return nil
		}}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 3 {
			n, err := scheduler.New(scheduler.Config{Store: store, Jobs: []scheduler.Job{monthly}})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				if err := n.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		const days = 92
		time.Sleep(days * 24 * time.Hour)
		stop()
		running.Wait()
		if len(ticks) != 3 {
			t.Errorf("it ran at %v, want three times", ticks)
		}
		if most := int64(2 * 3 * days * 24); store.beats.Load() > most || store.reads.Load() > most {
			t.Errorf("%d heartbeats and %d readings in %d days, want at most %d", store.beats.Load(), store.reads.Load(), days, most)
		}
	})
}
