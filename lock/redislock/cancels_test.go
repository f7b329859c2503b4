package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// notified returns the keys that the driver notifies of, and the errors of its subscriptions, which
// follow one another.
func notified(t *testing.T, d *redislock.Driver) (keys chan string, errs chan error) {
	t.Helper()
	keys, errs = make(chan string, 10), make(chan error, 10)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			errs <- d.NotifyRuns(ctx, func(key string) { keys <- key })
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return keys, errs
}

// subscribed waits until as many connections are subscribed to cancels.
func subscribed(t *testing.T, admin redis.UniversalClient, n int64) {
	t.Helper()
	for admin.PubSubNumSub(t.Context(), "ns:v1:i:runs").Val()["ns:v1:i:runs"] != n {
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

// Each cancel, and each request for a run, is notified of with its key, whatever characters that has, also after the server has
// closed the connection of a subscription, which then returns its error. Other changes are not.
func TestCancelsAreNotified(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns", Partitions: 4})
	keys, errs := notified(t, d)
	subscribed(t, admin, 1)
	for i, job := range []string{"a", "b|c;d {é}"} {
		cancelRun(t, d, job)
		if got := <-keys; got != job {
			t.Errorf("notified of %q, want %q", got, job)
		}
		pause := series.Control{Key: job, Action: series.ActionPause, Op: fmt.Sprint(i), Who: "ann", Reason: "for the test", Seen: series.AnySeen}
		if a := d.Control(t.Context(), pause); !a.Made {
			t.Fatalf("the pause is answered %+v", a)
		}
		run := series.Control{Key: job, Action: series.ActionRun, Op: fmt.Sprint("run ", i), Who: "ann", Reason: "for the test", Until: time.Now().Add(time.Hour).UnixMilli(),
			Overlap: series.OverlapQueue, Anyway: true, Seen: series.AnySeen}
		if a := d.Control(t.Context(), run); !a.Made {
			t.Fatalf("the request for a run is answered %+v", a)
		}
		if got := <-keys; got != job {
			t.Errorf("notified of %q, want %q", got, job)
		}
	}
	must(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	if err := <-errs; err == nil {
		t.Error("a broken subscription returned nil")
	}
	for n := 0; ; n++ { // a cancel before the next subscription is not notified of
		cancelRun(t, d, fmt.Sprint("after ", n))
		select {
		case got := <-keys:
			if !strings.HasPrefix(got, "after ") {
				t.Errorf("notified of %q after the connection was closed", got)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// However many nodes find a group decided, it is published once, and other nodes have the notice, also when the store has forgotten all. It is not
// taken for the name of a job. If the user may not publish, each node asks.
func TestDecidedGroupsAreNotified(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns", Partitions: 4})
	asks := newDriver(t, admin, redislock.Options{Namespace: "ns", Partitions: 4})
	keys, _ := notified(t, d)
	subscribed(t, admin, 1)
	g := series.Group{Partition: 2, At: 1_700_000_000_000, Count: 100, Sum: 1<<64 - 1}
	other := g
	other.Partition = 3
	for range 8 {
		must(t, d.KeepDecided(t.Context(), g))
	}
	if n := published(admin.Info(t.Context(), "commandstats").Val()); n != 1 {
		t.Errorf("%d notices are published", n)
	}
	is, err := asks.Decided(t.Context(), g)
	if must(t, err); !is {
		t.Error("a node without a notice does not find the group")
	}
	must(t, admin.FlushAll(t.Context()).Err()) // the notice alone has it
	cancelRun(t, d, "a")
	if got := <-keys; got != "a" { // it comes after the notice
		t.Errorf("notified of %q, want a", got)
	}
	if !d.Noticed(g) || d.Noticed(other) || asks.Noticed(g) {
		t.Errorf("noticed: %v; of another partition: %v; without NotifyRuns: %v; want the first alone", d.Noticed(g), d.Noticed(other), asks.Noticed(g))
	}
	is, err = d.Decided(t.Context(), g)
	if must(t, err); is {
		t.Error("a store that has forgotten all has the group as decided")
	}

	rules := []any{"ACL", "SETUSER", "default"}
	must(t, admin.Do(t.Context(), append(rules, "resetchannels", "-publish")...).Err())
	must(t, d.KeepDecided(t.Context(), other))
	is, err = asks.Decided(t.Context(), other)
	if must(t, err); !is {
		t.Error("a group of a user that may not publish is not kept")
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
	if err := d.NotifyRuns(t.Context(), func(string) {}); !redislock.Denied(err) {
		t.Errorf("NotifyRuns returns %v", err)
	}
	cancelRun(t, d, "job")
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// A cancel that fails, because the audit cannot be read, has written nothing.
func TestCancelThatFails(t *testing.T) {
	t.Parallel()
	d, raw := realDriver(t, redislock.Options{})
	now := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Now
	claim := series.Claim{Key: "job", Owner: "n/1", Number: now + 5, After: now, TTL: time.Hour, Deadline: time.Hour, Attempts: 3, Rerun: true, Latest: now + time.Hour.Milliseconds()}
	a := d.Claim(t.Context(), []series.Claim{claim})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("the claim is answered %+v", a)
	}
	ref := series.RunRef{Key: "job", Number: claim.Number, Owner: "n/1", Fence: a.Fence, TTL: time.Hour}
	if e := d.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, State: series.RunGivenBack}})[0]; !e.Ended {
		t.Fatalf("the release is answered %+v", e)
	}
	before, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	must(t, raw.RPush(t.Context(), "cronce:v1:{cronce.0}:au", "no record").Err())
	for _, action := range []series.Action{series.ActionCancel, series.ActionPause, series.ActionRetire} {
		request := series.Control{Key: "job", Action: action, Op: "op", Who: "ann", Reason: "it hangs", Seen: series.AnySeen}
		if action == series.ActionCancel {
			request.Number = claim.Number
		}
		if c := d.Control(t.Context(), request); c.Err == nil {
			t.Errorf("the %s is answered %+v", action, c)
		}
	}
	after, err := d.Journal(t.Context(), "job", 0)
	must(t, err)
	if !slices.Equal(before.Lines, after.Lines) {
		t.Errorf("changes that failed wrote %+v", after.Lines)
	}
	claim.Owner, claim.From = "n/2", a.Fence
	if b := d.Claim(t.Context(), []series.Claim{claim})[0]; b.Kind != series.KindGranted || b.Attempt != 2 {
		t.Errorf("the next attempt is answered %+v", b)
	}
}

// A silent proxy forwards connections to a server, but nothing from a SUBSCRIBE on, which it announces.
func silentProxy(t *testing.T, server string) (address string, subscribes <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	asked := make(chan struct{}, 100)
	forward := func(in net.Conn) {
		out, err := net.Dial("tcp", server)
		if err != nil {
			_ = in.Close()
			return
		}
		defer out.Close()
		go func() { _, _ = io.Copy(in, out) }()
		buf := make([]byte, 64<<10)
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			if bytes.Contains(bytes.ToLower(buf[:n]), []byte("subscribe")) {
				asked <- struct{}{}
				continue
			}
			_, _ = out.Write(buf[:n])
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go forward(in)
		}
	}()
	return l.Addr().String(), asked
}

// A subscription without messages ends with its context, long before it would be probed.
func TestIdleCancelsEnd(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.NotifyRuns(ctx, func(string) {}) }()
	subscribed(t, admin, 1)
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(40 * time.Second):
		t.Error("it goes on after the end of its context")
	}
}

// A subscription ends with its context while the server does not answer it.
func TestCancelsOfASilentServer(t *testing.T) {
	t.Parallel()
	address, subscribes := silentProxy(t, redisserver.Start(t).Addr())
	d := newDriver(t, client(t, address), redislock.Options{Namespace: "ns"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.NotifyRuns(ctx, func(string) {}) }()
	<-subscribes
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
