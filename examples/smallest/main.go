// Command smallest is the smallest node: one job, every five seconds. Start it as
// often as you like against one Redis; each tick runs on one of the processes.
package main

import (
	"context"
	"log"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, "127.0.0.1:6379", slog.Default()); err != nil {
		log.Fatal(err)
	}
}

// run is a node until ctx ends. It then waits for its runs, up to Config.Grace.
func run(ctx context.Context, address string, logger *slog.Logger) error {
	options := &redis.UniversalOptions{Addrs: []string{address}}
	redislock.Harden(options) // the client repeats no request on its own, and heeds deadlines
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		return err
	}
	node, err := scheduler.New(scheduler.Config{Store: store, Logger: logger, Jobs: []scheduler.Job{
		{Name: "report", Spec: "0/5 * * * * ?", Func: report},
	}})
	if err != nil {
		return err
	}
	return node.Run(ctx)
}

func report(_ context.Context, run *scheduler.Run) error {
	run.Logger().Info("reporting", "id", run.ID) // the same id for every attempt of this tick
	return nil
}
