package redislock

import (
	"cmp"
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// shaArgs are EVALSHA, the hash, and the number of keys.
const shaArgs = 3

// evaluate runs a script whose keys and arguments stand behind the first shaArgs
// places of args, without copying them. Where it is not known it is sent whole.
func (d *Driver) evaluate(ctx context.Context, s *redis.Script, keys int, args []any) (any, error) {
	args[0], args[1], args[2] = "evalsha", s.Hash(), keys
	reply, err := bounded(ctx, d.prompt, func() (any, error) {
		cmd := redis.NewCmd(ctx, args...)
		cmd.SetFirstKeyPos(shaArgs)
		err := d.client.Process(ctx, cmd)
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return cmd.Val(), err
		}
		names := make([]string, keys)
		for i := range names {
			names[i] = args[shaArgs+i].(string)
		}
		return s.Eval(ctx, d.client, names, args[shaArgs+keys:]...).Result()
	})
	d.failed(ctx, err)
	return reply, err
}

// maxNames is how many names are kept.
const maxNames = 1 << 16

// names are keys of series as arguments, kept so that they are not made for each
// request. The zero value is ready to use, by many at once.
type names struct {
	mu   sync.RWMutex
	keys map[string]any
	most int // how many are kept; zero: maxNames
}

// add appends the key of each series.
func (n *names) add(args []any, prefix string, at []int, ps []lock.Peek) []any {
	complete := true
	n.mu.RLock()
	for _, i := range at {
		key, known := n.keys[ps[i].Key]
		complete = complete && known
		args = append(args, key)
	}
	n.mu.RUnlock()
	if !complete {
		n.learn(args[len(args)-len(at):], prefix, at, ps)
	}
	return args
}

// learn makes the keys that are missing. When too many are kept all are dropped.
func (n *names) learn(keys []any, prefix string, at []int, ps []lock.Peek) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil || len(n.keys)+len(at) > cmp.Or(n.most, maxNames) {
		n.keys = make(map[string]any, len(at))
	}
	for k, i := range at {
		if keys[k] == nil {
			keys[k] = prefix + escape(ps[i].Key)
			n.keys[ps[i].Key] = keys[k]
		}
	}
}
