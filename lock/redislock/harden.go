package redislock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// defaultTimeout is what Harden sets where no time limit was asked for.
const defaultTimeout = 2 * time.Second

// Harden sets what a client of a [Driver] needs: it respects the deadlines of
// contexts and repeats no request on its own, because who asks knows for how
// long an answer is of use. Time limits that are not set become two seconds, and
// a failed dial is not repeated. A client for a Cluster still asks a second node
// when a connection breaks, within the context; every script allows that.
func Harden(o *redis.UniversalOptions) {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	for _, limit := range []*time.Duration{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout} {
		if *limit == 0 {
			*limit = defaultTimeout
		}
	}
	if o.DialerRetries == 0 {
		o.DialerRetries = 1
	}
}
