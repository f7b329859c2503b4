package sms_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/jobs/sms"
)

// Fifty requests at a time that take 100 ms each are five hundred messages a second: no
// request waits for the slowest of a handful, nor for the outbox.
func TestThroughput(t *testing.T) {
	inBubble(t, 1000, func(t *testing.T, b *bubble) {
		var most atomic.Int64
		g := gatewayFunc(func(ctx context.Context, m sms.Message) error {
			b.begin(m.ID)
			defer b.end()
			if strings.HasSuffix(m.ID, "00") {
				c, err := b.outbox.Counts(ctx)
				if err != nil {
					t.Error(err)
				}
				most.Store(max(most.Load(), int64(c.Taken)))
			}
			time.Sleep(50 * time.Millisecond)
			if m.ID[len(m.ID)-1]%2 == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		})
		began := time.Now()
		if err := sms.Deliver(t.Context(), b.outbox, g, holder(1), always, slog.New(slog.DiscardHandler), sms.Concurrency(50)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2300*time.Millisecond || b.most != 50 {
			t.Errorf("%v with %d requests at once, want 2s and 50", took, b.most)
		}
		if most.Load() > 75 {
			t.Errorf("%d messages were taken at a time, want no more than a window of 75", most.Load())
		}
		wantCounts(t, b.outbox, sms.Counts{Sent: 1000, Once: 1000})
	})
}

// Requests keep to the rate, evenly, also those that repeat, and over runs that follow each
// other.
func TestRate(t *testing.T) {
	inBubble(t, 40, func(t *testing.T, b *bubble) {
		b.takes = 0
		b.errs["m-05"] = []error{&sms.GatewayError{Status: 503}}
		var at []time.Time
		g := gatewayFunc(func(ctx context.Context, m sms.Message) error {
			err := b.Send(ctx, m)
			b.mu.Lock()
			defer b.mu.Unlock()
			at = append(at, time.Now())
			return err
		})
		job := sms.Job(b.outbox, g, sms.Rate(20), sms.Batch(25))
		for n := range int64(2) {
			_ = job.Func(t.Context(), runOf(n))
		}
		if len(at) != 41 {
			t.Fatalf("%d requests, want 41", len(at))
		}
		slices.SortFunc(at, time.Time.Compare)
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < 50*time.Millisecond-time.Microsecond {
				t.Errorf("request %d came %v after the one before, want 50ms", i, gap)
			}
		}
		if took := at[40].Sub(at[0]); took > 3*time.Second {
			t.Errorf("41 requests took %v, want 2s and what the one that is repeated waits", took)
		}
	})
}

func (b *bubble) accept(m sms.Message) {
	b.t.Helper()
	accept(b.t, b.outbox, m, true)
}

// No request for a message begins at or after the instant at which it expires: not in the
// run that finds it, not behind a rate, not as a repetition; and it counts as expired.
func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name     string
		until    time.Duration // from the beginning of the run
		errs     []error
		options  []sms.Option
		requests int
		sends    int
		state    sms.State
	}{
		{"a millisecond before", time.Millisecond, nil, nil, 1, 1, sms.Sent},
		{"at its instant", 0, nil, nil, 0, 0, sms.Expired},
		{"long ago", -time.Hour, nil, nil, 0, 0, sms.Expired},
		{"behind the rate", 900 * time.Millisecond, nil, []sms.Option{sms.Rate(1)}, 0, 0, sms.Expired},
		{"before the rate", 1001 * time.Millisecond, nil, []sms.Option{sms.Rate(1)}, 1, 1, sms.Sent},
		{"between two tries", 50 * time.Millisecond, []error{&sms.GatewayError{Status: 500, Unsure: true}}, nil, 1, 1, sms.Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.takes = 0
				begin := time.Now().Add(2 * time.Hour).Truncate(time.Millisecond)
				b.accept(sms.Message{ID: "x", To: "+12025550101", Text: "x", At: time.Now().Add(time.Second), Until: begin.Add(c.until)})
				b.errs["x"] = c.errs
				time.Sleep(time.Until(begin))
				_ = b.run(1, append(c.options, sms.Concurrency(1))...)
				requests := 0
				for _, id := range b.seen {
					if id == "x" {
						requests++
					}
				}
				if r := get(t, b.outbox, "x"); r.State != c.state || requests != c.requests || r.Sends != c.sends {
					t.Errorf("%s after %d requests, %d sends, want %s, %d, %d", r.State, requests, r.Sends, c.state, c.requests, c.sends)
				}
				if n, err := b.outbox.Counts(t.Context()); err != nil || n.Expired == 0 != (c.state == sms.Sent) {
					t.Errorf("Counts = %+v, %v", n, err)
				}
			})
		})
	}
}

// The store's reply to a run takes so long that the message has expired when it comes: no request is made.
func TestExpiryBehindASlowReply(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, b *bubble) {
		b.accept(sms.Message{ID: "x", To: "+12025550101", Text: "x", Until: time.Now().Add(time.Second)})
		b.client.AddHook(&hook{after: func() { time.Sleep(time.Second) }})
		b.wantRun(1)
		b.wantRequests()
		wantCounts(t, b.outbox, sms.Counts{Expired: 1})
	})
}

// In the middle of a run the gateway begins to refuse all messages. The run ends after a hundred
// refusals, the gateway is paused, no message has failed, and only the messages of one window have lost
// an attempt.
func TestOutageInsideARun(t *testing.T) {
	for name, refusal := range map[string]error{
		"404": &sms.GatewayError{Status: 404, Route: true}, "500": &sms.GatewayError{Status: 500, Unsure: true}, "plain": errors.New("no"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 300, func(t *testing.T, b *bubble) {
				requests := 0
				g := gatewayFunc(func(ctx context.Context, m sms.Message) error {
					_ = b.Send(ctx, m)
					b.mu.Lock()
					defer b.mu.Unlock()
					if requests++; requests > 50 {
						return refusal
					}
					return nil
				})
				err := sms.Deliver(t.Context(), b.outbox, g, holder(1), always, slog.New(slog.DiscardHandler), sms.Attempts(1), sms.Concurrency(1))
				if err == nil || requests > 50+3+100 {
					t.Errorf("run = %v after %d requests", err, requests)
				}
				c, err := b.outbox.Counts(t.Context())
				if err != nil || c.Sent != 50 || c.Failed > 0 || c.Queued != 250 {
					t.Errorf("Counts = %+v, %v, want 50 sent and 250 queued", c, err)
				}
				if p, err := b.outbox.Paused(t.Context()); err != nil || p.Pauses != 1 {
					t.Errorf("Paused = %+v, %v", p, err)
				}
			})
		})
	}
}

// A message that alone is answered 404 ends in the third run in which others got through;
// if no other does it waits, however long that takes.
func TestNotFound(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.errs["m-00"] = slices.Repeat([]error{&sms.GatewayError{Status: 404, Route: true}}, 1000)
		n := int64(0)
		for range 100 {
			n++
			_ = b.run(n)
			time.Sleep(5 * time.Second)
		}
		if r := get(t, b.outbox, "m-00"); r.State != sms.Queued || r.Attempts != 0 {
			t.Errorf("alone it is %s after %d attempts", r.State, r.Attempts)
		}
		time.Sleep(time.Hour)
		for i := range 3 {
			if r := get(t, b.outbox, "m-00"); r.State != sms.Queued {
				t.Errorf("it is %s after %d runs with others", r.State, i)
			}
			b.accept(sms.Message{ID: fmt.Sprintf("good-%d", i), To: "+12025550101", Text: "x"})
			n++
			_ = b.run(n)
			time.Sleep(time.Hour)
		}
		if r := get(t, b.outbox, "m-00"); r.State != sms.Failed || r.Reason != "given up after 3 attempts: the gateway answered 404" {
			t.Errorf("it is %s: %s", r.State, r.Reason)
		}
	})
}

// A message that is accepted while the gateway is paused leaves in the first run after the
// pause, before those that were refused.
func TestAcceptedDuringAPause(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		busy := &sms.GatewayError{Status: 429, Pause: true, After: 32 * time.Second}
		b.errs["m-00"], b.errs["m-01"], b.errs["m-02"] = []error{busy}, []error{busy}, []error{busy}
		if err := b.run(1, sms.Concurrency(3)); err == nil {
			t.Error("the run ended well")
		}
		time.Sleep(5 * time.Second)
		b.accept(sms.Message{ID: "good", To: "+12025550101", Text: "x"})
		for n := int64(2); time.Now().Second() < 30; n++ {
			if _, ok := errors.AsType[*sms.PausedError](b.run(n)); !ok {
				t.Fatal("the gateway is not paused")
			}
			time.Sleep(5 * time.Second)
		}
		if len(b.seen) != 3 {
			t.Fatalf("requests for %v in the pause", b.seen[3:])
		}
		time.Sleep(5 * time.Second)
		b.wantRun(100, sms.Concurrency(1))
		if len(b.seen) != 7 || b.seen[3] != "good" {
			t.Errorf("requests for %v after the pause, want good first", b.seen[3:])
		}
	})
}

// A run with more than it can send in its time ends by itself, in good order.
func TestRunEndsBeforeItsTime(t *testing.T) {
	inBubble(t, 100, func(t *testing.T, b *bubble) {
		b.takes = time.Second
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		began := time.Now()
		err := sms.Deliver(ctx, b.outbox, b, holder(1), always, slog.New(slog.DiscardHandler), sms.Concurrency(1))
		if took := time.Since(began); err != nil || took < 45*time.Second || took > 46*time.Second {
			t.Errorf("run = %v after %v, want it ended well after 45s", err, took)
		}
		wantCounts(t, b.outbox, sms.Counts{Queued: 55, Due: 55, Sent: 45, Once: 45})
	})
}

// A run with many messages in its hands is paused beyond its lease, and another sends them.
// When the first wakes up it makes no request any more, and nothing it marks counts.
func TestPausedRunWithAWindow(t *testing.T) {
	inBubble(t, 20, func(t *testing.T, b *bubble) {
		var lost atomic.Bool
		var late atomic.Int64
		wake, ended := make(chan struct{}), make(chan error)
		sleepy := gatewayFunc(func(context.Context, sms.Message) error {
			late.Add(1)
			<-wake
			return nil
		})
		check := func() error {
			if lost.Load() {
				return errors.New("lease lost")
			}
			return nil
		}
		go func() {
			ended <- sms.Deliver(t.Context(), b.outbox, sleepy, holder(1), check, slog.New(slog.DiscardHandler), sms.Concurrency(4))
		}()
		synctest.Wait()
		b.wantRun(2)
		lost.Store(true)
		close(wake)
		if err := <-ended; !errors.Is(err, sms.ErrFenced) && err == nil || late.Load() != 4 {
			t.Errorf("the paused run ended with %v after %d requests, want 4", err, late.Load())
		}
		wantCounts(t, b.outbox, sms.Counts{Sent: 20, Once: 14, Repeated: 6})
	})
}
