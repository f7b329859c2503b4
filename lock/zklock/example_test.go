package zklock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/zklock"
)

// This example connects to the servers of one ensemble. The keys of a process that dies become free
// when its session has ended, here 10 seconds later.
func ExampleNew() {
	d, err := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, zklock.Options{Namespace: "shop", Session: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	defer d.Close()
	l, risks, err := lock.Open(context.Background(), d, "node-1")
	if err != nil {
		panic(err)
	}
	for _, risk := range risks {
		fmt.Println(risk)
	}
	err = l.Do(context.Background(), "settle", lock.Options{}, func(_ context.Context, lease *lock.Lease) error {
		fmt.Println("settling with the fence", lease.Fence())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleNew_refused() {
	_, err := zklock.New([]string{"zk1:2181"}, zklock.Options{Namespace: "shop/1"})
	fmt.Println(err)
	// Output: lock: Options.Namespace is "shop/1", must be ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$
}
