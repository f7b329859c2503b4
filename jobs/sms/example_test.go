package sms_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

// open returns the outbox of a new, empty store.
func open() (outbox *sms.Outbox, done func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	outbox, err = sms.NewOutbox(client, sms.Options{Namespace: "shop"})
	if err != nil {
		panic(err)
	}
	return outbox, func() {
		_ = client.Close()
		server.Close()
	}
}

// The job is given to a node. Here its function is called once, as a node does for
// each tick.
func ExampleJob() {
	outbox, done := open()
	defer done()
	ctx := context.Background()
	_, err := outbox.Accept(ctx, sms.Message{ID: "order-17", To: "+12025550123", Text: "Your order is on its way."})
	if err != nil {
		fmt.Println(err)
		return
	}
	job := sms.Job(outbox, sms.NewConsole(os.Stdout), sms.Batch(50))
	fmt.Println(job.Name, job.Spec)
	if err := job.Func(ctx, &scheduler.Run{ID: "shop/sendSms@1", Fence: 1}); err != nil {
		fmt.Println(err)
	}
	counts, err := outbox.Counts(ctx)
	fmt.Println(counts.Sent, counts.Once, err)
	// Output:
	// sendSms 0/5 * * * * ?
	// sms order-17 to +120****0123: "Your order is on its way."
	// 1 1 <nil>
}

func ExampleOutbox_Accept() {
	outbox, done := open()
	defer done()
	ctx := context.Background()
	m := sms.Message{ID: "code-1", To: "+447700900123", Text: "123456"}
	fmt.Println(outbox.Accept(ctx, m))
	fmt.Println(outbox.Accept(ctx, m)) // again, as after a lost reply
	m.Text = "654321"
	_, err := outbox.Accept(ctx, m)
	fmt.Println(errors.Is(err, sms.ErrConflict))
	_, err = outbox.Accept(ctx, sms.Message{ID: "code-2", To: "07700900123", Text: "123456"})
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// true
	// sms: accept: to is "077****0123", must be + and 8 to 15 digits, the first not 0
}

func ExampleOutbox_List() {
	outbox, done := open()
	defer done()
	ctx := context.Background()
	_, _ = outbox.Accept(ctx, sms.Message{ID: "a", To: "+12025550123", Text: "Hello", At: time.Date(2024, 3, 1, 9, 30, 0, 0, time.UTC)})
	records, err := outbox.List(ctx, sms.Queued, 10)
	for _, r := range records {
		fmt.Println(r)
	}
	fmt.Println(err)
	// Output:
	// message "a" to "+120****0123", 5 characters, due at 2024-03-01T09:30:00Z, queued
	// <nil>
}

// An older run is refused once a newer one has the outbox.
func ExampleOutbox_Take() {
	outbox, done := open()
	defer done()
	ctx := context.Background()
	_, _ = outbox.Accept(ctx, sms.Message{ID: "a", To: "+12025550123", Text: "Hello"})
	older, newer := sms.Holder{Run: "shop/sendSms@1", Fence: 1}, sms.Holder{Run: "shop/sendSms@2", Fence: 2}
	paused, _ := outbox.Take(ctx, older, 1)
	taken, _ := outbox.Take(ctx, newer, 1)
	fmt.Println(errors.Is(outbox.Mark(ctx, older, paused[0].Sent(0)), sms.ErrFenced))
	fmt.Println(outbox.Mark(ctx, newer, taken[0].Sent(0)))
	// Output:
	// true
	// <nil>
}

func ExampleMask() {
	fmt.Println(sms.Mask("+8613812345678"))
	// Output: +86138****5678
}

func ExampleNewHTTP() {
	_, err := sms.NewHTTP(sms.HTTPConfig{URL: "gateway.example/send"})
	fmt.Println(err)
	// Output: sms: new HTTP gateway: url is of another scheme, or without a host, must be an http or https URL with a host and without user or password
}
