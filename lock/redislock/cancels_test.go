package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// notified returns the keys that the driver notifies of.
func notified(t *testing.T, d *redislock.Driver, admin redis.UniversalClient) <-chan string {
	t.Helper()
	keys, ended := make(chan string, 10), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- d.NotifyCancels(ctx, func(key string) { keys <- key }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err == nil {
			t.Error("NotifyCancels returned nil")
		}
	})
	subscribed(t, admin, 1)
	return keys
}

// subscribed waits until as many connections are subscribed to cancels.
func subscribed(t *testing.T, admin redis.UniversalClient, n int64) {
	t.Helper()
	for admin.PubSubNumSub(t.Context(), "ns:v1:i:cancels").Val()["ns:v1:i:cancels"] != n {
		if t.Context().Err() != nil {
			t.FailNow()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// cancelRun begins a run of a job and cancels it.
func cancelRun(t *testing.T, d *redislock.Driver, job string) {
	t.Helper()
	now := d.Open(t.Context(), []series.OpenRequest{{Key: job, Node: "n"}})[0].Now
	c := series.Claim{Key: job, Owner: "n/1", Number: now + 5, After: now, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: now + time.Hour.Milliseconds()}
	a := d.Claim(t.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("the claim is answered %+v", a)
	}
	request := series.Control{Key: job, Action: series.ActionCancel, Op: "op", Who: "ann", Reason: "it hangs", Number: c.Number, Seen: series.AnySeen}
	if a := d.Control(t.Context(), request); !a.Made {
		t.Fatalf("the cancel is answered %+v", a)
	}
}

// Each cancel is notified of with its key, whatever characters that has, also after the server has
// closed the connection of the subscription. Other changes are not.
func TestCancelsAreNotified(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns", Shards: 4})
	keys := notified(t, d, admin)
	for i, job := range []string{"a", "b|c;d {é}"} {
		cancelRun(t, d, job)
		if got := <-keys; got != job {
			t.Errorf("notified of %q, want %q", got, job)
		}
		pause := series.Control{Key: job, Action: series.ActionPause, Op: fmt.Sprint(i), Who: "ann", Reason: "for the test", Seen: series.AnySeen}
		if a := d.Control(t.Context(), pause); !a.Made {
			t.Fatalf("the pause is answered %+v", a)
		}
	}
	must(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	subscribed(t, admin, 1)
	cancelRun(t, d, "after")
	if got := <-keys; got != "after" {
		t.Errorf("notified of %q after the connection was closed", got)
	}
}

// A user that may not subscribe gets the error, and the cancel works without the right to publish.
func TestCancelWithoutChannels(t *testing.T) {
	t.Parallel()
	_, admin := realDriver(t, redislock.Options{Namespace: "ns"})
	rules := append([]any{"ACL", "SETUSER", "few", "on", ">secret"}, anys(redislock.AccessRules("ns"))...)
	must(t, admin.Do(t.Context(), append(rules, "resetchannels", "-publish")...).Err())
	o := admin.(*redis.Client).Options()
	few := redis.NewClient(&redis.Options{Addr: o.Addr, Username: "few", Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = few.Close() })
	d := newDriver(t, few, redislock.Options{Namespace: "ns"})
	if err := d.NotifyCancels(t.Context(), func(string) {}); !redislock.Denied(err) {
		t.Errorf("NotifyCancels returns %v", err)
	}
	cancelRun(t, d, "job")
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
