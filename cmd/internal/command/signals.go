package command

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// WithSignals returns a context that ends with the first SIGTERM, SIGINT, SIGHUP or additional
// signal. A second signal ends the process, as by default. A process that was started to ignore
// SIGHUP, as with nohup, keeps ignoring it.
func WithSignals(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	return untilSignal(ctx, append(NotIgnored(syscall.SIGHUP), more...)...)
}

// WithoutHangUp is WithSignals except for SIGHUP, which goes to the channel while the process
// lives. The channel keeps one SIGHUP that is not received at once.
func WithoutHangUp(ctx context.Context) (context.Context, context.CancelFunc, <-chan os.Signal) {
	hangUp := make(chan os.Signal, 1)
	if heeded := NotIgnored(syscall.SIGHUP); len(heeded) > 0 {
		signal.Notify(hangUp, heeded...)
	}
	ctx, cancel := untilSignal(ctx)
	return ctx, cancel, hangUp
}

func untilSignal(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
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
		// This comes before the end of the context: a second signal, sent after the log line of the
		// drain, must find its default action. signal.NotifyContext would drop it.
		signal.Stop(got)
		select {
		case second := <-got:
			raise(second)
		default:
		}
	}()
	return ctx, cancel
}

// OutlivePipes makes this process continue when the reader of its output ends: a write then returns
// an error, where SIGPIPE would end the process. Commands that hold leases or serve callers use it.
// SIGPIPE is caught, not ignored, because child processes inherit an ignored signal.
func OutlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// raise sends the signal to this process, which no longer handles it.
func raise(s os.Signal) {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Signal(s)
	}
}

// NotIgnored returns the signals that this process was not started to ignore.
func NotIgnored(signals ...os.Signal) []os.Signal { return slices.DeleteFunc(signals, signal.Ignored) }
