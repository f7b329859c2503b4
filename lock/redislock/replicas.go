package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
)

// moment is how long Replicas waits for the answers of replicas.
const moment = 200 * time.Millisecond

// An outcome is the reply of a script, and the number of replicas that have its writes.
type outcome struct {
	reply  any
	acked  int
	failed error // why the number is unknown
}

// short returns the doubt if too few replicas have the writes, and nil otherwise.
func (o *outcome) short(key string, want int) error {
	if o.acked >= want {
		return nil
	}
	err := &driver.ReplicasError{Key: key, Want: want, Acked: o.acked}
	if o.failed != nil {
		return fmt.Errorf("%w: %w", err, o.failed)
	}
	return err
}

// runFor runs a script, as pipelined does. It waits until so many replicas have the writes, or for
// as long as the wait is of use to a lease with this TTL.
func (d *Driver) runFor(ctx context.Context, s *script, r *request, replicas int, ttl time.Duration) (o outcome, err error) {
	if replicas > 0 {
		return d.runAckedFor(ctx, s, r, replicas, ttl)
	}
	o.reply, err = d.pipelined(ctx, s, r)
	return o, err
}

// runAlone is runFor for a request that shares no round trip.
func (d *Driver) runAlone(ctx context.Context, s *script, r *request, replicas int, ttl time.Duration) (o outcome, err error) {
	if replicas > 0 {
		return d.runAckedFor(ctx, s, r, replicas, ttl)
	}
	o.reply, err = d.evaluate(ctx, s, r)
	return o, err
}

// runAckedFor is runFor for a request with replicas.
func (d *Driver) runAckedFor(ctx context.Context, s *script, r *request, replicas int, ttl time.Duration) (outcome, error) {
	return bounded(ctx, d.prompt, func() (outcome, error) {
		return d.runAcked(ctx, s, r, replicas, d.ackTime(ctx, ttl))
	})
}

// ackTime returns how long to wait for replicas: WAIT must answer before the client or the context
// gives up the connection.
func (d *Driver) ackTime(ctx context.Context, ttl time.Duration) time.Duration {
	wait := min(d.acks, ttl/5)
	if limit := readTimeout(d.client); limit > 0 {
		wait = min(wait, limit/2)
	}
	if end, ends := ctx.Deadline(); ends {
		wait = min(wait, time.Until(end)/2)
	}
	return max(wait, time.Millisecond)
}

// runAcked sends the script and a WAIT to the master of the key. If a node of a Cluster answers
// that the key has moved, runAcked sends them once more to the new master.
func (d *Driver) runAcked(ctx context.Context, s *script, r *request, replicas int, wait time.Duration) (outcome, error) {
	node, err := d.master(ctx, r.firstKey())
	if err != nil {
		return outcome{}, err
	}
	a := acknowledged{node: node, script: s, touch: d.scripts.touch, request: r, replicas: replicas, wait: wait}
	o, err := a.run(ctx)
	cluster, is := d.client.(*redis.ClusterClient)
	if err == nil || !is {
		return o, err
	}
	d.failed(ctx, err)
	if a.node, a.asking = redirected(ctx, cluster, err); a.node != nil {
		return a.run(ctx)
	}
	return o, err
}

// A pipeliner is a client of one server, or of the master behind Sentinel.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// master returns a client of the server that judges a key.
func (d *Driver) master(ctx context.Context, key string) (pipeliner, error) {
	if cluster, ok := d.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return d.client, nil
}

// redirected returns the master that another master's error names, and whether that master requires
// an ASKING first, because the key is moving to it. It returns nil if the error names no master, or
// one that the client does not know yet.
func redirected(ctx context.Context, cluster *redis.ClusterClient, err error) (node pipeliner, asking bool) {
	asking = redis.HasErrorPrefix(err, "ASK ")
	words := strings.Fields(err.Error())
	if !asking && !redis.HasErrorPrefix(err, "MOVED ") || len(words) != 3 {
		return nil, false
	}
	var found *redis.Client
	err = eachMaster(ctx, cluster, func(_ context.Context, c redis.UniversalClient) error {
		if client, is := c.(*redis.Client); is && client.Options().Addr == words[2] {
			found = client // at most one has the address
		}
		return nil
	})
	if err != nil || found == nil {
		return nil, false
	}
	return found, asking
}

// An acknowledged request is a request to one server whose writes replicas must have.
type acknowledged struct {
	node     pipeliner
	asking   bool // the server requires an ASKING first: the key is moving to it
	script   *script
	touch    *script
	request  *request
	replicas int
	wait     time.Duration
}

// run sends the script and a WAIT on one connection: WAIT counts the replicas that have the writes
// of that connection. If the script finds its work done, another connection may have written it, so
// touch writes in any case.
func (a *acknowledged) run(ctx context.Context) (outcome, error) {
	asked, touched, waited := a.send(ctx, false)
	if unknown(asked.Err()) || unknown(touched.Err()) {
		asked, touched, waited = a.send(ctx, true)
	}
	if asked.Err() != nil {
		return outcome{}, asked.Err()
	}
	reply, err := a.script.only(asked.Val())
	if err != nil {
		return outcome{}, err
	}
	if err := touched.Err(); err != nil {
		return outcome{reply: reply, failed: err}, nil
	}
	n, err := waited.Int()
	return outcome{reply: reply, acked: n, failed: err}, nil
}

// send sends the three commands in one pipeline of the client. Scripts are sent by hash, or whole.
func (a *acknowledged) send(ctx context.Context, whole bool) (asked, touched, waited *redis.Cmd) {
	pipe := a.node.Pipeline()
	ask := func(s *script, r *request) *redis.Cmd {
		if a.asking { // it applies to one command
			pipe.Do(ctx, "asking")
		}
		cmd := r.command(ctx, s, whole)
		_ = pipe.Process(ctx, cmd) // Exec sends it
		return cmd
	}
	asked = ask(a.script, a.request)
	touched = ask(a.touch, requestOf([]string{a.request.firstKey() + ":touched"}))
	waited = pipe.Do(ctx, "wait", a.replicas, a.wait.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	return asked, touched, waited
}

// Attached returns how many replicas the server that judges the series has attached, including
// those that lag or do not answer at the moment. It returns 0 if the server answers with an error,
// as without the right to ask. Its own error is doubt.
func (d *Driver) Attached(ctx context.Context, series string) (int, error) {
	node, err := d.master(ctx, d.keys.partitions[d.keys.partition(series)])
	if err != nil {
		return 0, fmt.Errorf("redislock: replicas: %w", err)
	}
	text, err := bounded(ctx, d.prompt, func() (string, error) {
		pipe := node.Pipeline()
		info := pipe.Info(ctx, "replication")
		_, err := pipe.Exec(ctx)
		return info.Val(), err
	})
	if _, answered := errors.AsType[redis.Error](err); answered {
		return 0, nil // the server does not say, and will not
	}
	if err != nil {
		return 0, fmt.Errorf("redislock: replicas: %w", err)
	}
	for line := range strings.Lines(text) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "connected_slaves:"); ok {
			return strconv.Atoi(count)
		}
	}
	return 0, nil // the server reports no replicas
}

// Replicas returns how many replicas of the server that judges key answer within a fifth of a
// second.
func (d *Driver) Replicas(ctx context.Context, key string) (int, error) {
	if err := driver.CheckKey(key); err != nil {
		return 0, err
	}
	// WAIT for more replicas than there can be, and a key that is written now.
	o, err := bounded(ctx, d.prompt, func() (outcome, error) {
		return d.runAcked(ctx, d.scripts.touch, requestOf([]string{d.keys.lock(key) + ":touched"}), driver.MaxReplicas+1, moment)
	})
	if err == nil {
		err = o.failed
	}
	if err != nil {
		return 0, fmt.Errorf("redislock: replicas: %w", err)
	}
	return o.acked, nil
}
