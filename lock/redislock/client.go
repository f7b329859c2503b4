package redislock

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// defaultTimeout is what Harden sets where no time limit was asked for.
const defaultTimeout = 2 * time.Second

// Harden sets what a client of a [Driver] needs: it respects the deadlines of
// contexts and repeats no request on its own, because the caller knows for how
// long an answer is of use. Time limits that are not set become two seconds, and
// a failed dial is not repeated. Maintenance notifications are off unless they are
// configured: to find out of which kind its address is, a client would look up its
// server's name when it is made, and wait where DNS is silent. A client for a Cluster
// still asks again when a connection breaks, within the context, all but what frees a lock;
// the scripts allow that.
func Harden[O redis.UniversalOptions | redis.Options](o *O) {
	switch o := any(o).(type) {
	case *redis.UniversalOptions:
		harden(&o.MaxRetries, &o.ContextTimeoutEnabled, &o.DialerRetries, &o.MaintNotificationsConfig,
			&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	case *redis.Options:
		harden(&o.MaxRetries, &o.ContextTimeoutEnabled, &o.DialerRetries, &o.MaintNotificationsConfig,
			&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	}
}

func harden(retries *int, deadlines *bool, dials *int, notifications **maintnotifications.Config, limits ...*time.Duration) {
	*retries, *deadlines = -1, true
	for _, limit := range limits {
		if *limit == 0 {
			*limit = defaultTimeout
		}
	}
	if *dials == 0 {
		*dials = 1
	}
	if *notifications == nil {
		*notifications = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
}

// prompt reports whether a client ends its requests with the deadline of their
// context, or soon after it was cancelled.
func prompt(client redis.UniversalClient) bool {
	_, deadlines, _ := limits(client)
	return deadlines && readTimeout(client) > 0
}

// readTimeout is how long a client waits for an answer; 0 or less: without end,
// or it is unknown.
func readTimeout(client redis.UniversalClient) time.Duration {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ReadTimeout
	case *redis.ClusterClient:
		return c.Options().ReadTimeout
	}
	return 0
}

// bounded returns when ctx ends. If f does not do so by itself it runs beside:
// that costs as much as a third of a round trip.
func bounded[T any](ctx context.Context, prompt bool, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if prompt || ctx.Done() == nil {
		return f()
	}
	type reply struct {
		value T
		err   error
	}
	done := make(chan reply, 1)
	go func() {
		v, err := f()
		done <- reply{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// limits are how often a client repeats a request, and whether it respects the
// deadlines of contexts.
func limits(client redis.UniversalClient) (retries int, deadlines, known bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	case *redis.ClusterClient:
		return c.Options().MaxRetries, c.Options().ContextTimeoutEnabled, true
	}
	return 0, false, false
}

// eachMaster calls f for each server that judges leases: side by side in a
// Cluster.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}

// address is the one that the client was given.
func address(client redis.UniversalClient) string {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().Addr
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ",")
	}
	return "redis"
}

// failed has a client of a Cluster read again which master has which slots. By itself a
// client does so when a server answers that a key has moved: one that died answers nothing,
// and would be sent requests for a minute more. The client reads in the background, and
// once for all requests that fail at the time.
func (d *Driver) failed(ctx context.Context, err error) {
	if cluster, ok := d.client.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx)
	}
}
