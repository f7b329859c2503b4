package notify

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// Two replicas: one sends, and each episode is delivered once. When it is killed, the other sends
// the open episodes again, with the same keys, and their ends.
func TestTwoReplicas(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		hook := &receiver{}
		a, b := s.replica(t, lock.New(s, "a"), hook, nil), s.replica(t, lock.New(s, "b"), hook, nil)
		defer a.stop()
		defer b.stop()
		time.Sleep(time.Minute)
		s.dead.Store(true)
		time.Sleep(2 * time.Minute)
		hook.want(t, "trigger shop/fleet")
		sender, other := a, b
		if testutil.ToFloat64(b.alerts.WithLabelValues(sent)) > 0 {
			sender, other = b, a
		}
		if testutil.ToFloat64(other.alerts.WithLabelValues(standby)) != 1 {
			t.Error("the other replica did not leave the request to the first one")
		}
		sender.stop()
		time.Sleep(time.Minute)
		hook.want(t, "trigger shop/fleet", "trigger shop/fleet")
		s.dead.Store(false)
		time.Sleep(time.Minute)
		hook.want(t, "trigger shop/fleet", "trigger shop/fleet", "resolve shop/fleet")
		if hook.keys[0] != hook.keys[1] || hook.keys[0] == hook.keys[2] {
			t.Errorf("%q", hook.keys)
		}
	})
}

// A replica that is stopped while it asks for the lock waits for the answer, and gives the lock back
// before it ends: the other replica need not wait for the TTL.
func TestStoppedWhileItAsks(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		locks := &slowLocks{Driver: s.Store}
		a := s.replica(t, lock.New(locks, "a"), &receiver{}, nil)
		time.Sleep(settleTime + time.Second)
		a.stop()
		if granted, released := locks.granted.Load(), locks.released.Load(); granted != 1 || released != 1 {
			t.Errorf("the lock was granted %d times, and released %d times", granted, released)
		}
		if s.lines("each replica") != 0 {
			t.Errorf("it does not send without a lock: %s", &s.logged)
		}
	})
}

// endingLocks end a context with the grant of a lock.
type endingLocks struct {
	driver.Driver
	end context.CancelFunc
}

func (s *endingLocks) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	defer s.end()
	return s.Driver.Acquire(ctx, a)
}

// A replica that is stopped as it gets the lock gives it back.
func TestStoppedWithTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		ctx, end := context.WithCancel(t.Context())
		New(Options{Log: s.log, Locker: lock.New(&endingLocks{s.Store, end}, "a")}).elect(ctx)
		lease, err := lock.New(s, "b").TryAcquire(t.Context(), lockKey, lock.Options{TTL: lockTTL})
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// While the store is silent, each replica reports it, with one key.
func TestSilentStore(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		hook, locks := &receiver{}, &silentLocks{Driver: s.Store, silent: &s.silent}
		a, b := s.replica(t, lock.New(locks, "a"), hook, nil), s.replica(t, lock.New(locks, "b"), hook, nil)
		defer a.stop()
		defer b.stop()
		time.Sleep(time.Minute)
		s.silent.Store(true)
		time.Sleep(2 * time.Minute)
		hook.want(t, "trigger shop/store", "trigger shop/store")
		if n := locks.asked.Load(); n > 100 { // each replica asks a few times, and then rests for half a minute
			t.Errorf("the silent store was asked %d times for the lock", n)
		}
		s.silent.Store(false)
		time.Sleep(2 * time.Minute)
		got, _ := hook.requests()
		if n := len(got); n < 3 || n > 4 || got[2] != "resolve shop/store" || got[n-1] != got[2] { // a replica that is without the lock leaves it to the other one
			t.Errorf("%q", got)
		}
		if hook.keys[0] != hook.keys[1] {
			t.Errorf("the keys of one episode are %q", hook.keys[:2])
		}
	})
}

// A replica that got no answer for the lock, and finds at its next try that another replica holds it, leaves the events to that replica.
func TestLockIsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		var mute atomic.Bool
		hook := &receiver{}
		a, b := s.replica(t, lock.New(&silentLocks{Driver: s.Store, silent: &mute}, "a"), hook, nil), s.replica(t, lock.New(s, "b"), hook, nil)
		defer a.stop()
		defer b.stop()
		time.Sleep(time.Minute)
		mute.Store(true)
		time.Sleep(2 * time.Minute)
		if n := s.lines("alerts are sent by each replica"); n != 1 {
			t.Errorf("that both send is logged %d times: %s", n, &s.logged)
		}
		mute.Store(false)
		time.Sleep(time.Minute)
		s.dead.Store(true)
		time.Sleep(2 * time.Minute)
		hook.want(t, "trigger shop/fleet")
	})
}

// A plane that was restarted sends the end of an episode that an earlier one has sent, also if it
// ends before the plane has seen it for as long as an episode must last.
func TestRestart(t *testing.T) {
	for kind, c := range map[string]struct {
		trouble func(s *cluster) *atomic.Bool
		ends    []string
	}{
		"fleet":          {func(s *cluster) *atomic.Bool { return &s.dead }, []string{"resolve shop/fleet", "resolve shop/overdue/report"}}, // the latter may have begun earlier
		"overdue/report": {func(s *cluster) *atomic.Bool { return &s.idle }, []string{"resolve shop/overdue/report"}},
		"store":          {func(s *cluster) *atomic.Bool { return &s.silent }, []string{"resolve shop/store"}},
	} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *cluster) {
				before, after := &receiver{}, &receiver{}
				a := s.replica(t, nil, before, nil)
				time.Sleep(time.Minute)
				c.trouble(s).Store(true)
				time.Sleep(2 * time.Minute)
				a.stop()
				before.want(t, "trigger shop/"+kind)
				b := s.replica(t, nil, after, nil)
				defer b.stop()
				time.Sleep(settleTime * 2 / 3)
				after.want(t)
				c.trouble(s).Store(false)
				time.Sleep(time.Minute)
				after.want(t, c.ends...)
			})
		})
	}
}

// A receiver that is away gets each event once it is back, in order. The pauses grow to minutes. After
// a day an event is given up.
func TestReceiverIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		status := 0
		hook := &receiver{answer: func() int { return status }}
		a := s.replica(t, nil, hook, nil)
		defer a.stop()
		s.dead.Store(true)
		time.Sleep(time.Hour)
		s.dead.Store(false)
		time.Sleep(time.Hour)
		if _, tries := hook.requests(); tries < 120/8 || tries > 120 {
			t.Errorf("%d tries in two hours", tries)
		}
		hook.mu.Lock()
		status = 200
		hook.mu.Unlock()
		time.Sleep(10 * time.Minute)
		hook.want(t, "trigger shop/fleet", "resolve shop/fleet")
		hook.mu.Lock()
		status = 503
		hook.mu.Unlock()
		s.dead.Store(true)
		time.Sleep(maxAge + 10*time.Minute)
		if got := testutil.ToFloat64(a.alerts.WithLabelValues(dead)); got != 1 || s.lines(`"alert dropped" key=shop/fleet action=trigger`) != 1 {
			t.Errorf("%v events were given up: %.1000s", got, &s.logged)
		}
	})
}

// A replica that is to send, because the lock does not answer, sends the events that wait at once. Only the lock makes it
// send those that it has left to another one. An event that has no room then is counted.
func TestRoleWakes(t *testing.T) {
	n := New(Options{Projection: ops.New(ops.Options{Namespace: "shop"}), Log: slog.New(slog.DiscardHandler), Locker: lock.New(newCluster(t), "a")})
	n.tracker.open["shop/fleet"] = &opened{episode: episode{Key: "shop/fleet"}, left: true}
	if !n.become(free) || len(n.queue.wake) != 1 || len(n.queue.items) != 0 {
		t.Error("the events wait on")
	}
	if n.become(free) {
		t.Error("the role has not changed")
	}
	if !n.become(first) || len(n.queue.items) != 1 {
		t.Errorf("%d events are sent for the other replica", len(n.queue.items))
	}
	n.queue.items[0].born = time.Now().Add(-maxAge)
	if n.due(); n.become(first) || len(n.queue.items) != 0 {
		t.Errorf("%d events that this replica gave up are sent again", len(n.queue.items))
	}
	n.tracker.open["shop/store"] = &opened{episode: episode{Key: "shop/store"}, left: true}
	n.queue.items = slices.Repeat([]*item{{born: time.Now()}}, maxQueue)
	if n.become(first); testutil.ToFloat64(n.alerts.WithLabelValues(dead)) != 2 {
		t.Error("an event without room is not counted")
	}
}

// A plane has the counters of the requests that it may send.
func TestCounters(t *testing.T) {
	p := ops.New(ops.Options{Namespace: "shop"})
	webhook, heartbeat := &Target{URL: "https://hook.example"}, &Target{URL: "https://beat.example"}
	for name, c := range map[string]struct {
		o    Options
		want map[string]int
	}{
		"none":      {Options{}, map[string]int{}},
		"webhook":   {Options{Webhook: webhook}, map[string]int{"cronce_alerts_total": 4}},
		"heartbeat": {Options{Heartbeat: heartbeat}, map[string]int{"cronce_heartbeats_total": 3}},
		"both":      {Options{Webhook: webhook, Heartbeat: heartbeat}, map[string]int{"cronce_alerts_total": 4, "cronce_heartbeats_total": 3}},
	} {
		c.o.Projection, c.o.Log = p, slog.New(slog.DiscardHandler)
		n := New(c.o)
		for _, metric := range []string{"cronce_alerts_total", "cronce_heartbeats_total"} {
			if got := testutil.CollectAndCount(n, metric); got != c.want[metric] {
				t.Errorf("%s: %d of %s", name, got, metric)
			}
		}
	}
}

// An event that the receiver never accepts keeps no other back, except a later one of its key.
func TestQueue(t *testing.T) {
	q := queue{wake: make(chan struct{}, 1)}
	e := func(action, key string) event { return event{action, episode{Key: key}} }
	q.add(three, e(trigger, "a"), e(trigger, "b"), e(trigger, "a"), e(resolve, "a"), e(resolve, "a"))
	if len(q.items) != 3 {
		t.Errorf("%d items", len(q.items))
	}
	q.items[0].due = at(5)
	if it := q.next(); it.Key != "b" {
		t.Errorf("%s", it.Key)
	}
	q.remove(q.items[1])
	if it := q.next(); it.Key != "a" || it.Action != trigger {
		t.Errorf("%s %s", it.Action, it.Key)
	}
	if old := q.expire(at(1), time.Minute); len(old) != 2 || len(q.items) != 0 {
		t.Errorf("%v", old)
	}
	var many []event
	for i := range maxQueue + 1 {
		many = append(many, e(trigger, string(rune('a'+i))))
	}
	if lost := q.add(three, many...); len(lost) != 1 || lost[0].Key != many[maxQueue].Key {
		t.Errorf("%v", lost)
	}
}

// After the end of its context a Notifier sends nothing.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T, s *cluster) {
		hook := &receiver{}
		a := s.replica(t, nil, hook, hook)
		time.Sleep(10 * time.Second)
		s.dead.Store(true)
		time.Sleep(20 * time.Second)
		a.stop()
		_, before := hook.requests()
		time.Sleep(time.Hour)
		if _, after := hook.requests(); after != before || before == 0 {
			t.Errorf("%d requests, then %d", before, after)
		}
	})
}

// A real receiver gets the begin and the end of an episode from two replicas, although its first
// reply is a fault.
func TestRealReceiver(t *testing.T) {
	failures := 1
	hook := &receiver{answer: func() int {
		if failures--; failures >= 0 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	s := newCluster(t)
	if _, err := s.Beat(t.Context(), series.Beat{Node: "web-1", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	projections := make([]*ops.Projection, 2)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	for i := range projections {
		projections[i] = ops.New(ops.Options{Store: s, Namespace: "shop"})
		n := New(Options{Projection: projections[i], Log: slog.New(slog.DiscardHandler), Locker: lock.New(s, ""),
			Webhook: &Target{URL: server.URL, AllowPrivate: true, Secret: func() string { return theSecret }}})
		n.tracker.settle = 0
		running.Go(func() { n.Run(ctx) })
	}
	until := func(what string) {
		t.Helper()
		deadline := time.After(2 * time.Minute)
		for {
			for _, p := range projections {
				p.Refresh(ctx)
			}
			if got, _ := hook.requests(); slices.Contains(got, what) {
				return
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-deadline:
				t.Fatalf("no %s", what)
			}
		}
	}
	s.tick(ctx, t)
	const key = "shop/overdue/report"
	s.ahead.Store(int64(time.Minute))
	until("trigger " + key)
	s.tick(ctx, t)
	until("resolve " + key)
	hook.mu.Lock()
	defer hook.mu.Unlock()
	for _, text := range hook.taken {
		if !strings.HasSuffix(text, key) {
			t.Errorf("%q", hook.taken)
		}
	}
}
