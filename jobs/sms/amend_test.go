package sms_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// Each operation meets a message in each state, twice: the second time as after a lost
// reply.
func TestRetryAndCancel(t *testing.T) {
	states := map[string]func(o *sms.Outbox, client *redis.Client){
		"queued": func(*sms.Outbox, *redis.Client) {},
		"refused": func(o *sms.Outbox, _ *redis.Client) {
			mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Wait(time.Hour, 0, "busy"))
		},
		"taken": func(o *sms.Outbox, _ *redis.Client) { take(t, o, holder(1), 1) },
		"failed": func(o *sms.Outbox, _ *redis.Client) {
			mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Failed(1, "no"))
		},
		"sent": func(o *sms.Outbox, _ *redis.Client) { mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Sent(0)) },
		"broken": func(o *sms.Outbox, c *redis.Client) {
			c.HSet(t.Context(), keys+"body", "m-00", "?")
			take(t, o, holder(1), 1)
		},
		"without a status": func(o *sms.Outbox, c *redis.Client) {
			c.HDel(t.Context(), keys+"status", "m-00")
			take(t, o, holder(1), 1)
		},
		"unknown": func(_ *sms.Outbox, c *redis.Client) { c.Del(t.Context(), keys+"body", keys+"status", keys+"queued") },
	}
	for _, c := range []struct {
		state         string
		retry, cancel error
		afterRetry    sms.Counts
	}{
		{"queued", nil, nil, sms.Counts{Queued: 1, Due: 1}},
		{"refused", nil, nil, sms.Counts{Queued: 1, Due: 1}},
		{"taken", sms.ErrState, sms.ErrState, sms.Counts{Taken: 1}},
		{"failed", nil, nil, sms.Counts{Queued: 1, Due: 1}},
		{"sent", sms.ErrState, sms.ErrState, sms.Counts{Sent: 1, Once: 1}},
		{"broken", sms.ErrState, nil, sms.Counts{Broken: 1}},
		{"without a status", sms.ErrState, nil, sms.Counts{Broken: 1}},
		{"unknown", sms.ErrUnknown, sms.ErrUnknown, sms.Counts{}},
	} {
		t.Run(c.state, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				states[c.state](o, client)
				for range 2 {
					if err := o.Retry(t.Context(), "m-00"); !errors.Is(err, c.retry) {
						t.Errorf("Retry = %v, want %v", err, c.retry)
					}
				}
				wantCounts(t, o, c.afterRetry)
				if c.state == "failed" {
					if r := get(t, o, "m-00"); r.Attempts != 0 || r.Sends != 1 || r.State != sms.Queued {
						t.Errorf("%s after %d attempts and %d sends, want it queued after none, and 1", r.State, r.Attempts, r.Sends)
					}
				}
				for range 2 {
					if err := o.Cancel(t.Context(), "m-00"); !errors.Is(err, c.cancel) {
						t.Errorf("Cancel = %v, want %v", err, c.cancel)
					}
				}
				if c.cancel != nil {
					wantCounts(t, o, c.afterRetry)
					return
				}
				wantCounts(t, o, sms.Counts{Cancelled: 1})
				if p := take(t, o, holder(2), 1); len(p) != 0 {
					t.Errorf("took %v, which is cancelled", ids(p))
				}
			})
		})
	}
}

// Failed messages are queued again in steps, a cancelled message is not, nor sent when it is
// accepted again; one by one it can be.
func TestRetryFailed(t *testing.T) {
	onStores(t, func(t *testing.T, client *redis.Client) {
		o := outbox(t, client)
		m := fill(t, o, 6)
		h := holder(1)
		for _, p := range take(t, o, h, 5) {
			mark(t, o, h, p.Failed(0, "no"))
		}
		if err := o.Cancel(t.Context(), "m-02"); err != nil {
			t.Fatal(err)
		}
		if n, err := o.RetryFailed(t.Context()); n != 4 || err != nil {
			t.Errorf("RetryFailed = %d, %v, want 4", n, err)
		}
		wantCounts(t, o, sms.Counts{Queued: 5, Due: 5, Cancelled: 1})
		accept(t, o, m[2], false)
		if p := take(t, o, h, 1); p[0].Message.ID != "m-05" {
			t.Errorf("took %v first, want the one that never failed", ids(p))
		}
		if err := o.Retry(t.Context(), "m-02"); err != nil {
			t.Error(err)
		}
		if r := get(t, o, "m-02"); r.State != sms.Queued {
			t.Errorf("m-02 is %s, want queued", r.State)
		}
	})
}
