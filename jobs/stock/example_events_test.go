package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A consumer group settles orders elsewhere: the first consumer dies with an event in its hands,
// the second takes it over. What is handled is acknowledged after it is done, so an event
// may come twice: what is done of an event is remembered by its id.
func ExampleStream() {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	sale, err := stock.NewSale(client, stock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := stock.NewStream(sale, client, stock.StreamOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The job DeliverEvents does this, with what the database has.
	d := stream.Deliver(ctx, []stock.Event{
		{Seq: 1, Kind: stock.Reserved, Order: "o-1", Payload: []byte(`{"seq":1}`)},
		{Seq: 2, Kind: stock.Paid, Order: "o-1", Payload: []byte(`{"seq":2}`)},
	})
	fmt.Println(d.Done, d.Err)

	died := errors.New("the process died")
	crash := func(redis.XMessage) error { return died }
	show := func(e redis.XMessage) error {
		fmt.Println(e.ID, e.Values["kind"], e.Values["order"], e.Values["event"])
		return nil
	}
	fmt.Println(consume(ctx, client, stream.Key(), "first", 0, crash))
	fmt.Println(consume(ctx, client, stream.Key(), "second", 0, show))
	// Output:
	// 2 <nil>
	// the process died
	// 1-0 reserved o-1 {"seq":1}
	// 2-0 paid o-1 {"seq":2}
	// <nil>
}

// consume handles what a consumer that died has left for longer than idle, and then what is new.
// A program calls it again and again, with an idle time above what handling takes, and Block.
func consume(ctx context.Context, client *redis.Client, key, consumer string, idle time.Duration, handle func(redis.XMessage) error) error {
	const group = "settlement"
	err := client.XGroupCreateMkStream(ctx, key, group, "0").Err() // 0: from the first event on that is kept
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return err
	}
	left, _, err := client.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: key, Group: group, Consumer: consumer, MinIdle: idle, Start: "0-0", Count: 100}).Result()
	if err != nil {
		return err
	}
	fresh, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: consumer, Streams: []string{key, ">"}, Count: 100, Block: -1}).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	for _, s := range fresh {
		left = append(left, s.Messages...)
	}
	for _, e := range left {
		if err := handle(e); err != nil {
			return err
		}
		if err := client.XAck(ctx, key, group, e.ID).Err(); err != nil {
			return err
		}
	}
	return nil
}
