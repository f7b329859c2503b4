package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// maxTogether is how many leases one round trip renews.
const maxTogether = 200

// RenewAll moves the deadlines of leases to now + TTL on a majority, up to 200 in one round trip to
// each server. It waits for servers as long as the lease with the shortest TTL allows.
func (d *Driver) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	answers := make([]driver.Renewal, 0, len(hs))
	for some := range slices.Chunk(hs, maxTogether) {
		answers = append(answers, d.renewTogether(ctx, some)...)
	}
	return answers
}

func (d *Driver) renewTogether(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	answers := make([]driver.Renewal, len(hs))
	if err := ctx.Err(); err != nil {
		for i := range answers {
			answers[i].Err = fmt.Errorf("redlock: renew: %w", err)
		}
		return answers
	}
	sent, attempts, shortest := time.Now(), make([]int64, len(hs)), hs[0].TTL
	rs := make([]request, len(hs))
	for i := range hs {
		h := &hs[i]
		attempts[i], shortest = d.attempts.Add(1), min(shortest, h.TTL)
		rs[i] = d.give(renewScript, h.Key, h.Owner, attempts[i], h.TTL, h.Fence)
	}
	var mending sync.WaitGroup
	for i, b := range d.askTogether(ctx, d.patience(shortest), rs) {
		mend := func() { answers[i].Grant, answers[i].Err = d.renewal(ctx, &hs[i], attempts[i], sent, b) }
		if len(b.voted(no)) == 0 {
			mend()
			continue
		}
		mending.Go(mend)
	}
	mending.Wait()
	return answers
}

// askTogether sends requests to all servers, in one round trip to each, and returns the ballot of
// each request. It returns when all servers have answered, ctx ends, or the patience is over.
func (d *Driver) askTogether(ctx context.Context, patience time.Duration, rs []request) []ballot {
	ballots := make([]ballot, len(rs))
	for i := range ballots {
		ballots[i] = d.emptyBallot()
		for n := range d.nodes {
			ballots[i].answers[n].err = errLate
		}
	}
	bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	d.begin()
	type several struct {
		node    int
		answers []answer
	}
	replies := make(chan several, len(d.nodes))
	var asking sync.WaitGroup
	for i, n := range d.nodes {
		asking.Go(func() { replies <- several{i, n.askTogether(bounded, rs)} })
	}
	go func() {
		defer d.asking.Done()
		defer stop()
		asking.Wait()
	}()
	for range d.nodes {
		select {
		case got := <-replies:
			for i := range ballots {
				ballots[i].answers[got.node] = got.answers[i]
			}
		case <-ctx.Done():
			return ballots
		}
	}
	return ballots
}

// askTogether sends requests to the server in one round trip, and reads its replies.
func (n *node) askTogether(ctx context.Context, rs []request) []answer {
	answers := make([]answer, len(rs))
	todo := make([]int, len(rs))
	for i := range todo {
		todo[i] = i
	}
	for len(todo) > 0 {
		pipe, cmds := n.client.Pipeline(), make([]*redis.Cmd, len(todo))
		for k, i := range todo {
			cmds[k] = rs[i].command(ctx)
			_ = pipe.Process(ctx, cmds[k]) // Exec sends it
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		var unknown []int
		for k, i := range todo {
			if redis.HasErrorPrefix(cmds[k].Err(), "NOSCRIPT") {
				unknown = append(unknown, i)
				continue
			}
			answers[i] = n.read(&rs[i], cmds[k].Val(), cmds[k].Err())
		}
		if todo = unknown; len(todo) > 0 { // the first is sent with its script, which the server knows afterwards
			answers[todo[0]] = n.call(ctx, rs[todo[0]])
			todo = todo[1:]
		}
	}
	return answers
}
