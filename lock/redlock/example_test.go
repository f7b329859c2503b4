package redlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/redlock"
)

// This example holds a lease on the majority of five servers, one of which is down.
func Example() {
	var clients []redis.UniversalClient
	for i := range 5 {
		server := miniredis.NewMiniRedis() // instead of a real one
		if err := server.Start(); err != nil {
			fmt.Println(err)
			return
		}
		defer server.Close()
		options := &redis.UniversalOptions{Addrs: []string{server.Addr()}}
		redislock.Harden(options)
		client := redis.NewUniversalClient(options)
		defer client.Close()
		clients = append(clients, client)
		if i == 4 {
			server.Close()
		}
	}
	driver, err := redlock.New(clients, redlock.Options{Namespace: "shop", NodeTimeout: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer driver.Close()

	locker, risks, err := lock.Open(context.Background(), driver, "pod-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("risks:", len(risks), risks[0].Topic)
	err = locker.Do(context.Background(), "stock/4711", lock.Options{}, func(ctx context.Context, lease *lock.Lease) error {
		fmt.Println("held, with a fence:", lease.Fence() > 0)
		return ctx.Err()
	})
	fmt.Println("error:", err)
	// Output:
	// risks: 1 connection
	// held, with a fence: true
	// error: <nil>
}
