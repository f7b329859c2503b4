package history

import (
	"context"
	"errors"
	"sync"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// A Plant puts one fault into a driver. All clients of a crowd share the driver that Into returns.
type Plant struct {
	Name string
	Into func(driver.Driver) driver.Driver
	// Disturbed reports whether the fault shows only while requests fail.
	Disturbed bool
}

// Planted has the well-known faults of locks. Check must detect each.
var Planted = []Plant{
	{Name: "a release that does not look at its owner", Into: func(d driver.Driver) driver.Driver { return &anyRelease{Driver: d} }},
	{Name: "leases of half the time", Into: func(d driver.Driver) driver.Driver { return halfTime{d} }},
	{Name: "a fence that goes back now and then", Into: func(d driver.Driver) driver.Driver { return &backward{Driver: d} }},
	{Name: "a renewal that takes its lease for granted", Into: func(d driver.Driver) driver.Driver { return idleRenewal{d} }},
	{Name: "doubt that is read as taken", Into: func(d driver.Driver) driver.Driver { return taken{d} }, Disturbed: true},
}

// anyRelease releases the lease of a key without a check of its owner.
type anyRelease struct {
	driver.Driver
	mu   sync.Mutex
	held map[string]driver.LeaseRef
}

func (d *anyRelease) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := d.Driver.Acquire(ctx, a)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		if d.held == nil {
			d.held = map[string]driver.LeaseRef{}
		}
		d.held[a.Key] = driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence}
	}
	return g, err
}

func (d *anyRelease) Release(ctx context.Context, h driver.LeaseRef) error {
	d.mu.Lock()
	if latest, ok := d.held[h.Key]; ok {
		h = latest
	}
	d.mu.Unlock()
	return d.Driver.Release(ctx, h)
}

// halfTime acquires and renews a lease for half of the requested TTL.
type halfTime struct{ driver.Driver }

func (d halfTime) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.TTL /= 2
	return d.Driver.Acquire(ctx, a)
}

func (d halfTime) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	h.TTL /= 2
	return d.Driver.Renew(ctx, h)
}

// backward returns to every eighth owner a fence that is ten seconds old.
type backward struct {
	driver.Driver
	mu    sync.Mutex
	count int
	real  map[string]int64 // by owner
	given map[string]int64
}

const tenSeconds = 10_000_000 // as a difference of fences, in µs

func (d *backward) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := d.Driver.Acquire(ctx, a)
	if err != nil {
		return g, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.real == nil {
		d.real, d.given = map[string]int64{}, map[string]int64{}
	}
	if _, known := d.real[a.Owner]; !known {
		d.real[a.Owner], d.given[a.Owner] = g.Fence, g.Fence
		if d.count++; d.count%8 == 0 {
			d.given[a.Owner] -= tenSeconds
		}
	}
	g.Fence = d.given[a.Owner]
	return g, nil
}

func (d *backward) holding(h driver.LeaseRef) driver.LeaseRef {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.Fence != 0 {
		h.Fence = d.real[h.Owner]
	}
	return h
}

func (d *backward) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return d.Driver.Renew(ctx, d.holding(h))
}

func (d *backward) Release(ctx context.Context, h driver.LeaseRef) error {
	return d.Driver.Release(ctx, d.holding(h))
}

// idleRenewal reports success without a request to the store.
type idleRenewal struct{ driver.Driver }

func (idleRenewal) Renew(_ context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return driver.Grant{Fence: h.Fence, Left: h.TTL}, nil
}

// taken reports an unknown outcome as held by another owner.
type taken struct{ driver.Driver }

func (d taken) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := d.Driver.Acquire(ctx, a)
	if _, held := errors.AsType[*lock.HeldError](err); err != nil && !held {
		return g, &lock.HeldError{Key: a.Key}
	}
	return g, err
}
