package lock

import (
	"context"
	"fmt"
	"time"
)

// heldKey is where the context of a lease carries the lease. A Locker knows only
// its own.
type heldKey struct{ locker *Locker }

// A heldContext is the context of a plain lease, with the lease as a value: also of one
// inside another, whose base may be a context that knows of neither.
type heldContext Lease

func (c *heldContext) Deadline() (time.Time, bool) { return c.life.Deadline() }
func (c *heldContext) Done() <-chan struct{}       { return c.life.Done() }
func (c *heldContext) Err() error                  { return c.life.Err() }

func (c *heldContext) Value(key any) any {
	switch asked, is := key.(heldKey); {
	case !is:
		return c.life.Value(key)
	case asked.locker == c.locker:
		return (*Lease)(c)
	}
	return c.life.base.Value(key) // needs no context of the context package
}

// held returns the outermost lease on key that ctx came from, nil if there is none.
func (l *Locker) held(ctx context.Context, key string) *Lease {
	for {
		s, _ := ctx.Value(heldKey{l}).(*Lease)
		switch {
		case s == nil:
			return nil
		case s.ref.Key == key && s.outer != nil:
			return s.outer
		case s.ref.Key == key:
			return s
		}
		ctx = s.life.base // which may come from one more
	}
}

// base is what the context of a lease comes from that is asked for with ctx.
func (o *Options) base(ctx context.Context) context.Context {
	switch {
	case o.Context != nil:
		return o.Context
	case ctx.Done() == nil: // it never ends
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// again returns one more lease inside the one on key that ctx came from: nil, nil
// if there is none, or it was released, or that is not asked for. What the outer lease
// grants, that so many hold the key at most, must be enough for the inner one.
func (l *Locker) again(ctx context.Context, key string, o *Options) (*Lease, error) {
	if !o.Reenter {
		return nil, nil
	}
	limit, outer := o.Limit, l.held(ctx, key)
	if outer == nil || outer.ended.Load() {
		return nil, nil
	}
	if err := outer.Check(); err != nil {
		return nil, fmt.Errorf("lock: acquire %q: %w", key, err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("lock: acquire %q: %w", key, context.Cause(ctx))
	}
	if max(limit, 1) < max(outer.limit, 1) {
		return nil, &UpgradeError{Key: key, Held: outer.limit, Asked: limit}
	}
	inner := newLease(o.base(ctx), l, outer.ref)
	inner.outer, inner.limit, inner.ctx = outer, outer.limit, (*heldContext)(inner)
	inner.detach = context.AfterFunc(outer.ctx, func() { inner.life.end(context.Cause(outer.ctx)) })
	return inner, nil
}

// leave ends a lease inside another, and frees nothing.
func (s *Lease) leave() error {
	if s.ended.Swap(true) {
		return ErrReleased
	}
	s.detach()
	err := s.outer.Check()
	s.life.end(ErrReleased)
	return err
}
