package sqllock

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// AcquireAll asks for all keys in one transaction, at one instant.
func (d *Driver) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	keys := make([]string, len(as))
	for i := range as {
		keys[i] = as[i].Key
	}
	slices.Sort(keys)
	var grants []driver.Grant
	var held error
	err := d.turns(ctx, keys, func(ts map[string]*turn) (err error) {
		grants, held, err = several(ts, as)
		return err
	})
	if err == nil {
		err = held
	}
	if err != nil {
		return nil, failed("acquire", err)
	}
	return grants, nil
}

// several grants all or none. What an earlier request of the owner was granted is
// then taken back, and what this one has displaced in vain is served.
func several(ts map[string]*turn, as []driver.Acquisition) (grants []driver.Grant, held, err error) {
	grants = make([]driver.Grant, len(as))
	for i := range as {
		var ok bool
		if grants[i], ok, err = ts[as[i].Key].may(&as[i]); err != nil {
			return nil, nil, err
		}
		if !ok {
			held = ts[as[i].Key].refusal(as[i].Key)
			break
		}
	}
	for i := range as {
		t := ts[as[i].Key]
		switch {
		case held != nil:
			if err := t.free(as[i].Owner); err != nil {
				return nil, nil, err
			}
		case grants[i].Fence == 0:
			if grants[i], err = t.grant(&as[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	return grants, held, nil
}

// ReleaseAll frees keys, one after the other.
func (d *Driver) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for i := range hs {
		errs[i] = d.Release(ctx, hs[i])
	}
	return errs
}
