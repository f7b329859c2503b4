package redlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
)

var errGate = errors.New("the gate is shut")

// A gate is a hook that blocks all commands, or loses the replies, while it is shut.
type gate struct {
	shut  atomic.Bool
	loses atomic.Bool // the command is carried out, its reply is lost
	asked atomic.Int64
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.asked.Add(1)
		if g.shut.Load() {
			cmd.SetErr(errGate)
			return errGate
		}
		err := next(ctx, cmd)
		if err == nil && g.loses.Load() {
			cmd.SetErr(errGate)
			return errGate
		}
		return err
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type gates []*gate

// gated puts a gate before every server.
func gated(cs []redis.UniversalClient) gates {
	all := make(gates, len(cs))
	for i, c := range cs {
		all[i] = new(gate)
		c.AddHook(all[i])
	}
	return all
}

// open opens these gates and shuts the others.
func (gs gates) open(which ...int) {
	for _, g := range gs {
		g.shut.Store(true)
	}
	for _, i := range which {
		gs[i].shut.Store(false)
	}
}

func (gs gates) asked() (n int64) {
	for _, g := range gs {
		n += g.asked.Swap(0)
	}
	return n
}

// signal stops or continues servers.
func signal(s syscall.Signal, servers ...*redisserver.Server) {
	for _, server := range servers {
		_ = syscall.Kill(server.Pid(), s)
	}
}
