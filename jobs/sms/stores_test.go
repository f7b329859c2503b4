package sms_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/sms"
)

// onStores runs a test on miniredis and on a real redis-server.
func onStores(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, &redis.Options{Addr: redisserver.Start(t).Addr()}))
	})
}

func newMini(t *testing.T) *redis.Client {
	t.Helper()
	return connect(t, &redis.Options{Addr: miniredis.RunT(t).Addr()})
}

// connect returns a client set up as the lock's clients are.
func connect(t *testing.T, options *redis.Options) *redis.Client {
	t.Helper()
	options.ContextTimeoutEnabled = true
	options.MaxRetries = -1
	options.DialerRetries = 1
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func outbox(t *testing.T, client redis.Scripter) *sms.Outbox {
	t.Helper()
	o, err := sms.NewOutbox(client, sms.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// fill puts n messages that are due into an outbox: m-00, m-01, …
func fill(t *testing.T, o *sms.Outbox, n int) []sms.Message {
	t.Helper()
	messages := make([]sms.Message, n)
	for i := range n {
		messages[i] = sms.Message{
			ID:   fmt.Sprintf("m-%02d", i),
			To:   fmt.Sprintf("+44770090%04d", i),
			Text: fmt.Sprintf("Text %d", i),
		}
		accept(t, o, messages[i], true)
	}
	return messages
}

func accept(t *testing.T, o *sms.Outbox, m sms.Message, want bool) {
	t.Helper()
	if fresh, err := o.Accept(t.Context(), m); err != nil || fresh != want {
		t.Fatalf("Accept(%v) = %v, %v, want %v", m, fresh, err, want)
	}
}

func take(t *testing.T, o *sms.Outbox, h sms.Holder, n int) []sms.Piece {
	t.Helper()
	pieces, err := o.Take(t.Context(), h, n)
	if err != nil {
		t.Fatal(err)
	}
	return pieces
}

func mark(t *testing.T, o *sms.Outbox, h sms.Holder, marks ...sms.Mark) {
	t.Helper()
	if err := o.Mark(t.Context(), h, marks...); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, o *sms.Outbox, id string) sms.Record {
	t.Helper()
	r, err := o.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantCounts(t *testing.T, o *sms.Outbox, want sms.Counts) {
	t.Helper()
	if got, err := o.Counts(t.Context()); err != nil || got != want {
		t.Errorf("Counts = %+v, %v, want %+v", got, err, want)
	}
}

func ids(pieces []sms.Piece) []string {
	names := make([]string, len(pieces))
	for i, p := range pieces {
		names[i] = p.Message.ID
	}
	return names
}

// holder is a run with a fence in the range of real ones, where numbers printed
// carelessly lose their last digits.
func holder(n int64) sms.Holder {
	return sms.Holder{Run: fmt.Sprintf("cronce/sendSms@%d", n), Fence: 1795207852937400 + n}
}

func always() error { return nil }

// gatewayFunc is a gateway made of a function.
type gatewayFunc func(ctx context.Context, m sms.Message) error

func (f gatewayFunc) Send(ctx context.Context, m sms.Message) error { return f(ctx, m) }
