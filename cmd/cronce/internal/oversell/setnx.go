package oversell

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// SetNX is the usual recipe: SET NX PX, read, check and write, DEL. When the work
// takes longer than TTL, the next buyer comes in beside the first; the first one's
// DEL then takes away the second one's lock, and lets in a third. A longer TTL makes
// this rare, and never impossible: any process can stand still for longer.
type SetNX struct {
	None
	line
	Client redis.UniversalClient
	Key    string
	TTL    time.Duration
	Poll   time.Duration // how often to probe whether it is free, on average
}

// Buy implements [Strategy].
func (s *SetNX) Buy(ctx context.Context, order string) error {
	for {
		granted, err := s.Client.SetNX(ctx, s.Key, "locked", s.TTL).Result()
		if err != nil {
			return err
		}
		if granted {
			s.turns.Add(1)
			break
		}
		if err := sleep(ctx, rand.N(2*s.Poll)); err != nil {
			return err
		}
	}
	defer s.Client.Del(context.WithoutCancel(ctx), s.Key) // the key may be another buyer's by now
	return s.None.Buy(ctx, order)
}
