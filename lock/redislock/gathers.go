package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// gathers are those of a client: one for each server that judges leases, so that
// one that does not answer delays no request to another.
type gathers struct {
	client redis.UniversalClient
	limit  time.Duration // of a flight
	all    sync.Map      // of a Cluster: the address of a master -> its *gather
	only   *gather       // of all others
}

func newGathers(client redis.UniversalClient, limit time.Duration) *gathers {
	return &gathers{client: client, limit: limit, only: newGather(client, limit)}
}

// of is the gather for a request, nil if with this context it is to go alone: a
// flight is not cut short for one of its passengers.
func (a *gathers) of(ctx context.Context, r *request) *gather {
	if deadline, some := ctx.Deadline(); some && time.Until(deadline) <= a.limit {
		return nil
	}
	cluster, is := a.client.(*redis.ClusterClient)
	if !is {
		return a.only
	}
	master, err := cluster.MasterForKey(ctx, string(r.keys.b[:r.keys.ends[0]]))
	if err != nil {
		return nil
	}
	g, known := a.all.Load(master.Options().Addr)
	if !known {
		fresh := newGather(a.client, a.limit)
		fresh.slots.Store(true)
		g, _ = a.all.LoadOrStore(master.Options().Addr, fresh)
	}
	return g.(*gather)
}
