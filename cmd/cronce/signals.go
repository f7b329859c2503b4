package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// withSignals returns a context that ends with the first SIGTERM or SIGINT. The
// second one ends the process, as if nobody had asked for signals.
func withSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
