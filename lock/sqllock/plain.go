package sqllock

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/lock"
)

// Acquire asks for the key once: with one statement if it is free, and nobody
// waits, and it was used before. An error that is neither a *lock.HeldError nor
// a *lock.ArgumentError is doubt.
func (d *Driver) Acquire(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := check(lock.CheckAcquisition(&a), a.Replicas); err != nil {
		return lock.Grant{}, err
	}
	g, err := d.acquire(ctx, &a)
	return g, failed("acquire", err)
}

// check refuses a request that is bad, or that asks for replicas: a database
// waits for all that it is set to, or for none.
func check(bad error, replicas int) error {
	if bad != nil {
		return bad
	}
	return lock.CheckNoReplicas(replicas)
}

// failed says what failed. Answers need no more words.
func failed(what string, err error) error {
	if _, held := errors.AsType[*lock.HeldError](err); held || err == nil || errors.Is(err, lock.ErrLost) {
		return err
	}
	return fmt.Errorf("sqllock: %s: %w", what, err)
}

func (d *Driver) acquire(ctx context.Context, a *lock.Acquisition) (lock.Grant, error) {
	if g, err := d.grant(ctx, a); g.Fence != 0 || err != nil {
		return g, err
	}
	l, found, err := d.look(ctx, a.Key)
	switch {
	case err != nil:
		return lock.Grant{}, err
	case !found:
		return d.acquireNew(ctx, a)
	case l.grantedTo(a.Owner):
		return lock.Grant{Fence: l.fence, Left: l.left()}, nil
	case l.alive() && l.owner != a.Owner && (l.place == 0 || !a.Barge):
		return lock.Grant{}, l.held(a.Key)
	}
	return d.ask(ctx, a)
}

// grant is the one statement with which most keys are granted. The zero Grant
// tells that there is more to it.
func (d *Driver) grant(ctx context.Context, a *lock.Acquisition) (lock.Grant, error) {
	fence, err := d.yield(ctx, d.texts.grant, a.Owner, micros(a.TTL), a.Fence+1, d.ns, a.Key, a.Owner)
	if fence == 0 || err != nil {
		return lock.Grant{}, err
	}
	return lock.Grant{Fence: fence, Left: a.TTL}, nil
}

// acquireNew makes the row of a key that was not used before.
func (d *Driver) acquireNew(ctx context.Context, a *lock.Acquisition) (lock.Grant, error) {
	_, err := again(ctx, func() (int64, error) { return exec(ctx, d.db, d.texts.insert, d.ns, a.Key) })
	if err != nil {
		return lock.Grant{}, err
	}
	if g, err := d.grant(ctx, a); g.Fence != 0 || err != nil {
		return g, err
	}
	return d.ask(ctx, a)
}

// ask asks with the row locked.
func (d *Driver) ask(ctx context.Context, a *lock.Acquisition) (g lock.Grant, err error) {
	held := error(nil)
	err = d.turn(ctx, a.Key, func(t *turn) error {
		granted, err := t.ask(a)
		g, held = lock.Grant{Fence: t.fence, Left: t.left()}, nil
		if !granted {
			g, held = lock.Grant{}, t.held(a.Key)
		}
		return err
	})
	if err != nil {
		return lock.Grant{}, err
	}
	return g, held
}

// Renew moves the deadline to now + TTL, with one statement.
func (d *Driver) Renew(ctx context.Context, h lock.Holding) (lock.Grant, error) {
	if err := check(lock.CheckHolding(&h), h.Replicas); err != nil {
		return lock.Grant{}, err
	}
	until, err := d.yield(ctx, d.texts.renew, micros(h.TTL), d.ns, h.Key, h.Owner, h.Fence)
	switch {
	case err != nil:
		return lock.Grant{}, failed("renew", err)
	case until == 0:
		return lock.Grant{}, lock.ErrLost
	}
	return lock.Grant{Fence: h.Fence, Left: h.TTL}, nil
}

// Release frees the key, with one statement if nobody waits, or keeps it for the
// next in its queue.
func (d *Driver) Release(ctx context.Context, h lock.Holding) error {
	if err := lock.CheckRelease(&h); err != nil {
		return err
	}
	err := d.release(ctx, &h)
	if err == nil {
		d.sweep(ctx)
	}
	return failed("release", err)
}

func (d *Driver) release(ctx context.Context, h *lock.Holding) error {
	least, most := h.Fence, h.Fence
	if h.Fence == 0 { // whatever was granted
		most = lock.MaxNumber
	}
	freed, err := again(ctx, func() (int64, error) {
		return exec(ctx, d.db, d.texts.free, d.ns, h.Key, h.Owner, least, most)
	})
	if freed > 0 || err != nil {
		return err
	}
	l, _, err := d.look(ctx, h.Key)
	switch {
	case err != nil:
		return err
	case !l.alive():
		return nil
	case !l.belongs(h):
		return lock.ErrLost
	}
	lost := false
	err = d.turn(ctx, h.Key, func(t *turn) error {
		lost = t.alive() && !t.belongs(h)
		if lost || !t.alive() {
			return nil
		}
		return t.free()
	})
	if err == nil && lost {
		return lock.ErrLost
	}
	return err
}

// belongs reports whether a release speaks of this lease. What is kept for an
// owner has no fence yet.
func (l *lease) belongs(h *lock.Holding) bool {
	return l.owner == h.Owner && (h.Fence == 0 || l.place == 0 && l.fence == h.Fence)
}
