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

// AcquireAll asks for several locks at once: on a single server, or behind
// Sentinel, in one step. In a Cluster those of one slot, see [Options.GroupBy],
// are asked for in one step, one slot after the other, and given back if a later
// slot refuses; lock.ErrUnsupported if no two of them share a slot.
func (d *Driver) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	if err := driver.CheckAcquireAll(as); err != nil {
		return nil, err
	}
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

// giveBack gives back what earlier slots have granted. If that fails a refusal is
// doubt: the owner may have some of the locks.
func (d *Driver) giveBack(ctx context.Context, as []driver.Acquisition, groups [][]int, err error) error {
	if _, held := errors.AsType[*driver.HeldError](err); !held {
		return err // who asks again gets the same, and who does not undoes it
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

// ReleaseAll frees several locks, with one request for each slot.
func (d *Driver) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	var good []int
	for i := range hs {
		if errs[i] = driver.CheckRelease(&hs[i]); errs[i] == nil {
			good = append(good, i)
		}
	}
	for _, group := range d.grouped(len(good), func(i int) string { return hs[good[i]].Key }) {
		places := pick(good, group)
		for i, err := range d.freeShared(ctx, pick(hs, places), "") {
			errs[places[i]] = err
		}
	}
	return errs
}

// grouped returns the places of keys that one script can take, in the order of
// their first.
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

// pick returns what stands in these places.
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
