package command

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// WithSignals returns a context that ends with the first SIGTERM, SIGINT, SIGHUP or additional
// signal. A second signal ends the process, as by default, unless it comes together with the first. A process that was started to ignore
// SIGHUP, as with nohup, keeps ignoring it.
func WithSignals(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	first, _, stop := untilSignals(ctx, 1, append(NotIgnored(syscall.SIGHUP), more...)...)
	return first, stop
}

// together is how soon after the first signal another one is part of the same request to stop: GNU's timeout sends its signal to its
// child and then to the group, and a terminal that closes hangs up through its shell and by itself.
const together = 100 * time.Millisecond

// WithTwoSignals returns a context that ends as the one of WithSignals, and another that ends with the second signal: the caller can then hurry,
// and still give back its leases. A third signal ends the process. Signals that come together count as one.
func WithTwoSignals(ctx context.Context, more ...os.Signal) (first, second context.Context, stop context.CancelFunc) {
	return untilSignals(ctx, 2, append(NotIgnored(syscall.SIGHUP), more...)...)
}

// WithoutHangUp is WithSignals except for SIGHUP, which goes to the channel while the process
// lives. The channel keeps one SIGHUP that is not received at once.
func WithoutHangUp(ctx context.Context) (context.Context, context.CancelFunc, <-chan os.Signal) {
	hangUp := make(chan os.Signal, 1)
	if heeded := NotIgnored(syscall.SIGHUP); len(heeded) > 0 {
		signal.Notify(hangUp, heeded...)
	}
	first, _, stop := untilSignals(ctx, 1)
	return first, stop, hangUp
}

// untilSignals returns a context that ends with ctx or the first signal, and one that ends with the last signal that the process
// handles: the first or the second. Stop ends both.
func untilSignals(ctx context.Context, handled int, more ...os.Signal) (first, last context.Context, stop context.CancelFunc) {
	first, endFirst := context.WithCancel(ctx)
	last, endLast := context.WithCancel(context.WithoutCancel(ctx))
	stop = func() {
		endFirst()
		endLast()
	}
	got := make(chan os.Signal, handled+1)
	signal.Notify(got, append(more, os.Interrupt, syscall.SIGTERM)...)
	await := func(ctx context.Context) {
		select {
		case <-got:
		case <-ctx.Done():
		}
	}
	go func() {
		defer stop()
		await(first)
		endFirst()
		soon, over := context.WithTimeout(last, together)
		for soon.Err() == nil {
			await(soon)
		}
		over()
		if handled > 1 {
			await(last)
		}
		signal.Stop(got) // the next signal must find its default action: signal.NotifyContext would drop it
		select {
		case next := <-got:
			raise(next)
		default:
		}
	}()
	return first, last, stop
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
