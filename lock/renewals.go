package lock

import (
	"context"
	"errors"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// keeping returns the configuration of the Locker's keeper.
func (l *Locker) keeping() renew.Config[*Lease] {
	return renew.Config[*Lease]{
		Share: l.share, Renew: l.renew, Singly: l.several == nil, Lost: l.lost,
		Answered: func(ctx context.Context) { l.storeEvents.check(ctx, &l.background, l.driver) },
	}
}

// share returns the properties of leases that are renewed together.
func (l *Locker) share(s *Lease) renew.Sharing {
	with := renew.Sharing{Replicas: s.ref.Replicas}
	if l.distributed != nil {
		with.Server = l.distributed.Server(s.ref.Key)
	}
	return with
}

// renew sends one request that renews leases.
func (l *Locker) renew(ctx context.Context, leases []*Lease) []renew.Renewal {
	if l.several == nil {
		return []renew.Renewal{renewal(l.driver.Renew(ctx, leases[0].ref))}
	}
	refs := make([]driver.LeaseRef, len(leases))
	for i, s := range leases {
		refs[i] = s.ref
	}
	answers := make([]renew.Renewal, len(leases))
	for i, a := range l.several.RenewAll(ctx, refs) {
		answers[i] = renewal(a.Grant, a.Err)
	}
	return answers
}

// renewal returns the renewal for a driver's answer.
func renewal(g driver.Grant, err error) renew.Renewal {
	if doubtful(err) {
		return renew.Renewal{Err: err}
	}
	return renew.Renewal{Alive: err == nil, Left: g.Left, Lost: err}
}

// lost reports the loss of a lease whose context has ended.
func (l *Locker) lost(s *Lease, cause error) {
	s.report(EventLost, cause)
	if errors.Is(cause, ErrForgotten) {
		l.storeEvents.add(&l.background, StoreEvent{Key: s.ref.Key, Fence: s.ref.Fence})
	}
}
