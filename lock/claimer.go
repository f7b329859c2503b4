package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A Claimer claims numbers of series for a scheduler, and keeps the leases of granted runs: they
// are renewed together until [Lease.End]. The store must be [series.Numbered]. It is safe for
// concurrent use.
type Claimer struct {
	locker *Locker
	store  series.Front
	floors floors // a store may count the fences of series and of plain keys apart
}

// A Claimed is the answer to a claim. Lease is the lease of a granted run, and nil otherwise.
type Claimed struct {
	*series.Answer // never nil
	Lease          *Lease
}

// Claimer returns a Claimer with the store, the owners and the renewals of the Locker. Make one per
// Locker.
func (l *Locker) Claimer() *Claimer {
	return &Claimer{locker: l, store: series.FrontOf(l.driver)}
}

// Owner returns a new owner, as [Locker.Owner] does. Each claim needs its own owner, and keeps it
// when it is repeated after doubt.
func (c *Claimer) Owner() string { return c.locker.Owner() }

// Claim sends all claims in one batch, once, and returns the answers in the same order. The leases'
// contexts carry ctx's values and do not end with ctx. A lease whose answer took too long has ended
// already: its end is a series.EndUnstarted. A store without series answers every claim with
// ErrUnsupported.
func (c *Claimer) Claim(ctx context.Context, cs []series.Claim) []Claimed {
	answered := make(chan []Claimed, 1)
	go c.ClaimThen(ctx, cs, func(all []Claimed) { answered <- all })
	return <-answered
}

// ClaimThen is Claim on the caller's goroutine, for a caller that need not wait for the answers.
// Then is called once: on this goroutine after the driver has answered, or on another goroutine
// with doubt if ctx ends first. ClaimThen returns when the driver does, which after doubt may be
// never.
func (c *Claimer) ClaimThen(ctx context.Context, cs []series.Claim, then func([]Claimed)) {
	doubt := inDoubt(len(cs), func(a *Claimed, err error) { a.Answer = &series.Answer{Err: err} })
	c.floors.raise(cs)
	sent := time.Now()
	first := context.AfterFunc(ctx, func() { then(doubt(ctx.Err())) })
	answers := c.store.Claim(ctx, cs)
	if first() {
		then(c.lease(context.WithoutCancel(ctx), cs, answers, sent))
	}
}

// lease makes and keeps the leases of granted claims.
func (c *Claimer) lease(base context.Context, cs []series.Claim, answers []series.Answer, sent time.Time) []Claimed {
	all := make([]Claimed, len(answers))
	leases := make([]*Lease, 0, len(answers))
	for i := range answers {
		a := &all[i]
		a.Answer = &answers[i]
		if a.Kind != series.KindGranted {
			continue
		}
		if err := driver.CheckFence(a.Fence, a.Now*1000+999); err != nil {
			*a.Answer = series.Answer{Err: fmt.Errorf("lock: claim %q: %w", cs[i].Key, err)}
			continue
		}
		a.Lease = new(Lease)
		c.granted(a.Lease, base, &cs[i], a.Answer, sent)
		leases = append(leases, a.Lease)
	}
	c.locker.renewer.add(c.locker.renewer.now(), leases...)
	return all
}

func (c *Claimer) granted(s *Lease, base context.Context, q *series.Claim, a *series.Answer, sent time.Time) {
	c.floors.saw(q.Key, a.Fence)
	s.locker, s.claimer, s.index = c.locker, c, -1
	s.ref = series.RunRef{Key: q.Key, Number: q.Number, Owner: q.Owner, Fence: a.Fence, TTL: q.TTL, Replicas: q.Replicas}
	s.ctx, s.cancel = context.WithCancelCause(base)
	s.believe(sent, a.Left)
	s.span = min(a.Left, q.TTL)
}

// shard returns the shard of a series.
func (c *Claimer) shard(key string) int {
	if sharded, is := c.locker.driver.(series.Sharded); is {
		return sharded.Shard(key)
	}
	return 0
}
