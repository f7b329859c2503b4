package driver

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/internal/batch"
)

// A Front validates requests before a driver gets them. It answers a request that no store supports
// with an [*ArgumentError], and one that this store does not support with ErrUnsupported, and sends
// the others of the batch. A lock.Locker validates its own requests; a program that calls a driver
// itself calls it through a Front. A Front is safe for concurrent use.
type Front struct{ Driver Driver }

// As returns a driver as the capability T, or an error that wraps ErrUnsupported if the driver does
// not implement T.
func As[T any](driver Driver) (T, error) {
	d, can := driver.(T)
	if !can {
		return d, fmt.Errorf("lock: the store cannot do that: %w", ErrUnsupported)
	}
	return d, nil
}

// CheckReplicas returns an error if the request needs replicas that the driver cannot wait for.
func (f Front) CheckReplicas(n int) error {
	if _, can := f.Driver.(Replicated); can || n <= 0 {
		return nil
	}
	return fmt.Errorf("lock: %d replicas: %w", n, ErrUnsupported)
}

// Acquire implements [Driver].
func (f Front) Acquire(ctx context.Context, a Acquisition) (Grant, error) {
	if err := cmp.Or(CheckAcquisition(&a), f.CheckReplicas(a.Replicas)); err != nil {
		return Grant{}, err
	}
	return f.Driver.Acquire(ctx, a)
}

// Renew implements [Driver].
func (f Front) Renew(ctx context.Context, h LeaseRef) (Grant, error) {
	if err := cmp.Or(CheckRenewal(&h), f.CheckReplicas(h.Replicas)); err != nil {
		return Grant{}, err
	}
	return f.Driver.Renew(ctx, h)
}

// Release implements [Driver].
func (f Front) Release(ctx context.Context, h LeaseRef) error {
	if err := CheckRelease(&h); err != nil {
		return err
	}
	return f.Driver.Release(ctx, h)
}

// Wait implements [Waiter].
func (f Front) Wait(ctx context.Context, a Acquisition) (Grant, error) {
	d, can := As[Waiter](f.Driver)
	if err := cmp.Or(can, CheckAcquisition(&a), f.CheckReplicas(a.Replicas)); err != nil {
		return Grant{}, err
	}
	return d.Wait(ctx, a)
}

// AcquireAll implements [MultiAcquirer].
func (f Front) AcquireAll(ctx context.Context, as []Acquisition) ([]Grant, error) {
	d, can := As[MultiAcquirer](f.Driver)
	if err := cmp.Or(can, checkAcquireAll(as)); err != nil {
		return nil, err
	}
	for i := range as {
		if err := f.CheckReplicas(as[i].Replicas); err != nil {
			return nil, err
		}
	}
	return d.AcquireAll(ctx, as)
}

// ReleaseAll implements [MultiAcquirer].
func (f Front) ReleaseAll(ctx context.Context, hs []LeaseRef) []error {
	d, can := As[MultiAcquirer](f.Driver)
	check := func(h *LeaseRef) error { return cmp.Or(can, CheckRelease(h)) }
	return batch.Send(hs, check, func(hs []LeaseRef) []error { return d.ReleaseAll(ctx, hs) }, func(out *error, _ *LeaseRef, err error) { *out = err })
}

// RenewAll implements [MultiRenewer].
func (f Front) RenewAll(ctx context.Context, hs []LeaseRef) []Renewal {
	d, can := As[MultiRenewer](f.Driver)
	check := func(h *LeaseRef) error { return cmp.Or(can, CheckRenewal(h), f.CheckReplicas(h.Replicas)) }
	return batch.Send(hs, check, func(hs []LeaseRef) []Renewal { return d.RenewAll(ctx, hs) }, func(out *Renewal, _ *LeaseRef, err error) { out.Err = err })
}

// Force implements [Forcer].
func (f Front) Force(ctx context.Context, r ForceRequest) (ForceRecord, error) {
	d, can := As[Forcer](f.Driver)
	if err := cmp.Or(can, CheckForce(&r)); err != nil {
		return ForceRecord{}, err
	}
	return d.Force(ctx, r)
}

// ForceRecords implements [Forcer].
func (f Front) ForceRecords(ctx context.Context, key string) ([]ForceRecord, error) {
	d, can := As[Forcer](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return nil, err
	}
	return d.ForceRecords(ctx, key)
}

// Inspect implements [Inspector].
func (f Front) Inspect(ctx context.Context, key string) (KeyState, error) {
	d, can := As[Inspector](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return KeyState{}, err
	}
	return d.Inspect(ctx, key)
}

// Holders implements [Sharer].
func (f Front) Holders(ctx context.Context, key string) ([]Holder, error) {
	d, can := As[Sharer](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return nil, err
	}
	return d.Holders(ctx, key)
}
