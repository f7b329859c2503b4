// Command metrics is a node with counters of its runs, a zap logger, health and a graceful stop.
//
//	curl http://127.0.0.1:8090/counters
//	curl http://127.0.0.1:8090/readyz
package main

import (
	"context"
	"errors"
	"expvar"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8090") // reachable from this machine alone
	if err != nil {
		log.Fatal(err)
	}
	logger := zap.Must(zap.NewProduction())
	defer func() { _ = logger.Sync() }()
	if err := run(ctx, "127.0.0.1:6379", listener, logger); err != nil {
		log.Fatal(err)
	}
}

// run is a node, and a server beside it, until ctx ends. The server answers until the
// node has drained, so that the last counts can be read.
func run(ctx context.Context, address string, listener net.Listener, logger *zap.Logger) error {
	options := &redis.UniversalOptions{Addrs: []string{address}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		return err
	}
	counts := new(expvar.Map)
	node, err := scheduler.New(scheduler.Config{
		Store: store, Grace: 10 * time.Second, // less than the pod's grace period
		Logger:    slog.New(zapslog.NewHandler(logger.Core())), // the node logs to the log of the program
		Jobs:      []scheduler.Job{{Name: "report", Spec: "* * * * * *", Timeout: time.Minute, Func: report}},
		Observers: []scheduler.Observer{scheduler.ObserverFunc(func(e scheduler.Event) { count(counts, e) })},
	})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(node, counts), ReadHeaderTimeout: 5 * time.Second}
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("counters not served", zap.Error(err))
		}
	})
	err = node.Run(ctx) // returns once the runs have ended
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(end))
}

// handler serves the counters as JSON, and whether the node is ready.
func handler(node *scheduler.Node, counts *expvar.Map) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, counts.String())
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := node.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}

// count counts runs by how they ended, and ticks that did not run.
func count(counts *expvar.Map, e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventRunStarted:
		counts.Add(e.Job+" running", 1)
	case scheduler.EventRunFinished:
		counts.Add(e.Job+" running", -1)
		counts.Add(e.Job+" "+e.Outcome, 1)
	case scheduler.EventTickMissed:
		counts.Add(e.Job+" missed", int64(e.Count))
	}
}

// report works for a while, and ends early with its context.
func report(ctx context.Context, _ *scheduler.Run) error {
	select {
	case <-time.After(300 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
