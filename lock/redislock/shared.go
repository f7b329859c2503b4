package redislock

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/lock"
)

// askShared asks for a lock, whoever holds it, and if the answer is no takes a
// place in its queue unless that is empty.
func (d *Driver) askShared(ctx context.Context, a *lock.Acquisition, place string) (lock.Grant, error) {
	grants, err := d.askAll(ctx, []lock.Acquisition{*a}, place)
	if err != nil {
		return lock.Grant{}, err
	}
	return grants[0], nil
}

// askAll asks for locks of one slot, all or none.
func (d *Driver) askAll(ctx context.Context, as []lock.Acquisition, place string) ([]lock.Grant, error) {
	names, replicas := make([]string, len(as)), 0
	args := make([]any, 0, 4+4*len(as))
	args = append(args, as[0].Owner, place, maxPlaces, queueExpiry.Milliseconds())
	for i := range as {
		a := &as[i]
		names[i], replicas = a.Key, max(replicas, a.Replicas)
		args = append(args, a.TTL.Milliseconds(), a.Fence, max(a.Limit, 1), string(flag(a.Barge)))
	}
	r, err := d.runFor(ctx, d.scripts.sharedAsk, nil, requestOf(d.keys.all(names...), args...), replicas, as[0].TTL)
	if err != nil {
		return nil, fmt.Errorf("redislock: acquire: %w", err)
	}
	grants, err := readGrants(r.reply, as)
	if short := r.short(as[0].Key, replicas); err == nil && short != nil {
		for i := range grants {
			d.undo(ctx, &as[i], grants[i])
		}
		return nil, fmt.Errorf("redislock: acquire: %w", short)
	}
	return grants, err
}

// readGrants reads {1, fence, left, ...} or {0, "0", left, n}.
func readGrants(reply any, as []lock.Acquisition) ([]lock.Grant, error) {
	parts, _ := reply.([]any)
	if len(parts) == 4 && parts[0] == int64(0) {
		if n, ok := parts[3].(int64); ok && n >= 1 && int(n) <= len(as) {
			_, err := readAsked(parts[:3], as[n-1].Key)
			return nil, err
		}
	}
	if len(parts) != 1+2*len(as) {
		return nil, unreadable("acquire", reply)
	}
	grants := make([]lock.Grant, len(as))
	for i := range as {
		var err error
		if grants[i], err = readAsked([]any{parts[0], parts[1+2*i], parts[2+2*i]}, as[i].Key); err != nil {
			return nil, unreadable("acquire", reply)
		}
	}
	return grants, nil
}

func (d *Driver) renewShared(ctx context.Context, h *lock.Holding) (lock.Grant, error) {
	asked := requestOf(d.keys.all(h.Key), h.Owner, h.Fence, h.TTL.Milliseconds())
	r, err := d.runFor(ctx, d.scripts.sharedRenew, nil, asked, h.Replicas, h.TTL)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("redislock: renew: %w", err)
	}
	return readLeft(&r, h)
}

// freeShared frees locks of one slot, whoever holds them, and gives up a place in
// their queues.
func (d *Driver) freeShared(ctx context.Context, hs []lock.Holding, place string) []error {
	names, errs := make([]string, len(hs)), make([]error, len(hs))
	args := make([]any, 0, 1+2*len(hs))
	args = append(args, place)
	for i := range hs {
		names[i] = hs[i].Key
		args = append(args, hs[i].Owner, hs[i].Fence)
	}
	reply, err := d.run(ctx, d.scripts.sharedFree, d.keys.all(names...), args)
	parts, _ := reply.([]any)
	for i := range errs {
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("redislock: release: %w", err)
		case len(parts) != len(hs):
			errs[i] = unreadable("release", reply)
		default:
			errs[i] = readFreed(parts[i])
		}
	}
	return errs
}
