package guard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
)

const writing = `
if not admit(KEYS[2], ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1`

// A script that writes only with the highest fence: the late write of a holder
// that was paused is refused.
func ExampleLua() {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	options := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	paused, _ := store.Acquire(ctx, driver.Acquisition{Key: "stock", Owner: "a/1", TTL: driver.MinTTL})
	server.FastForward(2 * driver.MinTTL) // its holder is stopped, and does not notice
	next, _ := store.Acquire(ctx, driver.Acquisition{Key: "stock", Owner: "b/1", TTL: driver.MinTTL})

	script := redis.NewScript(guard.Lua() + writing)
	keys := []string{"{stock}:count", "{stock}:fence"}
	fmt.Println(script.Run(ctx, client, keys, next.Fence, 41).Val())
	fmt.Println(script.Run(ctx, client, keys, paused.Fence, 99).Val())
	fmt.Println(client.Get(ctx, "{stock}:count").Val())
	// Output:
	// 1
	// 0
	// 41
}

// On a real server, with fences as large as they are: only a lower one is refused.
func TestLua(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: redisserver.Start(t).Addr()})
	defer c.Close()
	script := redis.NewScript(guard.Lua() + writing)
	const now = 1_795_207_852_937_123
	for i, w := range []struct{ fence, want int64 }{
		{now, 1}, {now, 1}, {now - 1, 0}, {now + 1, 1}, {now, 0}, {driver.MaxNumber, 1}, {driver.MaxNumber - 1, 0},
	} {
		n, err := script.Run(t.Context(), c, []string{"{s}:v", "{s}:f"}, w.fence, i).Int64()
		if err != nil || n != w.want {
			t.Errorf("write %d with fence %d: %d, %v, want %d", i, w.fence, n, err, w.want)
		}
	}
	if got := c.Get(t.Context(), "{s}:v").Val(); got != "5" {
		t.Errorf("the last write is %s, want 5", got)
	}
}
