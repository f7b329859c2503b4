package clients

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/lock/redislock"
)

// Redis builds the client of the configured Redis, or of one on this machine if no store is
// configured. It sends nothing.
func Redis(c *config.Config) (redis.UniversalClient, error) {
	if a := c.Address(); a.Kind != config.StoreRedis && !a.Default {
		return nil, exit.Usage(c.Fault("store", "is %s, but this needs a Redis: set --redis", c.StoreName()))
	}
	return RedisWith(c, func(*redis.UniversalOptions) {})
}

// RedisWith builds a client. The function set may change its options.
func RedisWith(c *config.Config, set func(*redis.UniversalOptions)) (redis.UniversalClient, error) {
	o, err := config.RedisOptions(c)
	if err != nil {
		return nil, exit.Usage(err)
	}
	set(o)
	redislock.Harden(o)
	return redis.NewUniversalClient(o), nil
}

// RedisDriver builds the store on a client of a Redis.
func RedisDriver(c *config.Config, client redis.UniversalClient) (*redislock.Driver, error) {
	d, err := redislock.New(client, redislock.Options{
		Namespace: c.Namespace, Partitions: c.Redis.Partitions, GroupBy: c.Redis.GroupBy,
		JournalLines: c.Redis.JournalLines, JournalBytes: c.Redis.JournalBytes, Check: checkOptions(c),
	})
	if err != nil {
		return nil, exit.Usage(err)
	}
	return d, nil
}

// CheckRedis checks the Redis of the store, without a trace in the namespace.
func (s *Store) CheckRedis(ctx context.Context) ([]redislock.Finding, error) {
	return redislock.Check(ctx, s.Client.(redis.UniversalClient), checkOptions(s.Config))
}

// ExamineRedis checks it as CheckRedis does, and also refuses a server at maxmemory, for which nodes
// and locks wait.
func (s *Store) ExamineRedis(ctx context.Context) ([]redislock.Finding, error) {
	o := checkOptions(s.Config)
	o.RefuseFull = true
	return redislock.Check(ctx, s.Client.(redis.UniversalClient), o)
}

// RedisNamespaces returns the namespaces in the Redis of the store: see [redislock.Namespaces].
func (s *Store) RedisNamespaces(ctx context.Context) (found []redislock.Namespace, more bool, err error) {
	return redislock.Namespaces(ctx, s.Client.(redis.UniversalClient), 0)
}

// checkOptions returns the options for the check of a configuration's server.
func checkOptions(c *config.Config) redislock.CheckOptions {
	return redislock.CheckOptions{Strict: c.Redis.Strict, AllowEviction: c.Redis.AllowEviction}
}

// noLog drops the log lines of the clients of Redis and MySQL, which return their errors anyway.
type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}
func (noLog) Print(...any)                           {}

// All clients share one logger in a package variable without a lock, so it is set before the first
// client.
func init() { redis.SetLogger(noLog{}) }
