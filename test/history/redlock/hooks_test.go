package redlock_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// client returns a client with the options that lock traffic needs, and with the hooks.
func client(t *testing.T, server *redisserver.Server, hooks ...hook) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{server.Addr()}, DialTimeout: time.Minute} // a connection may take long on a busy machine
	redislock.Harden(o)
	c := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = c.Close() })
	for _, h := range hooks {
		c.AddHook(h)
	}
	return c
}

// A hook sends each command, or does not.
type hook func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error

// DialHook, ProcessHook and ProcessPipelineHook make it a redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return h(ctx, cmd, next) }
}

func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

var errLost = errors.New("the reply is lost")

// losing loses the replies while it is on: the commands are carried out.
func losing(on *atomic.Bool) hook {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		err := send(ctx, cmd)
		if err == nil && on.Load() {
			err = errLost
			cmd.SetErr(err)
		}
		return err
	}
}

// ahead makes a server's clock appear to be ahead by some seconds.
func ahead(seconds int64) hook {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		err := send(ctx, cmd)
		if asked, is := cmd.(*redis.Cmd); is && err == nil && cmd.Name() == "time" {
			at := asked.Val().([]any)
			unix, _ := strconv.ParseInt(at[0].(string), 10, 64)
			asked.SetVal([]any{strconv.FormatInt(unix+seconds, 10), at[1]})
		}
		return err
	}
}

// A noScriptError is the answer of a server that does not know a script: the driver then sends the
// script itself.
type noScriptError struct{}

func (noScriptError) Error() string { return "NOSCRIPT" }
func (noScriptError) RedisError()   {}

// edit changes the scripts on their way to the servers, by pairs of a text and its replacement.
func edit(texts ...string) hook {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		switch cmd.Name() {
		case "evalsha":
			cmd.SetErr(noScriptError{})
			return noScriptError{}
		case "eval":
			args := cmd.Args()
			args[1] = strings.NewReplacer(texts...).Replace(args[1].(string))
		}
		return send(ctx, cmd)
	}
}
