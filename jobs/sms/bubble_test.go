package sms_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// A bubble is an outbox, with its store, in a bubble of virtual time.
type bubble struct {
	t      *testing.T
	outbox *sms.Outbox
	client *redis.Client
	mu     sync.Mutex
	seen   []string // the ids of all requests, in order
	errs   map[string][]error
	flying int
	most   int           // requests at the same time
	takes  time.Duration // one request
}

// inBubble runs a test in virtual time, with n messages that are due.
func inBubble(t *testing.T, n int, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		t.Cleanup(server.Close)
		client := connect(t, &redis.Options{Addr: "127.0.0.1:1", Dialer: func(context.Context, string, string) (net.Conn, error) {
			return server.Dial()
		}})
		b := &bubble{t: t, outbox: outbox(t, client), client: client, errs: map[string][]error{}, takes: 10 * time.Millisecond}
		fill(t, b.outbox, n)
		test(t, b)
	})
}

// Send is the bubble's gateway. It answers with the message's errors in turn,
// then with success.
func (b *bubble) Send(ctx context.Context, m sms.Message) error {
	b.begin(m.ID)
	defer b.end()
	select {
	case <-ctx.Done():
		return &sms.GatewayError{Err: ctx.Err(), Unsure: true}
	case <-time.After(b.takes):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if errs := b.errs[m.ID]; len(errs) > 0 {
		b.errs[m.ID] = errs[1:]
		return errs[0]
	}
	return nil
}

func (b *bubble) begin(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, id)
	b.flying++
	b.most = max(b.most, b.flying)
}

func (b *bubble) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
}

// run is one run of the job with the n-th fence.
func (b *bubble) run(n int64, options ...sms.Option) error {
	return sms.Deliver(b.t.Context(), b.outbox, b, holder(n), always, slog.New(slog.DiscardHandler), options...)
}

func (b *bubble) wantRun(n int64, options ...sms.Option) {
	b.t.Helper()
	if err := b.run(n, options...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bubble) wantRequests(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.seen, want) {
		b.t.Errorf("requests for %v, want %v", b.seen, want)
	}
}

func TestRunSendsNoMoreThanABatch(t *testing.T) {
	inBubble(t, 30, func(t *testing.T, b *bubble) {
		accept(t, b.outbox, sms.Message{ID: "later", To: "+12025550101", Text: "x", At: time.Now().Add(time.Minute)}, true)
		b.wantRun(1, sms.Batch(25), sms.Concurrency(4))
		if len(b.seen) != 25 || b.most != 4 {
			t.Errorf("%d requests, %d at once, want 25 and 4", len(b.seen), b.most)
		}
		wantCounts(t, b.outbox, sms.Counts{Queued: 6, Due: 5, Sent: 25, Once: 25})
		b.wantRun(2, sms.Batch(25), sms.Concurrency(4))
		if len(b.seen) != 30 || len(slices.Compact(slices.Sorted(slices.Values(b.seen)))) != 30 {
			t.Errorf("requests for %v, want each message once", b.seen)
		}
		time.Sleep(time.Minute)
		b.wantRun(3)
		wantCounts(t, b.outbox, sms.Counts{Sent: 31, Once: 31})
	})
}

// A run is paused within a request. Another run takes its messages over and sends
// them. When the first wakes up its mark is refused: it has repeated the one
// request it was in, under the same key, and nothing else.
func TestPausedRunRepeatsOneRequestAtMost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		wake, paused := make(chan struct{}), make(chan error)
		var keys []string
		sleepy := gatewayFunc(func(_ context.Context, m sms.Message) error {
			keys = append(keys, m.ID)
			<-wake
			return nil
		})
		go func() {
			paused <- sms.Deliver(t.Context(), b.outbox, sleepy, holder(1), always, slog.New(slog.DiscardHandler), sms.Concurrency(1))
		}()
		synctest.Wait()
		b.wantRun(2)
		before := get(t, b.outbox, "m-00")
		close(wake)
		if err := <-paused; !errors.Is(err, sms.ErrFenced) {
			t.Errorf("the paused run ended with %v, want ErrFenced", err)
		}
		if after := get(t, b.outbox, "m-00"); after != before || after.State != sms.Sent || after.Fence != holder(2).Fence {
			t.Errorf("m-00 is %+v, was %+v, want it sent by the second run", after, before)
		}
		if want := []string{"m-00"}; !slices.Equal(keys, want) {
			t.Errorf("the paused run requested %v, want %v", keys, want)
		}
		wantCounts(t, b.outbox, sms.Counts{Sent: 3, Once: 2, Repeated: 1})
	})
}

// A run that was paused before its requests wakes up with its lease over: it
// makes none.
func TestNoRequestWithoutALease(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, b *bubble) {
		lost, calls := errors.New("lease lost"), 0
		check := func() error {
			if calls++; calls > 3 { // one before each take, one before each request
				return lost
			}
			return nil
		}
		err := sms.Deliver(t.Context(), b.outbox, b, holder(1), check, slog.New(slog.DiscardHandler), sms.Concurrency(1))
		if !errors.Is(err, lost) {
			t.Errorf("run = %v, want %v", err, lost)
		}
		b.wantRequests("m-00")
		wantCounts(t, b.outbox, sms.Counts{Queued: 3, Due: 3, Sent: 1, Once: 1})
	})
}

// The run's context ends while two of four messages are being sent, after one was. The sent message is
// marked; the two are tried again, as they may have arrived.
func TestRunMarksAfterItsContextEnded(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, b *bubble) {
		ctx, cancel := context.WithCancelCause(t.Context())
		drained := errors.New("drained")
		slow := gatewayFunc(func(ctx context.Context, m sms.Message) error {
			if m.ID == "m-00" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		time.AfterFunc(time.Second, func() { cancel(drained) })
		err := sms.Deliver(ctx, b.outbox, slow, holder(1), always, slog.New(slog.DiscardHandler), sms.Concurrency(2))
		if !errors.Is(err, drained) {
			t.Errorf("run = %v, want the context's cause", err)
		}
		wantCounts(t, b.outbox, sms.Counts{Queued: 3, Due: 1, Sent: 1, Once: 1})
		time.Sleep(time.Minute)
		b.wantRun(2, sms.Concurrency(1))
		b.wantRequests("m-03", "m-01", "m-02")
		wantCounts(t, b.outbox, sms.Counts{Sent: 4, Once: 2, Repeated: 2})
	})
}

// A process dies after its request and before its mark. The next run sends the
// same message again under the same key, and the outbox knows.
func TestCrashBetweenSendAndMark(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		dead := errors.New("killed")
		b.client.AddHook(&dying{after: 1, err: dead})
		if err := b.run(1, sms.Concurrency(1)); !errors.Is(err, dead) {
			t.Fatalf("run = %v, want it dead", err)
		}
		b.outbox = outbox(t, connect(t, b.client.Options()))
		b.wantRun(2, sms.Concurrency(1))
		b.wantRequests("m-00", "m-00", "m-01", "m-02", "m-03", "m-04")
		wantCounts(t, b.outbox, sms.Counts{Sent: 5, Once: 4, Repeated: 1})
	})
}

// dying lets so many commands succeed and then none.
type dying struct {
	deaf
	mu    sync.Mutex
	after int
	err   error
}

func (d *dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.after == 0 {
			cmd.SetErr(d.err)
			return d.err
		}
		err := next(ctx, cmd)
		if err == nil {
			d.after--
		}
		return err
	}
}

// A hook does something before each command to the store, which an error makes fail, or after the first script.
type hook struct {
	deaf
	before func(ctx context.Context) error
	after  func()
	first  sync.Once
}

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.before != nil {
			if err := h.before(ctx); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if err == nil && h.after != nil && strings.HasPrefix(cmd.Name(), "eval") {
			h.first.Do(h.after)
		}
		return err
	}
}

// A gateway that refuses everything, and does not say whether it means the message or the sender,
// is asked for a hundred messages, and then for one in each run until the pause is over.
func TestDownGatewayEndsTheRun(t *testing.T) {
	inBubble(t, 140, func(t *testing.T, b *bubble) {
		for i := range 140 {
			id := fmt.Sprintf("m-%02d", i)
			b.errs[id] = slices.Repeat([]error{&sms.GatewayError{Status: 503}}, 3)
		}
		if err := b.run(1, sms.Batch(1000), sms.Concurrency(10)); err == nil {
			t.Error("the run ended well")
		}
		if len(b.seen) != 10*3+95 { // the last window begins below a hundred
			t.Errorf("%d requests, want three for each of ten messages and one for ninety-five", len(b.seen))
		}
		wantCounts(t, b.outbox, sms.Counts{Queued: 140, Due: 35})
		asked := len(b.seen)
		err := b.run(2)
		if err == nil || len(b.seen) != asked+1 {
			t.Errorf("the next run = %v after %d requests, want one for a message that was never refused", err, len(b.seen)-asked)
		}
	})
}

// A run forgets old messages in several steps, each of a bounded number.
func TestRunForgetsOldMessages(t *testing.T) {
	inBubble(t, 350, func(t *testing.T, b *bubble) {
		b.wantRun(1, sms.Concurrency(50))
		wantCounts(t, b.outbox, sms.Counts{Sent: 350, Once: 350})
		time.Sleep(8 * 24 * time.Hour)
		if n, err := b.outbox.Trim(t.Context()); n != 100 || err != nil {
			t.Errorf("one step has forgotten %d, %v, want 100", n, err)
		}
		b.wantRun(2)
		wantCounts(t, b.outbox, sms.Counts{})
		var old []redis.Z
		for i := range 1001 {
			old = append(old, redis.Z{Score: 1, Member: fmt.Sprintf("old-%d", i)})
		}
		if err := b.client.ZAdd(t.Context(), keys+"sent", old...).Err(); err != nil {
			t.Fatal(err)
		}
		b.wantRun(3)
		wantCounts(t, b.outbox, sms.Counts{Sent: 1, Once: 1})
	})
}
