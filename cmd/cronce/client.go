package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/lock/redislock"
)

// newClient builds the client of the configured Redis. It sends nothing.
func newClient(c *config.Config) (redis.UniversalClient, error) {
	return newClientWith(c, func(*redis.UniversalOptions) {})
}

// newClientWith builds a client with options that set changes.
func newClientWith(c *config.Config, set func(*redis.UniversalOptions)) (redis.UniversalClient, error) {
	o, err := c.RedisOptions()
	if err != nil {
		return nil, &usageError{err}
	}
	set(o)
	redislock.Harden(o)
	return redis.NewUniversalClient(o), nil
}

// newDriver builds the store on a client.
func newDriver(c *config.Config, client redis.UniversalClient) (*redislock.Driver, error) {
	d, err := redislock.New(client, redislock.Options{
		Namespace: c.Namespace, Shards: c.Redis.Shards, GroupBy: c.Redis.GroupBy,
		JournalLines: c.Redis.JournalLines, JournalBytes: c.Redis.JournalBytes, Check: checkOptions(c),
	})
	if err != nil {
		return nil, &usageError{err}
	}
	return d, nil
}

func checkOptions(c *config.Config) redislock.CheckOptions {
	return redislock.CheckOptions{Strict: c.Redis.Strict, AllowEviction: c.Redis.AllowEviction}
}

// quiet keeps the client from printing beside our log; its errors reach us as
// errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// All clients share one logger, in a variable without a lock: it is set before any of them
// can be there.
func init() { redis.SetLogger(quiet{}) }
