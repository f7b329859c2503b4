package sms_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/sms"
)

// A message in each state is retried twice: the second time as after a lost reply.
func TestRetryOfEachState(t *testing.T) {
	states := map[string]func(o *sms.Outbox, client *redis.Client){
		"queued": func(*sms.Outbox, *redis.Client) {},
		"refused": func(o *sms.Outbox, _ *redis.Client) {
			mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Wait(time.Hour, 0, "busy"))
		},
		"taken": func(o *sms.Outbox, _ *redis.Client) { take(t, o, holder(1), 1) },
		"failed": func(o *sms.Outbox, _ *redis.Client) {
			mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Failed(1, "no"))
		},
		"sent":    func(o *sms.Outbox, _ *redis.Client) { mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Sent(0)) },
		"expired": func(o *sms.Outbox, _ *redis.Client) { mark(t, o, holder(1), take(t, o, holder(1), 1)[0].Expired(0)) },
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
		state string
		want  error
		after sms.Counts
	}{
		{"queued", nil, sms.Counts{Queued: 1, Due: 1}},
		{"refused", nil, sms.Counts{Queued: 1, Due: 1}},
		{"taken", sms.ErrState, sms.Counts{Taken: 1}},
		{"failed", nil, sms.Counts{Queued: 1, Due: 1}},
		{"sent", sms.ErrState, sms.Counts{Sent: 1, Once: 1}},
		{"expired", sms.ErrState, sms.Counts{Expired: 1}},
		{"broken", sms.ErrState, sms.Counts{Broken: 1}},
		{"without a status", sms.ErrState, sms.Counts{Broken: 1}},
		{"unknown", sms.ErrUnknown, sms.Counts{}},
	} {
		t.Run(c.state, func(t *testing.T) {
			onStores(t, func(t *testing.T, client *redis.Client) {
				o := outbox(t, client)
				fill(t, o, 1)
				states[c.state](o, client)
				for range 2 {
					if err := o.Retry(t.Context(), "m-00"); !errors.Is(err, c.want) {
						t.Errorf("Retry = %v, want %v", err, c.want)
					}
				}
				wantCounts(t, o, c.after)
				if c.state == "failed" {
					if r := get(t, o, "m-00"); r.Attempts != 0 || r.Sends != 1 || r.State != sms.Queued {
						t.Errorf("%s after %d attempts and %d sends, want it queued after none, and 1", r.State, r.Attempts, r.Sends)
					}
				}
			})
		})
	}
}

// A message is taken again after Retry: the mark of the time before does not touch it.
func TestMarkBeforeARetry(t *testing.T) {
	o := outbox(t, newMini(t))
	fill(t, o, 1)
	before := take(t, o, holder(1), 1)[0]
	mark(t, o, holder(1), before.Failed(0, "no"))
	if err := o.Retry(t.Context(), "m-00"); err != nil {
		t.Fatal(err)
	}
	take(t, o, holder(1), 1)
	if err := o.Mark(t.Context(), holder(1), before.Failed(0, "no")); !errors.Is(err, sms.ErrFenced) {
		t.Errorf("Mark = %v, want ErrFenced", err)
	}
	wantCounts(t, o, sms.Counts{Taken: 1})
}
