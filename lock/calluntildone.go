package lock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// errSilent is the doubt of a request that was given up before its first answer.
var errSilent = errors.New("the store has not answered")

// callUntilDone calls ask and returns its result. If ctx ends first, it waits for undoGrace more and
// then returns the end of ctx with the latest noted answer. Ask continues in the background until
// it has undone its requests, and a lease that it is granted is released: a request is never undone
// before its answer came or can no longer come. A context that never ends costs no goroutine. If
// ask panics, the panic continues in the caller; after the caller has returned it ends the process.
func callUntilDone[T grant](ctx context.Context, l *Locker, failed func(error) error, ask func(*noted) (T, error)) (T, error) {
	if ctx.Done() == nil {
		return ask(nil)
	}
	latest := &noted{ctx: ctx}
	r := &undoableCall[T]{done: make(chan struct{}), exited: true}
	go func() {
		defer r.end(ctx, &l.background)
		r.held, r.err = ask(latest)
		r.exited = false
	}()
	select {
	case <-r.done:
		return r.result()
	case <-ctx.Done():
	}
	t := time.NewTimer(undoGrace)
	defer t.Stop()
	select {
	case <-r.done:
		return r.result()
	case <-t.C:
	}
	l.background.begin()
	if r.over.Swap(true) {
		l.background.end()
		<-r.done
		return r.result()
	}
	var none T
	return none, failed(latest.answer())
}

// A grant is a result that is given back if it is granted to a caller that has left.
type grant interface {
	Release(ctx context.Context) error
}

// undoableCall is a call of ask on a goroutine of its own.
type undoableCall[T grant] struct {
	done chan struct{} // closed when ask has returned and its caller waits
	over atomic.Bool   // set by the end of ask or by the caller that leaves, whichever is first

	held     T
	err      error
	panicked any  // the value that ask panicked with
	exited   bool // ask ended its goroutine
}

// end is deferred by the goroutine that calls ask.
func (r *undoableCall[T]) end(ctx context.Context, b *background) {
	r.panicked = recover()
	if !r.over.Swap(true) {
		close(r.done)
		return
	}
	defer b.end()
	if r.panicked != nil {
		panic(r.panicked) // no caller is left to recover it
	}
	if !r.exited && r.err == nil {
		_ = r.held.Release(ctx) // ctx has ended, so this takes a second at most; its TTL ends it otherwise
	}
}

// result returns the result of ask. If ask panicked or called Goexit, result does the same.
func (r *undoableCall[T]) result() (T, error) {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case r.exited:
		runtime.Goexit()
	}
	return r.held, r.err
}

// inTime is callUntilDone for a request whose answer needs no giving back.
func inTime[T any](ctx context.Context, l *Locker, failed func(error) error, ask func(*noted) (T, error)) (T, error) {
	a, err := callUntilDone(ctx, l, failed, func(latest *noted) (answer[T], error) {
		v, err := ask(latest)
		return answer[T]{v}, err
	})
	return a.value, err
}

// An answer holds a value that needs no giving back.
type answer[T any] struct{ value T }

func (answer[T]) Release(context.Context) error { return nil }

// named returns a function that adds the request and the cause of ctx's end to an error.
func named(ctx context.Context, what string) func(error) error {
	return func(err error) error { return fmt.Errorf("lock: %s: %w", what, withCause(ctx, err)) }
}

// contextError adds the cause of ctx's end to a doubt, and returns any other err unchanged. A client that
// gets the deadline of ctx may return a moment before ctx has ended.
func contextError(ctx context.Context, err error) error {
	if !doubtful(err) {
		return err
	}
	if ctx.Err() == nil && wait.Ended(ctx) {
		_ = wait.Sleep(ctx, undoGrace)
	}
	return withCause(ctx, err)
}

// A noted holds the latest answer, or doubt, of a request that is repeated. It is safe for
// concurrent use. A nil *noted drops its answers.
type noted struct {
	ctx  context.Context
	last atomic.Pointer[error]
}

// note stores err. A doubt that comes with the end of ctx does not replace an answer: see latest.
func (n *noted) note(err error) {
	if n == nil || err == nil || n.last.Load() != nil && wait.Ended(n.ctx) && doubtful(err) {
		return
	}
	n.last.Store(&err)
}

func (n *noted) answer() error {
	if last := n.last.Load(); last != nil {
		return *last
	}
	return errSilent
}
