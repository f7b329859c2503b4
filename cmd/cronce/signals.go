package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// withSignals returns a context that ends with the first SIGTERM or SIGINT, or one
// of more. The second one ends the process, as if nobody had asked for signals.
func withSignals(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	more = append(more, os.Interrupt, syscall.SIGTERM)
	ctx, stop := signal.NotifyContext(ctx, more...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// hangups are the signals of a terminal that is closed, or that asks to quit, less
// those that this process was started to ignore, as with nohup.
func hangups() []os.Signal {
	return slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGQUIT}, signal.Ignored)
}
