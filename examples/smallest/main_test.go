package main

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/internal/redisserver"
)

// Three nodes on one Redis: the first tick runs on one of them, and all stop cleanly.
func TestRun(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	reported := make(chan struct{}, 1000)
	core, logs := observer.New(zap.InfoLevel)
	logger := slog.New(zapslog.NewHandler(zapcore.RegisterHooks(core, func(e zapcore.Entry) error {
		if e.Message == "reporting" {
			reported <- struct{}{}
		}
		return nil
	})))
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			if err := run(ctx, server.Addr(), logger); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	for range 2 {
		select {
		case <-reported:
		case <-ctx.Done():
			t.Error("no run for 30 s")
		}
	}
	stop()
	nodes.Wait()
	runs := map[any]int{}
	for _, line := range logs.FilterMessage("reporting").All() {
		runs[line.ContextMap()["id"]]++
	}
	for id, n := range runs {
		if n != 1 {
			t.Errorf("%v ran %d times", id, n)
		}
	}
	if len(runs) < 2 {
		t.Errorf("runs of %d ticks, want 2", len(runs))
	}
}
