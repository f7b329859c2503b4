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

// attend calls ask and returns what it returns. If ctx ends first, attend waits for
// undoGrace more and then returns for its caller, with the end of ctx and the latest
// answer that was noted. Ask goes on in the background, up to the undoing of what it
// sent, and what it is granted then is released: a request is never undone before it
// has an answer, or is known to get none. A context without an end costs no goroutine.
// A panic of ask goes on in the caller; once the caller has returned it ends the process.
func attend[T grant](ctx context.Context, l *Locker, failed func(error) error, ask func(*noted) (T, error)) (T, error) {
	if ctx.Done() == nil {
		return ask(nil)
	}
	latest := &noted{ctx: ctx}
	r := &attended[T]{done: make(chan struct{}), exited: true}
	go func() {
		defer r.end(ctx, &l.behind)
		r.held, r.err = ask(latest)
		r.exited = false
	}()
	select {
	case <-r.done:
		return r.take()
	case <-ctx.Done():
	}
	t := time.NewTimer(undoGrace)
	defer t.Stop()
	select {
	case <-r.done:
		return r.take()
	case <-t.C:
	}
	l.behind.begin()
	if r.over.Swap(true) {
		l.behind.end()
		<-r.done
		return r.take()
	}
	var none T
	return none, failed(latest.answer())
}

// A grant is what may be granted to a caller that has left, and is given back then.
type grant interface {
	Release(ctx context.Context) error
}

// attended is a call of ask on a goroutine of its own.
type attended[T grant] struct {
	done chan struct{} // closed when ask has returned and its caller waits
	over atomic.Bool   // set by the end of ask or by the caller that leaves, whichever is first

	held     T
	err      error
	panicked any  // what ask panicked with
	exited   bool // ask ended its goroutine
}

// end is deferred by the goroutine that calls ask.
func (r *attended[T]) end(ctx context.Context, b *behind) {
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

// take returns what ask has returned. If ask panicked or called Goexit, take does the same.
func (r *attended[T]) take() (T, error) {
	switch {
	case r.panicked != nil:
		panic(r.panicked)
	case r.exited:
		runtime.Goexit()
	}
	return r.held, r.err
}

// inTime is attend for a question whose answer holds nothing.
func inTime[T any](ctx context.Context, l *Locker, failed func(error) error, ask func(*noted) (T, error)) (T, error) {
	a, err := attend(ctx, l, failed, func(latest *noted) (answer[T], error) {
		v, err := ask(latest)
		return answer[T]{v}, err
	})
	return a.value, err
}

// An answer has nothing that must be given back.
type answer[T any] struct{ value T }

func (answer[T]) Release(context.Context) error { return nil }

// named returns what adds to an error what was asked, and the cause of the end of ctx.
func named(ctx context.Context, what string) func(error) error {
	return func(err error) error { return fmt.Errorf("lock: %s: %w", what, withCause(ctx, err)) }
}

// ended returns err, if it is doubt with the cause of the end of ctx. A client that is given the
// deadline of ctx may return a moment before ctx has ended.
func ended(ctx context.Context, err error) error {
	if !doubtful(err) {
		return err
	}
	if deadline, some := ctx.Deadline(); some && ctx.Err() == nil && !time.Now().Before(deadline) {
		_ = wait.Sleep(ctx, undoGrace)
	}
	return withCause(ctx, err)
}

// noted is the latest answer to a request that is repeated, or the doubt. It is safe
// for concurrent use. Nil notes nothing.
type noted struct {
	ctx  context.Context
	last atomic.Pointer[error]
}

// note keeps err. A doubt that comes with the end of ctx replaces nothing: see latest.
func (n *noted) note(err error) {
	if n == nil || err == nil || n.last.Load() != nil && n.ctx.Err() != nil && doubtful(err) {
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
