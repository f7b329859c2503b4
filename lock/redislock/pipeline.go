package redislock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxInFlight is how many batches are in flight at once: while one is on the wire
	// the server works on another.
	maxInFlight = 2
	// lateAfter is after what time a batch in flight no longer counts as one of these:
	// its connection may be silent, and the calls in the queue need not wait for that.
	lateAfter = 20 * time.Millisecond
	// maxLate bounds the batches in flight, the late ones included. A server that is
	// merely slow gets no more requests at once than this.
	maxLate = 16
	// maxBatch is how many requests one script serves: the server does nothing else
	// meanwhile.
	maxBatch = 200
)

// A pipeline sends the calls of many goroutines to one server in few round trips. A call
// that finds fewer than maxInFlight batches in flight is sent at once, alone, by its own
// goroutine. Any other is enqueued; when a batch completes, all calls of the queue are
// flushed as the next batch. No call waits for a time to pass.
//
//	enqueue → flush → complete → flush …
//
// The mutex is held for moments only, never while a request is on the wire.
type pipeline struct {
	client redis.UniversalClient
	limit  time.Duration // of a batch
	late   time.Duration // lateAfter, but for tests
	apart  atomic.Bool   // the server takes keys of one slot only in one run of a script

	mu       sync.Mutex
	inFlight []*batch    // oldest first
	queue    []*call     // oldest first
	timer    *time.Timer // of the next batch that is late while calls wait; nil: never needed
}

// A call is one request that waits in the queue, or in a batch in flight.
type call struct {
	script  *script
	request *request
	done    chan struct{} // closed once reply and err are there
	reply   any
	err     error
}

func newPipeline(client redis.UniversalClient, limit time.Duration) *pipeline {
	return &pipeline{client: client, limit: limit, late: lateAfter}
}

// do sends a request, with those of other callers if there are any, and returns its
// reply. When ctx ends a call that was not sent is withdrawn. One that was sent returns
// when the deadline of ctx passes, and may still be carried out; but one that was
// cancelled earlier waits for its reply, within the limit of a batch. Otherwise the
// cleanup of a request whose answer is unknown could reach the server before the request.
func (p *pipeline) do(ctx context.Context, s *script, r *request) (any, error) {
	c, alone := p.enqueue(s, r)
	if alone != nil {
		defer r.free()
		defer p.completeAlone(alone)
		return evaluate(ctx, p.client, s, r)
	}
	select {
	case <-c.done:
		r.free()
		return c.reply, c.err
	case <-ctx.Done():
	}
	if p.withdraw(c) {
		r.free()
		return nil, ctx.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case <-c.done: // a grant that is there is not lost
		default:
			return nil, ctx.Err()
		}
	}
	<-c.done
	r.free()
	return c.reply, c.err
}

// enqueue returns a batch in flight if the request may be sent at once, alone. Otherwise
// it returns the call that is now in the queue.
func (p *pipeline) enqueue(s *script, r *request) (c *call, alone *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.begin(nil); b != nil {
		return nil, b
	}
	c = &call{script: s, request: r, done: make(chan struct{})}
	p.queue = append(p.queue, c)
	if len(p.queue) == 1 {
		p.watch()
	}
	return c, nil
}

// withdraw takes a call out of the queue, and reports whether it was there: then it was
// not sent, and never is.
func (p *pipeline) withdraw(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, c)
	if i < 0 {
		return false
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	return true
}

// pipelines are those of a client: one for each server that judges leases, so that a
// server that does not answer delays no request to another.
type pipelines struct {
	client redis.UniversalClient
	limit  time.Duration // of a batch
	only   *pipeline     // of all clients but those of a Cluster
	all    sync.Map      // of a Cluster: the address of a master -> its *pipeline
}

func newPipelines(client redis.UniversalClient, limit time.Duration) *pipelines {
	return &pipelines{client: client, limit: limit, only: newPipeline(client, limit)}
}

// of returns the pipeline for a request. It returns nil if the request has to be sent
// alone, since its context ends before the limit of a batch: a batch is not cut short for
// one of its calls.
func (a *pipelines) of(ctx context.Context, r *request) *pipeline {
	if deadline, some := ctx.Deadline(); some && time.Until(deadline) <= a.limit {
		return nil
	}
	cluster, is := a.client.(*redis.ClusterClient)
	if !is {
		return a.only
	}
	master, err := cluster.MasterForKey(ctx, r.firstKey())
	if err != nil {
		return nil
	}
	p, known := a.all.Load(master.Options().Addr)
	if !known {
		fresh := newPipeline(a.client, a.limit)
		fresh.apart.Store(true)
		p, _ = a.all.LoadOrStore(master.Options().Addr, fresh)
	}
	return p.(*pipeline)
}
