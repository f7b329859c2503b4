package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// evaluate runs a script without copying what it is given. Where the script is not
// known it is sent whole.
func (d *Driver) evaluate(ctx context.Context, s *redis.Script, r *request) (any, error) {
	args, keys := r.command(), len(r.keys.ends)
	args[0], args[1], args[2] = "evalsha", s.Hash(), keys
	reply, err := bounded(ctx, d.prompt, func() (any, error) {
		cmd := redis.NewCmd(ctx, args...)
		cmd.SetFirstKeyPos(shaArgs)
		err := d.client.Process(ctx, cmd)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return s.Eval(ctx, d.client, r.all[:keys], args[shaArgs+keys:]...).Result()
		}
		return cmd.Val(), err
	})
	d.failed(ctx, err)
	return reply, err
}
