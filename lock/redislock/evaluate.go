package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// evaluate runs a script for a request alone.
func (d *Driver) evaluate(ctx context.Context, s *redis.Script, r *request) (any, error) {
	reply, err := bounded(ctx, d.prompt, func() (any, error) { return evaluate(ctx, d.client, s, r) })
	d.failed(ctx, err)
	return reply, err
}

// evaluate runs a script without copying what it is given. Where the script is not
// known it is sent whole.
func evaluate(ctx context.Context, client redis.UniversalClient, s *redis.Script, r *request) (any, error) {
	cmd := r.command(ctx, s)
	err := client.Process(ctx, r.sendable(cmd))
	if unknown(err) {
		return r.whole(ctx, client, s)
	}
	return cmd.Val(), err
}

// unknown reports whether a server does not know the script.
func unknown(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }

// command is the request to a script that the server knows.
func (r *request) command(ctx context.Context, s *redis.Script) *redis.Cmd {
	r.box()
	r.sent[0], r.sent[1], r.sent[2] = "evalsha", s.Hash(), len(r.keys.ends)
	cmd := redis.NewCmd(ctx, r.sent...)
	cmd.SetFirstKeyPos(shaArgs)
	return cmd
}

// whole runs a script that the server does not know. The request was sent before.
func (r *request) whole(ctx context.Context, client redis.UniversalClient, s *redis.Script) (any, error) {
	keys, args := r.boxed()
	if r.once {
		client = onceClient{client}
	}
	return s.Eval(ctx, client, keys, args...).Result()
}

// onceClient is a client whose Eval sends a script once.
type onceClient struct{ redis.UniversalClient }

// Eval is that of redis.Scripter.
func (c onceClient) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	sent := []any{"eval", script, len(keys)}
	for i := range keys {
		sent = append(sent, keys[i])
	}
	cmd := redis.NewCmd(ctx, append(sent, args...)...)
	cmd.SetFirstKeyPos(shaArgs)
	_ = c.Process(ctx, onceOnly{cmd}) // cmd has the error
	return cmd
}

// onceOnly is a command that a client for a Cluster does not send again when a connection
// breaks. It is for what frees a lock: sent again the answer is that another owner may have
// the lock, and only a caller that knows of the first request knows that nothing was lost.
type onceOnly struct{ *redis.Cmd }

// NoRetry is that of redis.Cmder.
func (onceOnly) NoRetry() bool { return true }

// sendable is the command as it is given to the client.
func (r *request) sendable(cmd *redis.Cmd) redis.Cmder {
	if r.once {
		return onceOnly{cmd}
	}
	return cmd
}
