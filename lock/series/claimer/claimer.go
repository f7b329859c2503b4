// Package claimer claims numbers of series, and keeps the leases of granted runs. A scheduler runs
// its ticks with it.
package claimer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
	"github.com/cronce/cronce/lock/series"
)

// A Claimer claims numbers of series, and keeps the leases of granted runs: they are renewed together
// until they end. New starts no goroutine; a timer runs while leases are held, and for up to a minute
// after. A Claimer is safe for concurrent use. Make one per process and store.
type Claimer struct {
	store       series.Front
	partitioned series.Partitioned // the store, if it is one
	owners      *renew.Owners
	keeper      *renew.Keeper[series.RunRef]
}

// A Lease is the lease of a granted run, whose Ref names the run in the store. Its context ends, with
// a cause, before another node can be granted the run: an error that wraps driver.ErrLost and says
// how the lease was lost, [ErrReplaced] or [ErrCancelled]. Replaced reports the first of these two
// however the context ended.
// Check reads the clocks and returns nil while the lease can be trusted. Cancel ends the context
// only; Abandon also leaves the run to its deadline. End ends the lease in this process, where it is
// renewed no more, and reports whether it was the first End: the caller then sends the end of the
// run to the store. A Lease is safe for concurrent use.
type Lease struct{ renew.Lease[series.RunRef] }

// ErrReplaced is the cause of the ended context of a lease when a newer number waits for its end. The
// lease is still held: end it soon.
var ErrReplaced = errors.New("lock: replaced by a newer tick")

// ErrCancelled is the cause of the ended context of a lease whose run an operator cancelled. The lease
// is still held: end it soon.
var ErrCancelled = errors.New("lock: cancelled by an operator")

// A Claimed is the answer to a claim. Lease is the lease of a granted run that is not sharded, and nil
// otherwise. Leases are the leases of its Shards.
type Claimed struct {
	*series.Answer // never nil
	Lease          *Lease
	Leases         []*Lease
}

// New returns a Claimer on a store, which should be [series.Numbered], without a request. Node names
// this process in the store; empty means a random name.
func New(d driver.Driver, node string) *Claimer {
	c := &Claimer{store: series.FrontOf(d), owners: renew.OwnersOf(node)}
	c.partitioned, _ = d.(series.Partitioned)
	c.keeper = renew.New(renew.Config[series.RunRef]{Share: c.share, Renew: c.renew})
	return c
}

// Owner returns a new owner: node/random.number. Each claim needs its own owner, and keeps it when it
// is repeated after doubt.
func (c *Claimer) Owner() string { return c.owners.Next() }

// Claim sends all claims in one batch, once, and returns the answers in the same order. A fence that it
// returns is at most a day ahead of the store's clock: later claims of the key may name it. The leases'
// contexts carry ctx's values and do not end with ctx. A lease whose answer took too long has ended
// already: end its run as series.RunUnstarted. A store without series answers every claim with
// driver.ErrUnsupported.
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
	sent := time.Now()
	first := context.AfterFunc(ctx, func() {
		doubt := make([]Claimed, len(cs))
		for i := range doubt {
			doubt[i].Answer = &series.Answer{Err: ctx.Err()}
		}
		then(doubt)
	})
	answers := c.store.Claim(ctx, cs)
	if first() {
		then(c.keep(context.WithoutCancel(ctx), cs, answers, sent))
	}
}

// keep makes and keeps the leases of granted claims.
func (c *Claimer) keep(base context.Context, cs []series.Claim, answers []series.Answer, sent time.Time) []Claimed {
	all := make([]Claimed, len(answers))
	leases := make([]*renew.Lease[series.RunRef], 0, len(answers))
	for i := range answers {
		q, a := &cs[i], &answers[i]
		all[i].Answer = a
		if a.Kind != series.KindGranted {
			continue
		}
		if err := driver.CheckFence(a.Highest(), a.Now*1000+999); err != nil {
			*a = series.Answer{Err: fmt.Errorf("lock: claim %q: %w", q.Key, err)}
			continue
		}
		ref := series.RunRef{Key: q.Key, Number: q.Number, Owner: q.Owner, Fence: a.Fence, TTL: q.TTL, Replicas: q.Replicas, Shards: a.Of}
		begin := func(left time.Duration) *Lease {
			s := new(Lease)
			c.keeper.Begin(&s.Lease, base, ref, renew.Grant{TTL: q.TTL, Left: left, Sent: sent})
			leases = append(leases, &s.Lease)
			return s
		}
		if a.Of == 0 {
			all[i].Lease = begin(a.Left)
		}
		for _, g := range a.Shards {
			ref.Shard, ref.Fence = g.Shard, g.Fence
			all[i].Leases = append(all[i].Leases, begin(g.Left))
		}
	}
	c.keeper.Add(c.keeper.Now(), leases...)
	return all
}

// RenewNow renews the leases on a series at once, so that their holders learn of a cancel before the
// next renewal is due.
func (c *Claimer) RenewNow(key string) {
	c.keeper.RenewNow(func(r series.RunRef) bool { return r.Key == key })
}

// share returns the properties of leases that are renewed together.
func (c *Claimer) share(r series.RunRef) renew.Sharing {
	with := renew.Sharing{Replicas: r.Replicas}
	if c.partitioned != nil {
		with.Partition = c.partitioned.Partition(r.Key)
	}
	return with
}

// renew sends one request that renews leases.
func (c *Claimer) renew(ctx context.Context, runs []series.RunRef) []renew.Renewal {
	answers := make([]renew.Renewal, len(runs))
	for i, a := range c.store.RenewRuns(ctx, runs) {
		answers[i] = renew.Renewal{Alive: a.Alive, Left: a.Left, Replaced: a.Replaced, Err: a.Err}
		switch {
		case a.Cancelled:
			answers[i].End = ErrCancelled
		case a.Replaced:
			answers[i].End = ErrReplaced
		}
	}
	return answers
}
