package redislock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// A client with hardened options, a Locker on a store that is fit, and a lease.
func Example() {
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
	driver, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	locker, risks, err := lock.Open(ctx, driver, "pod-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("asked for its risks:", len(risks) > 0) // log them: a risk names its fix
	err = locker.Do(ctx, "stock/4711", lock.Options{TTL: 5 * time.Second}, func(ctx context.Context, lease *lock.Lease) error {
		fmt.Println("held, with a fence:", lease.Fence() > 0)
		return ctx.Err()
	})
	fmt.Println("error:", err)
	// Output:
	// asked for its risks: true
	// held, with a fence: true
	// error: <nil>
}

// An operator types this to create the minimal user.
func ExampleAccessRules() {
	rules := redislock.AccessRules("shop")
	fmt.Println("ACL SETUSER worker on >password", rules[0], rules[1], rules[2], rules[3], rules[4], "...")
	// Output:
	// ACL SETUSER worker on >password resetkeys ~shop:v1:* resetchannels &shop:v1:i:* nocommands ...
}

// The options that matter, and the time limits that were not set.
func ExampleHarden() {
	options := &redis.UniversalOptions{ReadTimeout: time.Second}
	redislock.Harden(options)
	fmt.Println(options.MaxRetries, options.ContextTimeoutEnabled, options.ReadTimeout, options.DialTimeout)
	// Output:
	// -1 true 1s 2s
}

// A check names the faults and their fixes.
func ExampleCheck() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer client.Close()
	_, err := redislock.Check(context.Background(), client, redislock.CheckOptions{})
	fmt.Println(err)
	// Output:
	// redislock: client: the client does not respect the deadlines of contexts: call redislock.Harden with its options before it is made, or set ContextTimeoutEnabled to true
}
