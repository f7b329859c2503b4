package redlock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// A step is one request to one server and the answer that the server must give.
type step struct {
	op      string
	owner   string
	attempt int64
	fence   int64 // the fence in the request; for a release 0: any fence
	code    int64
	given   int64 // the fence in a yes
	most    int64 // for a release
}

// One server answers requests in this order, on a real server and on a simulated one. Attempts are
// numbered in the order in which requests were sent.
func TestAnswersOfOneServer(t *testing.T) {
	const no, yes, undone, other, vanished = 0, 1, 2, 2, 3
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"given, given back, and given again with a higher fence", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "acquire", owner: "b", attempt: 2, fence: 101, code: no},
			{op: "release", owner: "b", attempt: 3, fence: 101, code: no},
			{op: "release", owner: "a", attempt: 4, fence: 100, code: yes},
			{op: "acquire", owner: "b", attempt: 5, fence: 101, code: yes, given: 101},
		}},
		{"what is proposed is too low", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 2, fence: 100, code: yes},
			{op: "acquire", owner: "b", attempt: 3, fence: 100, code: yes, given: 101},
			{op: "release", owner: "b", attempt: 4, fence: 101, code: yes},
			{op: "acquire", owner: "c", attempt: 5, fence: 7, code: yes, given: 102},
		}},
		{"asked again", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "acquire", owner: "a", attempt: 2, fence: 200, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 1, code: yes, most: 100}, // an old undoing takes nothing
			{op: "renew", owner: "a", attempt: 3, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 4, code: yes, most: 200},
			{op: "renew", owner: "a", attempt: 5, fence: 100, code: no},
			{op: "acquire", owner: "b", attempt: 6, fence: 300, code: yes, given: 300},
		}},
		{"an old release of the same fence", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "acquire", owner: "a", attempt: 3, fence: 200, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 2, fence: 100, code: yes, most: 100},
			{op: "acquire", owner: "b", attempt: 4, fence: 300, code: no},
			{op: "renew", owner: "a", attempt: 5, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 6, fence: 100, code: yes, most: 200},
			{op: "acquire", owner: "b", attempt: 7, fence: 300, code: yes, given: 300},
		}},
		{"another fence of the same owner", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 2, fence: 99, code: other},
			{op: "renew", owner: "a", attempt: 3, fence: 99, code: no},
			{op: "renew", owner: "b", attempt: 3, fence: 100, code: no},
			{op: "renew", owner: "a", attempt: 3, fence: 100, code: yes, given: 100},
		}},
		{"undone before it came", []step{
			{op: "release", owner: "a", attempt: 1, most: 100, code: yes},
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: undone},
			{op: "put", owner: "a", attempt: 1, fence: 90, code: no},
			{op: "put", owner: "a", attempt: 1, fence: 150, code: no},
			{op: "acquire", owner: "a", attempt: 2, fence: 101, code: yes, given: 101},
		}},
		{"released before it came", []step{
			{op: "release", owner: "a", attempt: 3, fence: 90, most: 100, code: vanished},
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: undone},
			{op: "acquire", owner: "a", attempt: 2, fence: 95, code: undone},
			{op: "acquire", owner: "b", attempt: 4, fence: 95, code: yes, given: 101},
		}},
		{"given back, again, and by another", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 2, fence: 100, code: yes},
			{op: "release", owner: "a", attempt: 3, fence: 100, code: yes},
			{op: "release", owner: "b", attempt: 4, fence: 90, code: vanished},
			{op: "release", owner: "b", attempt: 5, most: 90, code: yes},
		}},
		{"undone on a server with a higher fence", []step{
			{op: "acquire", owner: "b", attempt: 1, fence: 900, code: yes, given: 900},
			{op: "release", owner: "b", attempt: 2, fence: 900, code: yes},
			{op: "release", owner: "a", attempt: 3, most: 100, code: yes},
			{op: "acquire", owner: "c", attempt: 4, fence: 200, code: yes, given: 901},
		}},
		{"the fence of a lease that nobody gave back", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "over"},
			{op: "renew", owner: "a", attempt: 2, fence: 100, code: no},
			{op: "put", owner: "b", attempt: 3, fence: 99, code: no},
			{op: "acquire", owner: "b", attempt: 3, fence: 50, code: yes, given: 101},
		}},
		{"a lease that is over, undone by another", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "over"},
			{op: "release", owner: "b", attempt: 2, most: 50, code: yes},
			{op: "acquire", owner: "c", attempt: 3, fence: 60, code: yes, given: 101},
		}},
		{"given a lower fence than it said, and back", []step{
			{op: "acquire", owner: "x", attempt: 1, fence: 500, code: yes, given: 500},
			{op: "release", owner: "x", attempt: 2, fence: 500, code: yes},
			{op: "acquire", owner: "a", attempt: 3, fence: 100, code: yes, given: 501},
			{op: "put", owner: "a", attempt: 3, fence: 400, code: yes, given: 400},
			{op: "release", owner: "a", attempt: 4, fence: 400, code: yes, most: 400},
			{op: "acquire", owner: "b", attempt: 5, fence: 100, code: yes, given: 502},
		}},
		{"asked about a lease after it was released, and after a later one", []step{
			{op: "acquire", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 3, fence: 100, code: yes},
			{op: "put", owner: "a", attempt: 2, fence: 100, code: no},
			{op: "acquire", owner: "b", attempt: 4, fence: 200, code: yes, given: 200},
			{op: "put", owner: "a", attempt: 2, fence: 100, code: no},
			{op: "release", owner: "b", attempt: 5, fence: 200, code: yes},
			{op: "put", owner: "a", attempt: 2, fence: 100, code: no},
		}},
		{"an older request and the second half of an older renewal come late", []step{
			{op: "acquire", owner: "a", attempt: 4, fence: 100, code: yes, given: 100},
			{op: "acquire", owner: "a", attempt: 1, fence: 90, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 3, code: yes, most: 100}, // takes nothing
			{op: "put", owner: "a", attempt: 2, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 3, code: yes, most: 100},
			{op: "renew", owner: "a", attempt: 5, fence: 100, code: yes, given: 100},
		}},
		{"undone twice, in the wrong order, and another process with lower attempts", []step{
			{op: "release", owner: "a", attempt: 5, code: yes, most: 100},
			{op: "release", owner: "a", attempt: 3, code: yes, most: 90},
			{op: "acquire", owner: "a", attempt: 4, fence: 95, code: undone},
			{op: "acquire", owner: "b", attempt: 1, fence: 95, code: yes, given: 101},
		}},
		{"asked about a lease that is free here", []step{
			{op: "put", owner: "a", attempt: 1, fence: 100, code: yes, given: 100},
			{op: "acquire", owner: "b", attempt: 2, fence: 200, code: no},
			{op: "renew", owner: "a", attempt: 3, fence: 100, code: yes, given: 100},
			{op: "release", owner: "a", attempt: 4, fence: 100, code: yes},
			{op: "acquire", owner: "b", attempt: 5, fence: 200, code: yes, given: 200},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sims, cs := simulated(t, 3, 0)
			play(t, newDriver(t, cs, redlock.Options{}).At(0), c.steps, func() { sims[0].wait(2 * time.Second); sims[1].wait(2 * time.Second); sims[2].wait(2 * time.Second) })
			_, cs = servers(t, 3)
			d := newDriver(t, cs, redlock.Options{})
			play(t, d.At(0), c.steps, func() {
				until(t, "the lease is over", func() bool {
					return redlock.Left(d.At(0).Client(), redlock.DefaultNamespace, "key") <= 0
				})
			})
		})
	}
}

func play(t *testing.T, s redlock.Server, steps []step, over func()) {
	t.Helper()
	for i, st := range steps {
		h := driver.LeaseRef{Key: "key", Owner: st.owner, Fence: grown(st.fence), TTL: time.Second}
		var code, fence int64
		switch st.op {
		case "acquire":
			code, fence = s.Acquire(h, st.attempt)
		case "put":
			code, fence = s.Put(h, st.attempt)
		case "renew":
			code, fence = s.Renew(h, st.attempt)
		case "release":
			code, _ = s.Release(h, st.attempt, grown(st.most))
		case "over":
			over()
			continue
		}
		if code != st.code || fence != grown(st.given) {
			t.Fatalf("%d: %s of %s is answered with %d and fence %d, want %d and %d", i+1, st.op, st.owner, code, fence, st.code, st.given)
		}
	}
}

// Processes may have different values of FenceMemory: a lease ends after the memory of the process
// that acquired it, whichever process renews it.
func TestMemoriesDiffer(t *testing.T) {
	sims, cs := simulated(t, 3, 0)
	for _, c := range []struct {
		name           string
		first, renewer time.Duration
	}{
		{"less", time.Hour, time.Minute},
		{"more", time.Minute, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := redlock.Options{Namespace: fresh(), NodeTimeout: slow, FenceMemory: c.first}
			d := newDriver(t, cs, o)
			o.FenceMemory = c.renewer
			other := newDriver(t, cs, o)
			_, h := acquire(t, d, asking("key", 10*time.Second))
			_, err := other.Acquire(t.Context(), driver.Acquisition{Key: h.Key, Owner: h.Owner, TTL: h.TTL}) // a repeated request
			must(t, err)
			other.Settle()
			g, err := other.Renew(t.Context(), h)
			must(t, err)
			for i := range cs {
				if left := redlock.Left(cs[i], o.Namespace, "key"); left < g.Left || left > 10*time.Second {
					t.Errorf("server %d: %v is left of a lease of 10s, and the renewal says %v", i, left, g.Left)
				}
			}
			for _, s := range sims {
				s.wait(10 * time.Second)
			}
			acquire(t, d, asking("key", 10*time.Second))
		})
	}
}

// grown returns a number as high as times in µs are; 0 stays 0.
func grown(n int64) int64 {
	if n == 0 {
		return 0
	}
	return 1_795_000_000_000_000 + n
}

// A proposal is the time of the servers, the lower of two times and the middle of three, but above
// any fence that the key has seen; and never the same twice.
func TestProposals(t *testing.T) {
	const hour = int64(time.Hour / time.Microsecond)
	now := int64(1_795_207_852_937_000)
	for _, c := range []struct {
		name  string
		floor int64
		times []int64
		want  int64
	}{
		{"one", 0, []int64{now}, now},
		{"the lower of two", 0, []int64{now + hour, now}, now},
		{"the middle of three", 0, []int64{now + hour, now, 0}, now},
		{"above what was seen", now + hour, []int64{now}, now + hour + 1},
	} {
		if got := redlock.Propose(c.floor, c.times...); got < c.want || got > c.want+int64(slow/time.Microsecond) {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
