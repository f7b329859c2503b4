package redislock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// moment is how long replicas that are merely counted have to answer.
const moment = 200 * time.Millisecond

// A said is what a script said, and how many replicas have what it wrote.
type said struct {
	reply  any
	acked  int
	failed error // why nobody knows how many
}

// short is the doubt about what too few replicas have, nil if they are enough.
func (s *said) short(key string, want int) error {
	if s.acked >= want {
		return nil
	}
	err := &driver.ReplicasError{Key: key, Want: want, Acked: s.acked}
	if s.failed != nil {
		return fmt.Errorf("%w: %w", err, s.failed)
	}
	return err
}

// runFor runs a script, as share does, and waits until so many replicas have what
// it wrote, or for as long as that is of use to a lease with this TTL.
func (d *Driver) runFor(ctx context.Context, s, many *redis.Script, r *request, replicas int, ttl time.Duration) (answer said, err error) {
	if replicas > 0 {
		return d.runAckedFor(ctx, s, r, replicas, ttl)
	}
	answer.reply, err = d.share(ctx, s, many, r)
	return answer, err
}

// runRequest is runFor of a request that goes alone.
func (d *Driver) runRequest(ctx context.Context, s *redis.Script, r *request, replicas int, ttl time.Duration) (answer said, err error) {
	if replicas > 0 {
		return d.runAckedFor(ctx, s, r, replicas, ttl)
	}
	answer.reply, err = d.evaluate(ctx, s, r)
	if d.prompt { // else what was given up may be on its way still
		r.free()
	}
	return answer, err
}

// runAckedFor is runFor where there are replicas to wait for.
func (d *Driver) runAckedFor(ctx context.Context, s *redis.Script, r *request, replicas int, ttl time.Duration) (said, error) {
	r.box()
	keys, args := r.boxed()
	answer, err := bounded(ctx, d.prompt, func() (said, error) {
		return d.runAcked(ctx, s, keys, args, replicas, d.patience(ctx, ttl))
	})
	if d.prompt {
		r.free()
	}
	return answer, err
}

// patience is how long replicas are waited for: WAIT has to answer before the
// client or the context gives the connection up.
func (d *Driver) patience(ctx context.Context, ttl time.Duration) time.Duration {
	wait := min(d.acks, ttl/5)
	if limit := readTimeout(d.client); limit > 0 {
		wait = min(wait, limit/2)
	}
	if end, ends := ctx.Deadline(); ends {
		wait = min(wait, time.Until(end)/2)
	}
	return max(wait, time.Millisecond)
}

// runAcked sends the script and a WAIT to the key's own master. A node of a
// Cluster that says where the key has gone is followed there once.
func (d *Driver) runAcked(ctx context.Context, s *redis.Script, keys []string, args []any, replicas int, wait time.Duration) (said, error) {
	node, err := d.master(ctx, keys[0])
	if err != nil {
		return said{}, err
	}
	p := pledge{node: node, script: s, touch: d.scripts.touch, keys: keys, args: args, replicas: replicas, wait: wait}
	r, err := p.acked(ctx)
	cluster, is := d.client.(*redis.ClusterClient)
	if err == nil || !is {
		return r, err
	}
	d.failed(ctx, err)
	if p.node, p.asking = redirected(ctx, cluster, err); p.node != nil {
		return p.acked(ctx)
	}
	return r, err
}

// A pipeliner is a client of one server, or of the master behind Sentinel.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// master is a client of the server that judges a key.
func (d *Driver) master(ctx context.Context, key string) (pipeliner, error) {
	if cluster, ok := d.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return d.client, nil
}

// redirected is the master that an error of another one names, and whether it
// has to be told that the key is on its way there. Nil: none, or one that the
// client does not know yet.
func redirected(ctx context.Context, cluster *redis.ClusterClient, err error) (node pipeliner, asking bool) {
	asking = redis.HasErrorPrefix(err, "ASK ")
	words := strings.Fields(err.Error())
	if !asking && !redis.HasErrorPrefix(err, "MOVED ") || len(words) != 3 {
		return nil, false
	}
	var found *redis.Client
	err = eachMaster(ctx, cluster, func(_ context.Context, c redis.UniversalClient) error {
		if client, is := c.(*redis.Client); is && client.Options().Addr == words[2] {
			found = client // one at most has the address
		}
		return nil
	})
	if err != nil || found == nil {
		return nil, false
	}
	return found, asking
}

// A pledge is a script whose writes replicas must have, on one server.
type pledge struct {
	node     pipeliner
	asking   bool // the server has to be told that the key is on its way there
	script   *redis.Script
	touch    *redis.Script
	keys     []string
	args     []any
	replicas int
	wait     time.Duration
}

// acked sends the script and a WAIT on one connection: what WAIT counts is what
// that connection wrote. What the script found done may have been written by
// another one, so something is written in any case.
func (p *pledge) acked(ctx context.Context) (said, error) {
	asked, touched, waited := p.send(ctx, (*redis.Script).EvalSha)
	if redis.HasErrorPrefix(asked.Err(), "NOSCRIPT") || redis.HasErrorPrefix(touched.Err(), "NOSCRIPT") {
		asked, touched, waited = p.send(ctx, (*redis.Script).Eval)
	}
	if asked.Err() != nil {
		return said{}, asked.Err()
	}
	if err := touched.Err(); err != nil {
		return said{reply: asked.Val(), failed: err}, nil
	}
	n, err := waited.Int()
	return said{reply: asked.Val(), acked: n, failed: err}, nil
}

// send sends the pipeline, with scripts by their names or as a whole.
func (p *pledge) send(ctx context.Context, run func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd) (asked, touched, waited *redis.Cmd) {
	pipe := p.node.Pipeline()
	ask := func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
		if p.asking { // it holds for one command
			pipe.Do(ctx, "asking")
		}
		return run(s, ctx, pipe, keys, args...)
	}
	asked = ask(p.script, p.keys, p.args...)
	touched = ask(p.touch, []string{p.keys[0] + ":touched"})
	waited = pipe.Do(ctx, "wait", p.replicas, p.wait.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	return asked, touched, waited
}

// Replicas tells how many replicas of the server that judges key answer within a
// moment, a fifth of a second.
func (d *Driver) Replicas(ctx context.Context, key string) (int, error) {
	if err := driver.CheckKey(key); err != nil {
		return 0, err
	}
	// More than there can be, of something that is written now.
	r, err := bounded(ctx, d.prompt, func() (said, error) {
		return d.runAcked(ctx, d.scripts.touch, []string{d.keys.lock(key) + ":touched"}, nil, driver.MaxReplicas+1, moment)
	})
	if err == nil {
		err = r.failed
	}
	if err != nil {
		return 0, fmt.Errorf("redislock: replicas: %w", err)
	}
	return r.acked, nil
}
