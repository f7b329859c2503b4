package redlock

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// A server is silent: up to 1024 releases wait for it, in their order, and further ones replace the oldest. Each waits
// until its lease has ended, and at least 5 s.
func TestPendingReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{sweeping: true} // no goroutine sends them
		d := Driver{nodes: []*node{n}}
		for i := range int64(maxPending + 2) {
			d.sweep([]int{0}, request{means: answer{fence: i}}, time.Minute)
		}
		if len(n.pending) != maxPending {
			t.Errorf("%d releases wait, want %d", len(n.pending), maxPending)
		}
		if r, ok := n.oldest(); !ok || r.means.fence != 2 {
			t.Errorf("the oldest is release %d, %v, want 2", r.means.fence, ok)
		}
		time.Sleep(time.Minute - 1)
		d.sweep([]int{0}, request{means: answer{fence: -1}}, 0) // a release may omit the TTL
		if r, ok := n.oldest(); !ok || r.means.fence != 3 {
			t.Errorf("before the end of the leases the oldest is release %d, %v, want 3", r.means.fence, ok)
		}
		time.Sleep(minSweep - 1)
		if r, ok := n.oldest(); !ok || r.means.fence != -1 {
			t.Errorf("after their end the oldest is release %d, %v, want the one without a TTL", r.means.fence, ok)
		}
		d.sweep([]int{0}, request{means: answer{fence: -2}}, 0)
		time.Sleep(minSweep)
		if r, ok := n.oldest(); ok {
			t.Errorf("release %d waits longer than its lease lasts", r.means.fence)
		}
	})
}

// A release follows the last of several late answers about its lease, not an earlier one, and does not wait
// for answers about other leases.
func TestReleaseFollowsLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, one, other := new(node), lease{"key", "a/1"}, lease{"key", "b/1"}
		settles := func(l lease) bool {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			return n.settled(ctx, l) == nil
		}
		n.expect(one)
		n.expect(one)
		if settles(one) || !settles(other) {
			t.Error("before an answer: want only the other lease to be settled")
		}
		n.answered(one)
		if settles(one) {
			t.Error("it is settled after the first of two answers")
		}
		go func() { n.answered(one) }()
		settled := settles(one)
		if synctest.Wait(); !settled || len(n.late) != 0 {
			t.Errorf("after both answers: %d late leases are remembered, want none", len(n.late))
		}
	})
}

// A grant needs time that is left after the answers, the drift of the clocks and the truncation.
func TestNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := time.Now()
		time.Sleep(time.Second)
		const lost = time.Second + 100*time.Millisecond + 2*time.Millisecond
		if g, err := valid("renew", 7, sent, lost+1, 10*time.Second); err != nil || g.Left != 1 || g.Fence != 7 {
			t.Errorf("with a nanosecond left it is %+v, %v", g, err)
		}
		if g, err := valid("renew", 7, sent, lost, 10*time.Second); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("with no time left it is %+v, %v", g, err)
		}
	})
}

// Servers are silent while leases are renewed together: they are awaited for a quarter of the shortest TTL.
func TestRenewAllWaitsForTheShortestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cs []redis.UniversalClient
		for i := range 3 {
			c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + strconv.Itoa(i+1), ContextTimeoutEnabled: true})
			defer c.Close()
			c.AddHook(silentPipeline{})
			cs = append(cs, c)
		}
		d, err := New(cs, Options{NodeTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		hs := []driver.LeaseRef{{Key: "a", Owner: "a/1", TTL: time.Hour}, {Key: "b", Owner: "b/1", TTL: 4 * time.Second}}
		for _, r := range d.RenewAll(t.Context(), hs) {
			if !errors.Is(r.Err, ErrNoQuorum) || time.Since(began) != time.Second {
				t.Errorf("after %v: %v, want doubt after 1s", time.Since(began), r.Err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A silentPipeline is a hook of a server that never answers.
type silentPipeline struct{}

func (silentPipeline) DialHook(next redis.DialHook) redis.DialHook { return next }

func (silentPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (silentPipeline) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		<-ctx.Done()
		for _, cmd := range cmds {
			cmd.SetErr(ctx.Err())
		}
		return ctx.Err()
	}
}

// A lease is lost only if a majority of the servers do not have it: silent servers may have it.
func TestRenewalIsDoubtOrLoss(t *testing.T) {
	d := Driver{majority: 2}
	silent := answer{err: errLate}
	for _, c := range []struct {
		answers []answer
		want    error
	}{
		{[]answer{{code: no}, {code: no}, {code: yes}}, driver.ErrLost},
		{[]answer{{code: no}, {code: no}, silent}, driver.ErrLost},
		{[]answer{{code: no}, {code: yes}, silent}, ErrNoQuorum},
		{[]answer{{code: no}, silent, silent}, ErrNoQuorum},
	} {
		_, err := d.renewal(t.Context(), &driver.LeaseRef{TTL: time.Minute}, 1, time.Now(), ballot{majority: 2, answers: c.answers})
		if !errors.Is(err, c.want) || errors.Is(err, driver.ErrLost) != errors.Is(c.want, driver.ErrLost) {
			t.Errorf("%+v: %v, want %v", c.answers, err, c.want)
		}
	}
}
