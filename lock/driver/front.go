package driver

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/internal/batch"
)

// A Front validates requests before a driver gets them. It answers a request that no store
// can answer with an [*ArgumentError], and one that this store cannot answer with
// ErrUnsupported, and sends the others of the batch. A lock.Locker validates its requests; a
// program that asks a driver itself asks it through a Front.
// It is safe for concurrent use.
type Front struct{ Driver Driver }

// As returns a driver as one that has a capability, and otherwise an error that wraps
// ErrUnsupported.
func As[T any](driver Driver) (T, error) {
	d, can := driver.(T)
	if !can {
		return d, fmt.Errorf("lock: the store cannot do that: %w", ErrUnsupported)
	}
	return d, nil
}

// CheckReplicas refuses to ask the driver for replicas that it cannot wait for.
func (f Front) CheckReplicas(n int) error {
	if _, can := f.Driver.(Replicated); can {
		return nil
	}
	return CheckNoReplicas(n)
}

// Acquire is that of a [Driver].
func (f Front) Acquire(ctx context.Context, a Acquisition) (Grant, error) {
	if err := cmp.Or(CheckAcquisition(&a), f.CheckReplicas(a.Replicas)); err != nil {
		return Grant{}, err
	}
	return f.Driver.Acquire(ctx, a)
}

// Renew is that of a [Driver].
func (f Front) Renew(ctx context.Context, h LeaseRef) (Grant, error) {
	if err := cmp.Or(CheckRenewal(&h), f.CheckReplicas(h.Replicas)); err != nil {
		return Grant{}, err
	}
	return f.Driver.Renew(ctx, h)
}

// Release is that of a [Driver].
func (f Front) Release(ctx context.Context, h LeaseRef) error {
	if err := CheckRelease(&h); err != nil {
		return err
	}
	return f.Driver.Release(ctx, h)
}

// Wait is that of a [Waiter].
func (f Front) Wait(ctx context.Context, a Acquisition) (Grant, error) {
	d, can := As[Waiter](f.Driver)
	if err := cmp.Or(can, CheckAcquisition(&a), f.CheckReplicas(a.Replicas)); err != nil {
		return Grant{}, err
	}
	return d.Wait(ctx, a)
}

// AcquireAll is that of a [MultiAcquirer].
func (f Front) AcquireAll(ctx context.Context, as []Acquisition) ([]Grant, error) {
	d, can := As[MultiAcquirer](f.Driver)
	if err := cmp.Or(can, CheckAcquireAll(as)); err != nil {
		return nil, err
	}
	for i := range as {
		if err := f.CheckReplicas(as[i].Replicas); err != nil {
			return nil, err
		}
	}
	return d.AcquireAll(ctx, as)
}

// ReleaseAll is that of a [MultiAcquirer].
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

// Force is that of a [Forcer].
func (f Front) Force(ctx context.Context, r ForceRequest) (ForceRecord, error) {
	d, can := As[Forcer](f.Driver)
	if err := cmp.Or(can, CheckForce(&r)); err != nil {
		return ForceRecord{}, err
	}
	return d.Force(ctx, r)
}

// ForceRecords is that of a [Forcer].
func (f Front) ForceRecords(ctx context.Context, key string) ([]ForceRecord, error) {
	d, can := As[Forcer](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return nil, err
	}
	return d.ForceRecords(ctx, key)
}

// Inspect is that of an [Inspector].
func (f Front) Inspect(ctx context.Context, key string) (KeyState, error) {
	d, can := As[Inspector](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return KeyState{}, err
	}
	return d.Inspect(ctx, key)
}

// Holders is that of a [Sharer].
func (f Front) Holders(ctx context.Context, key string) ([]Holder, error) {
	d, can := As[Sharer](f.Driver)
	if err := cmp.Or(can, CheckKey(key)); err != nil {
		return nil, err
	}
	return d.Holders(ctx, key)
}
