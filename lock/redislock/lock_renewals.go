package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// RenewAll implements [driver.MultiRenewer]. It renews up to 200 leases in one round trip: on a
// single server with one script, in a Cluster with one for each lease. Leases that several owners
// may hold have a script each. Leases with replicas are renewed one by one, several of them
// concurrently.
func (d *Driver) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	answers := make([]driver.Renewal, len(hs))
	var at, acked []int
	for i := range hs {
		if hs[i].Replicas > 0 {
			acked = append(acked, i)
		} else {
			at = append(at, i)
		}
	}
	for some := range slices.Chunk(at, maxBatch) {
		d.renewTogether(ctx, hs, some, answers)
	}
	for some := range slices.Chunk(acked, maxLate) {
		var wg sync.WaitGroup
		for _, i := range some {
			wg.Go(func() { answers[i].Grant, answers[i].Err = d.Renew(ctx, hs[i]) })
		}
		wg.Wait()
	}
	return answers
}

// Server implements [driver.Distributed]: it returns the address of the master that judges a plain
// lock, or "" if there is only one server, or if the client has not yet read which masters there
// are.
func (d *Driver) Server(key string) string {
	cluster, is := d.client.(*redis.ClusterClient)
	if !is {
		return ""
	}
	master, err := cluster.MasterForKey(context.Background(), d.keys.lock(key))
	if err != nil {
		return ""
	}
	return master.Options().Addr
}

// renewTogether renews the leases with the indexes at.
func (d *Driver) renewTogether(ctx context.Context, hs []driver.LeaseRef, at []int, answers []driver.Renewal) {
	replies := d.callAll(ctx, at, func(i int) (*script, *request) { return d.renewal(&hs[i]) })
	var shared, lost []int
	read := func(i int, c *call) {
		a := &answers[i]
		switch {
		case c.err != nil:
			a.Err = fmt.Errorf("redislock: renew: %w", c.err)
		case c.reply == int64(-1):
			shared = append(shared, i)
		default:
			if a.Grant, a.Err = readLeft(&outcome{reply: c.reply}, &hs[i]); errors.Is(a.Err, driver.ErrLost) {
				lost = append(lost, i)
			}
		}
	}
	for k, i := range at {
		read(i, replies[k])
	}
	if len(shared) > 0 {
		again := shared
		shared = nil
		replies = d.callAll(ctx, again, func(i int) (*script, *request) { return d.scripts.sharedRenew, d.sharedRenewal(&hs[i]) })
		for k, i := range again {
			read(i, replies[k])
		}
	}
	if len(lost) == 0 {
		return
	}
	replies = d.callAll(ctx, lost, func(i int) (*script, *request) { return d.scripts.why, d.whyOf(&hs[i]) })
	for k, i := range lost {
		// The lease is lost, even if it is not known how.
		if why := readWhy(replies[k].reply, replies[k].err, driver.ErrLost); errors.Is(why, driver.ErrLost) {
			answers[i].Err = why
		}
	}
}

// callAll sends the requests of all indexes together, and returns the calls with their replies.
func (d *Driver) callAll(ctx context.Context, at []int, request func(i int) (*script, *request)) []*call {
	calls := make([]*call, len(at))
	for k, i := range at {
		s, r := request(i)
		calls[k] = &call{script: s, request: r, done: make(chan struct{})}
	}
	_, err := bounded(ctx, d.prompt, func() (struct{}, error) {
		d.pipelines.only.sendAll(ctx, calls)
		return struct{}{}, nil
	})
	if err != nil { // a request that was given up may still use its memory
		for k := range calls {
			calls[k] = &call{err: err}
		}
		return calls
	}
	for _, c := range calls {
		c.request.free()
		if c.err != nil {
			err = c.err
		}
	}
	d.failed(ctx, err)
	return calls
}
