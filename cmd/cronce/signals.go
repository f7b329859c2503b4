package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// withSignals returns a context that ends with the first SIGTERM, SIGINT or SIGHUP, or
// one of more. A second signal ends the process, as the default action of a signal
// does. A process that was started to ignore SIGHUP, as with nohup, goes on ignoring it.
func withSignals(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	more = append(heeded(syscall.SIGHUP), more...)
	more = append(more, os.Interrupt, syscall.SIGTERM)
	ctx, stop := signal.NotifyContext(ctx, more...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// heeded returns signals less those that this process was started to ignore.
func heeded(signals ...os.Signal) []os.Signal { return slices.DeleteFunc(signals, signal.Ignored) }
