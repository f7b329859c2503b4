package oversell

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/wait"
)

// SetNX is the usual recipe: SET NX PX, read, check and write, DEL. If the work takes longer than
// the TTL, a second buyer gets the lock beside the first. The first buyer's DEL then removes the
// second buyer's lock, and a third one gets it. A longer TTL makes this rare but never impossible,
// because any process can be paused for longer.
type SetNX struct {
	None
	line
	Client redis.UniversalClient
	Key    string
	TTL    time.Duration
	Poll   time.Duration // average interval between probes of the lock
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
		if err := wait.Sleep(ctx, rand.N(2*s.Poll)); err != nil {
			return err
		}
	}
	defer s.Client.Del(context.WithoutCancel(ctx), s.Key) // by now the key may belong to another buyer
	return s.None.Buy(ctx, order)
}
