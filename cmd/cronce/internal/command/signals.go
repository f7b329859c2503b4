package command

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// WithSignals returns a context that ends with the first SIGTERM, SIGINT or SIGHUP, or
// one of more. A second signal ends the process, as the default action of a signal
// does. A process that was started to ignore SIGHUP, as with nohup, goes on ignoring it.
func WithSignals(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	more = append(NotIgnored(syscall.SIGHUP), more...)
	more = append(more, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 2)
	signal.Notify(got, more...)
	go func() {
		defer cancel()
		select {
		case <-got:
		case <-ctx.Done():
		}
		// Before the context ends: a second signal that answers the log line of the
		// drain must find its default action. signal.NotifyContext would drop it.
		signal.Stop(got)
		select {
		case second := <-got:
			raise(second)
		default:
		}
	}()
	return ctx, cancel
}

// raise sends the signal to this process, which no longer handles it.
func raise(s os.Signal) {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(s)
	}
}

// NotIgnored returns signals less those that this process was started to ignore.
func NotIgnored(signals ...os.Signal) []os.Signal { return slices.DeleteFunc(signals, signal.Ignored) }
