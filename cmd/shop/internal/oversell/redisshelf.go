package oversell

import (
	"context"
	_ "embed" // the scripts
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/guard"
)

var (
	//go:embed lua/left.lua
	leftLua string
	//go:embed lua/sell.lua
	sellLua string

	leftScript = redis.NewScript(guard.Lua() + leftLua)
	sellScript = redis.NewScript(guard.Lua() + sellLua)
)

// A RedisShelf keeps a product in Redis.
type RedisShelf struct {
	client               redis.UniversalClient
	stock, fence, orders string
}

// NewRedisShelf returns the shelf of a product; all its keys are in one slot.
func NewRedisShelf(client redis.UniversalClient, namespace, product string) *RedisShelf {
	prefix := namespace + ":v1:sale:{" + product + "}:"
	return &RedisShelf{client: client, stock: prefix + "stock", fence: prefix + "fence", orders: prefix + "orders"}
}

// Fill implements [Shelf].
func (s *RedisShelf) Fill(ctx context.Context, stock int) error {
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, s.fence, s.orders)
		p.Set(ctx, s.stock, stock, 0)
		return nil
	})
	return err
}

// Left implements [Shelf].
func (s *RedisShelf) Left(ctx context.Context) (int, error) { return s.client.Get(ctx, s.stock).Int() }

// Orders implements [Shelf].
func (s *RedisShelf) Orders(ctx context.Context) (int, error) {
	n, err := s.client.LLen(ctx, s.orders).Result()
	return int(n), err
}

// Write writes the remaining stock and an order, without any check of the caller.
func (s *RedisShelf) Write(ctx context.Context, left int, order string) error {
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, s.stock, left, 0)
		p.RPush(ctx, s.orders, order)
		return nil
	})
	return err
}

// ReadLeft implements [GuardedShelf].
func (s *RedisShelf) ReadLeft(ctx context.Context, fence int64) (int, error) {
	reply, err := leftScript.Run(ctx, s.client, []string{s.stock, s.fence}, fence).Int64Slice()
	switch {
	case err != nil:
		return 0, err
	case len(reply) != 2:
		return 0, fmt.Errorf("read: %d numbers, want 2", len(reply))
	case reply[0] == 0:
		return 0, guard.ErrStale
	}
	return int(reply[1]), nil
}

// Sell implements [GuardedShelf].
func (s *RedisShelf) Sell(ctx context.Context, fence int64, left int, order string) error {
	admitted, err := sellScript.Run(ctx, s.client, []string{s.stock, s.fence, s.orders}, fence, left, order).Int()
	if err == nil && admitted == 0 {
		return guard.ErrStale
	}
	return err
}
