package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/cronce/cronce/lock/redislock"
)

const (
	fitTimeout = 5 * time.Second
	fitPause   = time.Second
)

// fitStore waits until the Redis answers, and refuses one on which ticks could
// run twice, and a configuration with which they could. What is only a risk is
// logged. It returns nil when ctx ends.
func fitStore(ctx context.Context, c *config, client redis.UniversalClient, log *zap.Logger) error {
	driver, err := newDriver(c, client)
	if err != nil {
		return err
	}
	for told := false; ; told = true {
		findings, err := checkStore(ctx, c, client)
		if err == nil {
			err = agree(ctx, driver)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if told {
				log.Info("store back")
			}
			tellRisks(log, findings)
			return nil
		case !unreachable(err):
			return err
		}
		if !told { // once
			log.Warn("store unreachable", zap.String("err", err.Error()))
		}
		_ = sleep(ctx, fitPause)
	}
}

func checkStore(ctx context.Context, c *config, client redis.UniversalClient) ([]redislock.Finding, error) {
	o := redislock.CheckOptions{Strict: c.Redis.Strict, AllowEviction: c.Redis.AllowEviction}
	ctx, stop := context.WithTimeout(ctx, fitTimeout)
	defer stop()
	return redislock.Check(ctx, client, o)
}

func agree(ctx context.Context, driver *redislock.Driver) error {
	ctx, stop := context.WithTimeout(ctx, fitTimeout)
	defer stop()
	return driver.Agree(ctx)
}

// unreachable reports whether all that is wrong is that nobody answers.
func unreachable(err error) bool {
	refused, ok := errors.AsType[*redislock.RefusedError](err)
	if !ok {
		return false
	}
	for _, f := range refused.Findings {
		if f.Topic != redislock.TopicConnection {
			return false
		}
	}
	return true
}

func tellRisks(log *zap.Logger, findings []redislock.Finding) {
	for _, f := range findings {
		if f.Level == redislock.Warn {
			log.Warn("store risk", zap.String("topic", f.Topic), zap.String("server", f.Server),
				zap.String("text", f.Text), zap.String("fix", f.Fix))
		}
	}
}
