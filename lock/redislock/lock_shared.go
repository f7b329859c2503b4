package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// askShared requests a lock that several owners may hold.
func (d *Driver) askShared(ctx context.Context, a *driver.Acquisition) (driver.Grant, error) {
	grants, err := d.askAll(ctx, []driver.Acquisition{*a}, nil)
	if err != nil {
		return driver.Grant{}, err
	}
	return grants[0], nil
}

// askAll requests locks of one slot, all or none. If it is refused, a waiter, for one lock, takes a
// place in the queue and learns whether it is the first.
func (d *Driver) askAll(ctx context.Context, as []driver.Acquisition, w *waiter) ([]driver.Grant, error) {
	names, replicas := make([]string, len(as)), 0
	args := make([]any, 0, 4+4*len(as))
	place, expiry := "", unseen
	if w != nil {
		place, expiry = w.queueEntry(), w.listing.expiry()
	}
	args = append(args, as[0].Owner, place, maxPlaces, expiry.Milliseconds())
	for i := range as {
		a := &as[i]
		names[i], replicas = a.Key, max(replicas, a.Replicas)
		args = append(args, a.TTL.Milliseconds(), a.Fence, max(a.Limit, 1), string(flag(a.Barge)))
	}
	r, err := d.runFor(ctx, d.scripts.sharedAcquire, requestOf(d.keys.all(names...), args...), replicas, as[0].TTL)
	if err != nil {
		return nil, fmt.Errorf("redislock: acquire: %w", err)
	}
	grants, first, err := readGrants(r.reply, as)
	if w != nil {
		w.first = first
	}
	if short := r.short(as[0].Key, replicas); err == nil && short != nil {
		d.undoAll(ctx, as, grants)
		return nil, fmt.Errorf("redislock: acquire: %w", short)
	}
	return grants, err
}

// undoAll releases locks of one slot that too few replicas have, with one request: however many they are, the caller waits no longer
// than for one.
func (d *Driver) undoAll(ctx context.Context, as []driver.Acquisition, grants []driver.Grant) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer stop()
	hs := make([]driver.LeaseRef, len(as))
	for i := range as {
		hs[i] = driver.LeaseRef{Key: as[i].Key, Owner: as[i].Owner, Fence: grants[i].Fence}
	}
	d.freeShared(ctx, hs, "") // their TTL ends them otherwise
}

// readGrants reads {1, fence, left, ...}, {0, "0", left, n} or {3, fence, now}. First is true if n
// is -1, for the first of a queue, which must probe.
func readGrants(reply any, as []driver.Acquisition) (grants []driver.Grant, first bool, err error) {
	parts, _ := reply.([]any)
	if len(parts) == 4 && parts[0] == int64(0) {
		n, _ := parts[3].(int64)
		if first = n == -1 && len(as) == 1; first {
			n = 1
		}
		if n >= 1 && int(n) <= len(as) {
			_, err = readAsked(parts[:3], as[n-1].Key)
			return nil, first, err
		}
	}
	if len(parts) == 3 && parts[0] == int64(3) {
		_, err = readAsked(parts, as[0].Key)
		return nil, false, err
	}
	if len(parts) != 1+2*len(as) {
		return nil, false, unreadable("acquire", reply)
	}
	grants = make([]driver.Grant, len(as))
	for i := range as {
		if grants[i], err = readAsked([]any{parts[0], parts[1+2*i], parts[2+2*i]}, as[i].Key); err != nil {
			return nil, false, unreadable("acquire", reply)
		}
	}
	return grants, false, nil
}

func (d *Driver) sharedRenewal(h *driver.LeaseRef) *request {
	return requestOf(d.keys.all(h.Key), h.Owner, h.Fence, h.TTL.Milliseconds())
}

func (d *Driver) renewShared(ctx context.Context, h *driver.LeaseRef) (driver.Grant, error) {
	r, err := d.runFor(ctx, d.scripts.sharedRenew, d.sharedRenewal(h), h.Replicas, h.TTL)
	if err != nil {
		return driver.Grant{}, fmt.Errorf("redislock: renew: %w", err)
	}
	return d.renewed(ctx, &r, h)
}

// freeShared frees locks of one slot, also those that several owners share, and gives up a place in
// their queues.
func (d *Driver) freeShared(ctx context.Context, hs []driver.LeaseRef, place string) []error {
	names, errs := make([]string, len(hs)), make([]error, len(hs))
	args := make([]any, 0, 1+2*len(hs))
	args = append(args, place)
	for i := range hs {
		names[i] = hs[i].Key
		args = append(args, hs[i].Owner, hs[i].Fence)
	}
	r := requestOf(d.keys.all(names...), args...)
	r.once = true
	reply, err := d.pipelined(ctx, d.scripts.sharedRelease, r)
	parts, _ := reply.([]any)
	for i := range errs {
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("redislock: release: %w", err)
		case len(parts) != len(hs):
			errs[i] = unreadable("release", reply)
		default:
			errs[i] = d.freed(ctx, &hs[i], readFreed(parts[i]))
		}
	}
	return errs
}

// AcquireAll implements [driver.MultiAcquirer]. On a single server, or behind Sentinel, it takes
// all locks in one step. In a Cluster it takes the locks of one slot, see [Options.GroupBy], in one
// step, one slot after the other, and gives them back if a later slot refuses; it returns
// lock.ErrUnsupported if no two of the locks share a slot.
func (d *Driver) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	groups := d.grouped(len(as), func(i int) string { return as[i].Key })
	if len(groups) > 1 && len(groups) == len(as) {
		return nil, fmt.Errorf("redislock: acquire %d locks of as many slots: %w", len(as), driver.ErrUnsupported)
	}
	grants := make([]driver.Grant, len(as))
	for n, group := range groups {
		asked := time.Now()
		got, err := d.askAll(ctx, pick(as, group), nil)
		if err != nil {
			return nil, d.giveBack(ctx, as, groups[:n], err)
		}
		for i, at := range group {
			grants[at] = got[i]
			grants[at].Asked = asked
		}
	}
	return grants, nil
}

// giveBack releases the locks that earlier slots have granted. If that fails, a refusal becomes
// doubt: the owner may have some of the locks.
func (d *Driver) giveBack(ctx context.Context, as []driver.Acquisition, groups [][]int, err error) error {
	if _, held := errors.AsType[*driver.HeldError](err); !held {
		return err // an owner that repeats the request gets the same grants, and one that does not undoes them
	}
	for _, group := range groups {
		hs := make([]driver.LeaseRef, len(group))
		for i, at := range group {
			hs[i] = driver.LeaseRef{Key: as[at].Key, Owner: as[at].Owner}
		}
		for _, failed := range d.freeShared(ctx, hs, "") {
			if failed != nil && !errors.Is(failed, driver.ErrLost) {
				return fmt.Errorf("redislock: undo the locks of other slots: %w", failed)
			}
		}
	}
	return err
}

// ReleaseAll implements [driver.MultiAcquirer], with one request for each slot.
func (d *Driver) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for _, group := range d.grouped(len(hs), func(i int) string { return hs[i].Key }) {
		for i, err := range d.freeShared(ctx, pick(hs, group), "") {
			errs[group[i]] = err
		}
	}
	return errs
}

// grouped returns the indexes of keys that one script can take together, in the order of the first
// key of each group.
func (d *Driver) grouped(n int, key func(i int) string) [][]int {
	if n == 0 {
		return nil
	}
	var groups [][]int
	_, single := d.client.(*redis.Client)
	at := make(map[string]int, 1)
	for i := range n {
		tag := ""
		if !single {
			name := key(i)
			tag = name[:d.keys.grouped(name)]
		}
		g, found := at[tag]
		if !found {
			g = len(groups)
			at[tag] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// pick returns the elements with these indexes.
func pick[T any](all []T, places []int) []T {
	if len(places) == len(all) && slices.IsSorted(places) {
		return all
	}
	some := make([]T, len(places))
	for i, at := range places {
		some[i] = all[at]
	}
	return some
}
