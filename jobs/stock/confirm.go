package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// askConfirmed runs a script for a buyer. With Options.Replicas, the answer counts only if enough
// replicas have confirmed it. WAIT is sent on the same connection as the script, because it covers
// the writes of its own connection alone.
func (s *Sale) askConfirmed(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	if s.options.Replicas == 0 {
		return s.runScript(ctx, script, keys, args...)
	}
	return repeat(ctx, func() ([]string, error) { return s.confirmed(ctx, script, keys, args) })
}

// confirmed sends a script and WAIT in one pipeline. A refusal needs no confirmation. A repeated
// answer does, because the first one may not have been confirmed.
//
// A repeated answer writes nothing, and since Redis 7.2 WAIT covers only writes of its connection.
// So the pipeline writes a key for WAIT to cover.
func (s *Sale) confirmed(ctx context.Context, script *redis.Script, keys []string, args []any) ([]string, error) {
	master, err := s.master(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	answer, replicas, err := s.pipeline(ctx, master, script.EvalSha, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, replicas, err = s.pipeline(ctx, master, script.Eval, keys, args)
	}
	if err != nil || !changed(answer) || replicas >= int64(s.options.Replicas) {
		return answer, err
	}
	return nil, fmt.Errorf("%d of %d replicas within %v: %w", replicas, s.options.Replicas, s.options.ReplicaTimeout, ErrUnconfirmed)
}

type evaluate func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

func (s *Sale) pipeline(ctx context.Context, master redis.UniversalClient, run evaluate, keys []string, args []any) ([]string, int64, error) {
	pipe := master.Pipeline()
	answer := run(ctx, pipe, keys, args...)
	pipe.Set(ctx, s.key(keyAsked), "", 0) // a full store refuses SET and allows PEXPIRE
	wrote := pipe.PExpire(ctx, s.key(keyAsked), s.options.Retention)
	wait := pipe.Do(ctx, "WAIT", s.options.Replicas, s.options.ReplicaTimeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	got, err := answer.StringSlice()
	if err != nil {
		return nil, 0, full(err)
	}
	replicas, err := wait.Int64()
	if !wrote.Val() {
		replicas = 0 // the replicas may not have it
		err = errors.Join(err, wrote.Err())
	}
	return got, replicas, err
}

// master returns the client of the server that has a key.
func (s *Sale) master(ctx context.Context, key string) (redis.UniversalClient, error) {
	switch client := s.client.(type) {
	case *redis.ClusterClient:
		return client.MasterForKey(ctx, key)
	case *redis.Client: // also behind Sentinels
		return client, nil
	}
	return nil, errors.New("replicas can be waited for with a *redis.Client or a *redis.ClusterClient only")
}

// changed reports whether an answer is about a change, made by this call or an earlier one.
func changed(answer []string) bool {
	return len(answer) > 0 && (answer[0] == "new" || answer[0] == "known" || answer[0] == "ok" || answer[0] == "closed")
}
