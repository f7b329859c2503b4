package zookeeper_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/test/history"
)

// A traffic is a group of clients at work, whose grants are counted.
type traffic struct {
	grants atomic.Int64
	end    context.CancelFunc
	ops    chan []history.Op
}

// work starts clients, each on one of the drivers, which work until saw is called.
func work(t *testing.T, ds ...*zklock.Driver) *traffic {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	w := &traffic{end: end, ops: make(chan []history.Op, 1)}
	go func() {
		w.ops <- history.Crowd{
			Clients: 8, Keys: 6, Timeout: time.Second, Seed: uint64(time.Now().UnixNano()),
			Driver: func(client int) driver.Driver { return &worker{ds[client%len(ds)], w} },
		}.Run(ctx)
	}()
	return w
}

type worker struct {
	*zklock.Driver
	of *traffic
}

func (w *worker) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := w.Driver.Acquire(ctx, a)
	if err == nil {
		w.of.grants.Add(1)
	}
	return g, err
}

// goesOn waits until n more requests were granted.
func (w *traffic) goesOn(t *testing.T, n int64) {
	t.Helper()
	want := w.grants.Load() + n
	rig.Eventually(t, "the traffic goes on", func() bool { return w.grants.Load() >= want })
}

// saw ends the work and returns the operations of the clients.
func (w *traffic) saw() []history.Op {
	w.end()
	return <-w.ops
}

// judged fails the test if no correct store can have given these answers, or if no answer was
// doubt. While there is no leader, requests are carried out late, and nodes that should have gone
// still exist.
func judged(t *testing.T, ops []history.Op) {
	t.Helper()
	over := history.Limits{Late: 10 * time.Second, Over: 20 * time.Second, Picture: filepath.Join(t.ArtifactDir(), "history.html")}
	if err := history.Check(ops, over); err != nil {
		t.Error(err)
	}
	if err := history.Exclusive(ops); err != nil {
		t.Error(err)
	}
	count := outcomes(ops)
	t.Logf("%d granted or done, %d held, %d lost, %d in doubt", count[history.OK], count[history.Held], count[history.Lost], count[history.Unknown])
	if count[history.Unknown] == 0 {
		t.Error("nobody was in doubt")
	}
}

func outcomes(ops []history.Op) map[history.Outcome]int {
	count := map[history.Outcome]int{}
	for _, o := range ops {
		count[o.Outcome]++
	}
	return count
}
