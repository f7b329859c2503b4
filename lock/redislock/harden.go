package redislock

import (
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
