package sms_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
	"github.com/cronce/cronce/scheduler"
)

func TestJob(t *testing.T) {
	inBubble(t, 12, func(t *testing.T, b *bubble) {
		job := sms.Job(b.outbox, b, sms.Batch(10), sms.Concurrency(3))
		if job.Name != "sendSms" || job.Spec != "0/5 * * * * ?" || job.Takeover != scheduler.TakeoverRerun || job.Timeout == 0 || job.Lease == 0 {
			t.Errorf("%+v, want sendSms every five seconds, taken over, within bounds", job)
		}
		run := &scheduler.Run{ID: "cronce/sendSms@1795207850000", Fence: holder(1).Fence}
		if err := job.Func(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if len(b.seen) != 10 || b.most != 3 {
			t.Errorf("%d requests, %d at once, want 10 and 3", len(b.seen), b.most)
		}
		if r := get(t, b.outbox, "m-00"); r.Run != run.ID || r.Fence != run.Fence {
			t.Errorf("sent by %q with fence %d, want %q and %d", r.Run, r.Fence, run.ID, run.Fence)
		}
		older := &scheduler.Run{ID: "cronce/sendSms@1795207845000", Fence: holder(0).Fence}
		if err := job.Func(t.Context(), older); !errors.Is(err, sms.ErrFenced) {
			t.Errorf("an older run = %v, want ErrFenced", err)
		}
	})
}

// runOf is the n-th run of the job.
func runOf(n int64) *scheduler.Run {
	return &scheduler.Run{ID: fmt.Sprintf("cronce/sendSms@%d", n), Fence: holder(n).Fence}
}

func TestOptionsStayInBounds(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.wantRun(1, sms.Batch(0), sms.Concurrency(-1))
		b.wantRequests("m-00")
		b.errs["m-01"] = slices.Repeat([]error{&sms.GatewayError{Status: 500, Unsure: true}}, 3)
		_ = b.run(2, sms.Concurrency(2), sms.Attempts(-1))
		if r := get(t, b.outbox, "m-01"); r.State != sms.Failed {
			t.Errorf("m-01 is %s, want it failed after one attempt", r.State)
		}
		wantCounts(t, b.outbox, sms.Counts{Sent: 2, Once: 2, Failed: 1})
	})
}

func TestRateStaysInBounds(t *testing.T) {
	for rate, want := range map[int]time.Duration{-1: 2 * time.Second, 0: 2 * time.Second, 1_000_000: 200 * time.Microsecond} {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.takes = 0
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			began := time.Now()
			err := sms.Deliver(ctx, b.outbox, b, holder(1), always, slog.New(slog.DiscardHandler), sms.Rate(rate))
			if took := time.Since(began); err != nil || len(b.seen) != 3 || took < want || took > 2*want {
				t.Errorf("%d requests at the rate %d took %v: %v, want 3 in %v", len(b.seen), rate, took, err, want)
			}
		})
	}
}

func TestJobNeedsItsParts(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	o, g := outbox(t, client), sms.NewConsole(t.Output())
	for name, make := range map[string]func(){
		"outbox": func() { sms.Job(nil, g) }, "gateway": func() { sms.Job(o, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); r != "sms: Job needs an outbox and a gateway" {
					t.Errorf("panic %q", r)
				}
			}()
			make()
		})
	}
}

// A run also deletes messages that ended long ago.
func TestRunTrims(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.wantRun(1)
		b.client.ZAdd(t.Context(), "cronce:v1:sms:{cronce}:sent", redis.Z{Score: 1, Member: "m-00"})
		b.wantRun(2)
		if _, err := b.outbox.Get(t.Context(), "m-00"); !errors.Is(err, sms.ErrUnknown) {
			t.Errorf("Get = %v, want ErrUnknown", err)
		}
	})
}
