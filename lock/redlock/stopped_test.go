package redlock_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// busy is the delay that a loaded machine may add to a measured time.
const busy = 400 * time.Millisecond

const nodeTimeout = 500 * time.Millisecond

// Two of five servers are stopped: the others grant, renew and release, and each step waits for the
// stopped servers no longer than for one server. After they continue, the two forget the lease that
// was released.
func TestTwoOfFiveStopped(t *testing.T) {
	t.Parallel()
	meter := rig.NewMeter(t)
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "two", NodeTimeout: nodeTimeout})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	_, h := acquire(t, d, asking("warm", time.Minute)) // opens connections, so that requests reach the stopped servers
	must(t, d.Release(t.Context(), h))
	d.Settle()
	signal(syscall.SIGSTOP, all[1], all[3])
	within(t, meter, "acquire", nodeTimeout+busy, func() { _, h = acquire(t, d, asking("key", time.Minute)) })
	within(t, meter, "renew", nodeTimeout+busy, func() {
		_, err := d.Renew(t.Context(), h)
		must(t, err)
	})
	within(t, meter, "release", nodeTimeout+busy, func() { must(t, d.Release(t.Context(), h)) })
	signal(syscall.SIGCONT, all...)
	until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "two", "key") == 0 })
}

// within fails the test if f takes longer than most, not counting the time in which this process
// could not run.
func within(t *testing.T, meter *rig.Meter, what string, most time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > most+meter.Starved(start, time.Now()) {
		t.Errorf("%s took %v, more than %v", what, took, most)
	}
}

// Three of five servers are stopped: the answer is doubt, within the time for one server. When they
// continue, they process the requests of the failed attempts and their undoing, and none holds the
// key for any owner.
func TestThreeOfFiveStopped(t *testing.T) {
	t.Parallel()
	meter := rig.NewMeter(t)
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "three", NodeTimeout: nodeTimeout})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	_, h := acquire(t, d, asking("warm", time.Minute)) // opens connections, so that requests reach the stopped servers
	must(t, d.Release(t.Context(), h))
	d.Settle()
	signal(syscall.SIGSTOP, all[:3]...)
	for range 3 {
		within(t, meter, "doubt", nodeTimeout+busy, func() {
			_, err := d.Acquire(t.Context(), asking("key", time.Minute))
			inDoubt(t, err)
		})
	}
	if n := votes(cs[3:], "three", "key"); n != 0 {
		t.Errorf("%d of the servers that answer hold the key", n)
	}
	signal(syscall.SIGCONT, all...)
	until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "three", "key") == 0 })
	acquire(t, d, asking("key", time.Minute))
}

// inDoubt fails the test unless err is doubt.
func inDoubt(t *testing.T, err error) {
	t.Helper()
	_, held := errors.AsType[*driver.HeldError](err)
	if !errors.Is(err, redlock.ErrNoQuorum) || held || errors.Is(err, driver.ErrLost) {
		t.Errorf("the error is %v, want doubt", err)
	}
}

// One of five servers accepts connections and never answers: every step, including a refusal and
// its undoing, takes at most the time for one server in addition to its own.
func TestOneOfFiveBlackHoled(t *testing.T) {
	t.Parallel()
	meter := rig.NewMeter(t)
	_, cs := servers(t, 4)
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer hole.Close()
	d := newDriver(t, append(cs, client(t, hole.Addr().String())), redlock.Options{NodeTimeout: nodeTimeout})
	for range 3 {
		var h driver.LeaseRef
		within(t, meter, "acquire", nodeTimeout+busy, func() { _, h = acquire(t, d, asking("key", time.Minute)) })
		within(t, meter, "refuse", nodeTimeout+busy, func() {
			_, err := d.Acquire(t.Context(), asking("key", time.Minute))
			if _, held := errors.AsType[*driver.HeldError](err); !held {
				t.Errorf("the second owner is answered with %v", err)
			}
		})
		within(t, meter, "release", nodeTimeout+busy, func() { must(t, d.Release(t.Context(), h)) })
	}
}

// No server answers, many acquisitions run, and the Driver is closed: none of its goroutines
// continues.
func TestCloseLeavesNothing(t *testing.T) {
	meter := rig.NewMeter(t)
	own := rig.Goroutines(t)
	var cs []redis.UniversalClient
	for range 3 {
		hole, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer hole.Close()
		cs = append(cs, redis.NewClient(&redis.Options{Addr: hole.Addr().String(), MaxRetries: -1, ContextTimeoutEnabled: true}))
	}
	d, err := redlock.New(cs, redlock.Options{})
	must(t, err)
	d.TellTime(time.Now(), 0)
	for range 20 {
		_, err := d.Acquire(t.Context(), asking("key", time.Minute))
		inDoubt(t, err)
	}
	if n := d.Goroutines(); n != 3 {
		t.Errorf("%d servers are swept, want all 3, once each", n)
	}
	within(t, meter, "close", redlock.DefaultNodeTimeout+busy, func() { must(t, d.Close()) })
	must(t, d.Close())
	for _, c := range cs {
		_ = c.Close()
	}
	until(t, "no goroutine is left", func() bool { return own() == 1 })
}

// A silent server costs no time: an acquisition and a release end when a majority has answered. The
// rest happens in the background.
func TestSilentServersCostNoTime(t *testing.T) {
	t.Parallel()
	meter := rig.NewMeter(t)
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "silent", NodeTimeout: 10 * time.Second})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	_, h := acquire(t, d, asking("warm", time.Minute)) // opens connections, so that requests reach the stopped servers
	must(t, d.Release(t.Context(), h))
	d.Settle()
	signal(syscall.SIGSTOP, all[0], all[3])
	within(t, meter, "acquire and release", 5*time.Second, func() {
		a := asking("key", time.Minute)
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}))
	})
	signal(syscall.SIGCONT, all...)
	until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "silent", "key") == 0 })
}
