package lock

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// errSilent is the doubt of a request that was given up before its first answer.
var errSilent = errors.New("the store has not answered")

// attend calls ask and returns what it returns. If ctx ends first, attend waits for
// undoGrace more and then returns for its caller, with the end of ctx and the latest
// answer that was noted. Ask goes on behind the caller, up to the undoing of what it
// sent, and what it is granted then is released: a request is never undone before it
// has an answer, or is known to get none. A context without an end costs no goroutine.
// A panic of ask is the caller's, as if attend had called it here; once the caller has
// left it ends the process.
func attend[T interface{ Release(context.Context) error }](ctx context.Context, b *behind, failed func(error) error, ask func(*noted) (T, error)) (T, error) {
	if ctx.Done() == nil {
		return ask(nil)
	}
	latest := &noted{ctx: ctx}
	type answer struct {
		held     T
		err      error
		panicked any  // what ask panicked with
		exited   bool // ask ended its goroutine
	}
	answered := make(chan answer, 1)
	var over atomic.Bool // set by ask's end or by the caller that leaves, whichever is first
	go func() {
		a := answer{exited: true}
		defer func() {
			a.panicked = recover()
			if !over.Swap(true) {
				answered <- a
				return
			}
			defer b.end()
			if a.panicked != nil {
				panic(a.panicked) // no caller is left to recover it
			}
			if !a.exited && a.err == nil {
				_ = a.held.Release(ctx) // ctx has ended, so this takes a second at most; its TTL ends it otherwise
			}
		}()
		a.held, a.err = ask(latest)
		a.exited = false
	}()
	take := func(a answer) (T, error) {
		switch {
		case a.panicked != nil:
			panic(a.panicked)
		case a.exited:
			runtime.Goexit()
		}
		return a.held, a.err
	}
	select {
	case a := <-answered:
		return take(a)
	case <-ctx.Done():
	}
	t := time.NewTimer(undoGrace)
	defer t.Stop()
	select {
	case a := <-answered:
		return take(a)
	case <-t.C:
	}
	b.begin()
	if over.Swap(true) {
		b.end()
		return take(<-answered)
	}
	var none T
	return none, failed(latest.answer())
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
