package lock

import (
	"context"
	"fmt"
)

// heldKey is the key of a lease in the context of a lease, also of one inside another. A
// Locker finds only its own leases.
type heldKey struct {
	locker *Locker
	key    string
}

// held returns the outermost lease on key that ctx came from, nil if there is none.
func (l *Locker) held(ctx context.Context, key string) *Lease {
	if ctx == nil {
		return nil // the check of the arguments refuses it
	}
	s, _ := ctx.Value(heldKey{l, key}).(*Lease)
	if s != nil && s.outer != nil {
		return s.outer
	}
	return s
}

// carry returns a context that comes from base and carries the lease.
func (s *Lease) carry(base context.Context) context.Context {
	return context.WithValue(base, heldKey{s.locker, s.ref.Key}, s)
}

// base returns the parent of the context of a lease that is acquired with ctx.
func (o *Options) base(ctx context.Context) context.Context {
	switch {
	case o.Context != nil:
		return o.Context
	case ctx.Done() == nil: // it never ends
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// reenter returns one more lease inside the lease on key that ctx comes from. It returns nil, nil if
// there is none, if it was released, or without Options.Reenter. The limit of the outer lease must
// not be above the limit of the inner one.
func (l *Locker) reenter(ctx context.Context, key string, o *Options) (*Lease, error) {
	if !o.Reenter {
		return nil, nil
	}
	limit, outer := o.Limit, l.held(ctx, key)
	if outer == nil || outer.kept.Ended() {
		return nil, nil
	}
	if err := outer.Check(); err != nil {
		return nil, fmt.Errorf("lock: acquire %q: %w", key, err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("lock: acquire %q: %w", key, context.Cause(ctx))
	}
	if max(limit, 1) < max(outer.ref.Limit, 1) {
		return nil, &UpgradeError{Key: key, Held: outer.ref.Limit, Asked: limit}
	}
	inner := &Lease{locker: l, ref: outer.ref, outer: outer}
	inner.kept.Inside(inner.carry(o.base(ctx)))
	inner.detach = context.AfterFunc(outer.Context(), func() { inner.Cancel(context.Cause(outer.Context())) })
	return inner, nil
}

// leave ends a lease inside another, and frees nothing.
func (s *Lease) leave() error {
	if !s.kept.End() {
		return ErrReleased
	}
	s.detach()
	return s.outer.Check()
}
