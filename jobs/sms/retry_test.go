package sms_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/jobs/sms"
)

// The replies of the gateway, request by request, and the result of the message in one run. Times are
// virtual.
func TestRetry(t *testing.T) {
	busy := &sms.GatewayError{Status: 503}
	silent := &sms.GatewayError{Err: errors.New("timeout"), Unsure: true}
	wait := func(d time.Duration) error { return &sms.GatewayError{Status: 429, After: d} }
	no := &sms.GatewayError{Status: 404, Permanent: true}
	for _, c := range []struct {
		name     string
		errs     []error
		state    sms.State
		requests int
		sends    int
		delay    time.Duration // until it is due again
		takes    time.Duration // the run, at least
		reason   string
	}{
		{"ok", nil, sms.Sent, 1, 1, 0, 0, ""},
		{"busy once", []error{busy}, sms.Sent, 2, 1, 0, 100 * time.Millisecond, ""},
		{"silent once", []error{silent}, sms.Sent, 2, 2, 0, 100 * time.Millisecond, ""},
		{"unknown error once", []error{errors.New("?")}, sms.Sent, 2, 2, 0, 100 * time.Millisecond, ""},
		{"busy", []error{busy, busy, busy}, sms.Queued, 3, 0, 5 * time.Second, 300 * time.Millisecond, "the gateway answered 503"},
		{"silent", []error{silent, silent, silent}, sms.Queued, 3, 3, 5 * time.Second, 300 * time.Millisecond, "no answer from the gateway: timeout"},
		{"refused", []error{no}, sms.Failed, 1, 0, 0, 0, "the gateway answered 404"},
		{"refused after doubt", []error{silent, no}, sms.Failed, 2, 1, 0, 0, "the gateway answered 404"},
		{"short wait", []error{wait(7 * time.Second)}, sms.Sent, 2, 1, 0, 7 * time.Second, ""},
		{"long wait", []error{wait(time.Hour)}, sms.Queued, 1, 0, time.Hour, 0, "the gateway answered 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.errs["m-00"] = c.errs
				began := time.Now()
				if err := b.run(1); (err != nil) != (c.state == sms.Queued) {
					t.Errorf("run = %v, want an error only if the message has to wait", err)
				}
				if took := time.Since(began); took < c.takes {
					t.Errorf("the run took %v, want %v or more", took, c.takes)
				}
				if len(b.seen) != c.requests {
					t.Errorf("%d requests, want %d", len(b.seen), c.requests)
				}
				r := get(t, b.outbox, "m-00")
				if r.State != c.state || r.Sends != c.sends || r.Reason != c.reason {
					t.Errorf("%s, %d sends, %q, want %s, %d, %q", r.State, r.Sends, r.Reason, c.state, c.sends, c.reason)
				}
				if late := r.Due.Sub(r.Changed); c.delay > 0 && late != c.delay {
					t.Errorf("due again in %v, want %v", late, c.delay)
				}
			})
		})
	}
}

// A Retry-After that fits the gateway's time but not the run's waits for another run.
func TestRetryAfterBeyondTheRun(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.errs["m-00"] = []error{&sms.GatewayError{Status: 429, After: 7 * time.Second}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if err := sms.Deliver(ctx, b.outbox, b, holder(1), always, slog.New(slog.DiscardHandler)); err == nil {
			t.Error("the run ended well")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the run waited %v for nothing", took)
		}
		if r := get(t, b.outbox, "m-00"); r.Due.Sub(r.Changed) != 7*time.Second {
			t.Errorf("due %v after %v, want 7s", r.Due, r.Changed)
		}
	})
}

// A message may have been accepted each time it was refused, while others get through:
// that ends, so that its recipient does not get it again and again.
func TestAttemptsRunOut(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.errs["m-00"] = slices.Repeat([]error{&sms.GatewayError{Status: 500, Unsure: true}}, 9)
		for n := range int64(3) {
			accept(t, b.outbox, sms.Message{ID: fmt.Sprintf("good-%d", n), To: "+12025550101", Text: "x"}, true)
			_ = b.run(n+1, sms.Attempts(3))
			if r := get(t, b.outbox, "m-00"); r.Attempts != int(n+1) {
				t.Errorf("%d attempts after run %d", r.Attempts, n+1)
			}
			time.Sleep(time.Hour)
		}
		r := get(t, b.outbox, "m-00")
		if r.State != sms.Failed || r.Reason != "given up after 3 attempts: the gateway answered 500" {
			t.Errorf("%s: %s", r.State, r.Reason)
		}
	})
}

// A message waits longer after each refusal, though none counts as an attempt: one that certainly was not
// accepted while others get through, and one that alone may have been, beyond the longest pause.
func TestWaitsGrow(t *testing.T) {
	for _, c := range []struct {
		name    string
		refusal error
		others  bool
		want    []time.Duration
	}{
		{"503 with others", &sms.GatewayError{Status: 503}, true, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}},
		{"500 alone", &sms.GatewayError{Status: 500, Unsure: true}, false, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second,
			40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 640 * time.Second, 15 * time.Minute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.errs["m-00"] = slices.Repeat([]error{c.refusal}, 1000)
				for n, want := range c.want {
					if c.others {
						b.accept(sms.Message{ID: fmt.Sprintf("good-%d", n), To: "+12025550101", Text: "x"})
					}
					_ = b.run(int64(n))
					r := get(t, b.outbox, "m-00")
					if got := r.Due.Sub(r.Changed); got != want || r.Attempts != 0 {
						t.Errorf("after run %d it is due in %v with %d attempts, want %v and 0", n+1, got, r.Attempts, want)
					}
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

func TestDelayGrowsToABound(t *testing.T) {
	for n, want := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second,
		8: 640 * time.Second, 9: 15 * time.Minute, 1 << 40: 15 * time.Minute} {
		if got := sms.Delay(n); got != want {
			t.Errorf("delay(%d) = %v, want %v", n, got, want)
		}
	}
}

// A gateway panics: the process lives, and the message is tried again.
func TestGatewayPanics(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		bad := gatewayFunc(func(_ context.Context, m sms.Message) error {
			if m.ID == "m-00" {
				panic("no route to " + m.To)
			}
			return nil
		})
		if err := sms.Deliver(t.Context(), b.outbox, bad, holder(1), always, slog.New(slog.DiscardHandler)); err == nil {
			t.Error("the run ended well")
		}
		r := get(t, b.outbox, "m-00")
		if r.State != sms.Queued || r.Reason != "the gateway panicked: no route to +4477****0000" {
			t.Errorf("%s: %s", r.State, r.Reason)
		}
		if r := get(t, b.outbox, "m-01"); r.State != sms.Sent {
			t.Errorf("m-01 is %s, want sent", r.State)
		}
	})
}

// A gateway that ends its goroutine may have sent before: the message is tried again, and
// counts as perhaps sent.
func TestGatewayEndsItsGoroutine(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		bad := gatewayFunc(func(context.Context, sms.Message) error { runtime.Goexit(); return nil })
		if err := sms.Deliver(t.Context(), b.outbox, bad, holder(1), always, slog.New(slog.DiscardHandler)); err == nil {
			t.Error("the run ended well")
		}
		if r := get(t, b.outbox, "m-00"); r.State != sms.Queued || r.Sends != 1 || r.Reason != "the gateway ended its goroutine" {
			t.Errorf("%+v", r)
		}
	})
}

// A loaded error panics in its methods.
type loaded struct{}

func (loaded) Error() string { panic("its error panics") }
func (loaded) As(any) bool   { panic("As panics") }

// A spiteful error panics with itself: to format the panic panics as well.
type spiteful struct{}

func (spiteful) Error() string { panic(spiteful{}) }

// A gateway's error is its own code as well, also inside a GatewayError, and a nil
// pointer is an error: the process lives, and the message is tried again.
func TestGatewayErrorPanics(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		reason string
	}{
		"Error":          {loaded{}, "the gateway panicked: its error panics"},
		"a nil pointer":  {(*sms.GatewayError)(nil), "the gateway panicked: runtime error: invalid memory address or nil pointer dereference"},
		"with itself":    {spiteful{}, "the gateway panicked: a sms_test.spiteful, whose methods panic"},
		"inside another": {&sms.GatewayError{Status: 500, Permanent: true, Err: loaded{}}, "the gateway answered 500: %!v(PANIC=Error method: its error panics)"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				bad := gatewayFunc(func(context.Context, sms.Message) error { return test.err })
				_ = sms.Deliver(t.Context(), b.outbox, bad, holder(1), always, slog.New(slog.DiscardHandler))
				want := sms.Queued
				if name == "inside another" {
					want = sms.Failed
				}
				if r := get(t, b.outbox, "m-00"); r.State != want || r.Reason != test.reason {
					t.Errorf("%s: %q, want %s: %q", r.State, r.Reason, want, test.reason)
				}
			})
		})
	}
}

// The gateway's errors repeat the recipient. No log line, no error and nothing
// stored as a reason shows it, nor a text.
func TestLogsAreMasked(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		core, logs := observer.New(zapcore.DebugLevel)
		chatty := gatewayFunc(func(_ context.Context, m sms.Message) error {
			switch m.ID {
			case "m-00":
				return &sms.GatewayError{Status: 400, Permanent: true, Err: fmt.Errorf("bad subscriber %s", m.To)}
			case "m-01":
				return fmt.Errorf("tel:%s refused", strings.TrimPrefix(m.To, "+"))
			}
			return nil
		})
		err := sms.Deliver(t.Context(), b.outbox, chatty, holder(1), always, slog.New(zapslog.NewHandler(core)))
		if err == nil {
			t.Fatal("the run ended well")
		}
		said := []string{err.Error(), fmt.Sprint(get(t, b.outbox, "m-00").Reason), fmt.Sprintf("%+v %#v", get(t, b.outbox, "m-01"), get(t, b.outbox, "m-01"))}
		encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
		for _, entry := range logs.All() {
			line, err := encoder.EncodeEntry(entry.Entry, entry.Context)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, line.String())
		}
		if logs.FilterMessage("message failed").Len() != 1 || logs.FilterMessage("messages sent").Len() != 1 {
			t.Errorf("logged %v, want one message failed and one messages sent", logs.All())
		}
		for _, s := range said {
			if strings.Contains(s, "44770090") || strings.Contains(s, "Text ") {
				t.Errorf("shows a recipient or a text: %s", s)
			}
		}
	})
}
