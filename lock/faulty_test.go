package lock_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

var errNetwork = errors.New("network: reply lost")

// faulty is a store on a bad network. Before runs before a request reaches the
// store, and may hang; lose decides whether the answer is lost after it did.
type faulty struct {
	*memlock.Store
	before   func(op string)
	lose     func(op string) bool
	acquires atomic.Int32
	renewals atomic.Int32
	releases atomic.Int32
	waits    atomic.Int32
}

func newFaulty() *faulty {
	return &faulty{Store: &memlock.Store{}, before: func(string) {}, lose: func(string) bool { return false }}
}

func (f *faulty) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	f.acquires.Add(1)
	f.before("acquire")
	g, err := f.Store.Acquire(context.WithoutCancel(ctx), a)
	if f.lose("acquire") {
		return driver.Grant{}, errNetwork
	}
	return g, err
}

func (f *faulty) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	f.waits.Add(1)
	return f.Store.Wait(ctx, a)
}

func (f *faulty) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	f.renewals.Add(1)
	f.before("renew")
	if f.lose("renew") {
		return driver.Grant{}, errNetwork
	}
	return f.Store.Renew(context.WithoutCancel(ctx), h)
}

func (f *faulty) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	f.renewals.Add(1)
	f.before("renew")
	answers := f.Store.RenewAll(context.WithoutCancel(ctx), hs)
	if f.lose("renew") {
		for i := range answers {
			answers[i] = driver.Renewal{Err: errNetwork}
		}
	}
	return answers
}

// renewEach is RenewAll of a store that differs by its Renew.
func renewEach(ctx context.Context, hs []driver.LeaseRef, renew func(context.Context, driver.LeaseRef) (driver.Grant, error)) []driver.Renewal {
	answers := make([]driver.Renewal, len(hs))
	for i := range hs {
		answers[i].Grant, answers[i].Err = renew(ctx, hs[i])
	}
	return answers
}

func (f *faulty) Release(ctx context.Context, h driver.LeaseRef) error {
	f.releases.Add(1)
	f.before("release")
	err := f.Store.Release(context.WithoutCancel(ctx), h)
	if f.lose("release") {
		return errNetwork
	}
	return err
}

func (f *faulty) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	f.acquires.Add(1)
	f.before("acquire several")
	gs, err := f.Store.AcquireAll(context.WithoutCancel(ctx), as)
	if f.lose("acquire several") {
		return nil, errNetwork
	}
	return gs, err
}

func (f *faulty) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	f.releases.Add(1)
	f.before("release several")
	errs := f.Store.ReleaseAll(context.WithoutCancel(ctx), hs)
	if f.lose("release several") {
		for i := range errs {
			errs[i] = errNetwork
		}
	}
	return errs
}

func (f *faulty) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	f.renewals.Add(1)
	f.before("renew")
	return f.Store.RenewRuns(context.WithoutCancel(ctx), rs)
}

func (f *faulty) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	f.releases.Add(1)
	f.before("release")
	out := f.Store.ReleaseRuns(context.WithoutCancel(ctx), es)
	if f.lose("release") {
		for i := range out {
			out[i] = series.EndAnswer{Err: errNetwork}
		}
	}
	return out
}

// times returns a function that is true the first n times it is called for op.
func times(n int32, op string) func(string) bool {
	var done atomic.Int32
	return func(o string) bool { return o == op && done.Add(1) <= n }
}
