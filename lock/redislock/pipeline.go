package redislock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxInFlight is how many batches are in flight at once: while one is on the wire, the server
	// works on another.
	maxInFlight = 2
	// lateAfter is the time after which a batch in flight no longer counts for maxInFlight: its
	// connection may be silent, and the calls in the queue need not wait for it.
	lateAfter = 20 * time.Millisecond
	// maxLate bounds the batches in flight, the late ones included. A server that is merely slow
	// gets no more requests at once than this.
	maxLate = 16
	// maxBatch is how many requests one script serves: the server does nothing else meanwhile.
	maxBatch = 200
)

// A pipeline sends the calls of many goroutines to one server in few round trips. A call that finds
// fewer than maxInFlight batches in flight is sent at once, alone, by its own goroutine. Any other
// is enqueued; when a batch completes, all calls of the queue are flushed as the next batch. No
// call waits for a time to pass.
//
//	enqueue → flush → complete → flush …
//
// The mutex is held for moments only, never while a request is on the wire.
type pipeline struct {
	client redis.UniversalClient
	limit  time.Duration // of a batch
	late   time.Duration // lateAfter, except in tests
	apart  atomic.Bool   // the server accepts only keys of one slot in one run of a script

	mu       sync.Mutex
	inFlight []*batch    // oldest first
	queue    []*call     // oldest first
	timer    *time.Timer // fires when the next batch becomes late while calls wait; nil: never needed
}

// A call is one request that waits in the queue, or in a batch in flight.
type call struct {
	script  *script
	request *request
	done    chan struct{} // closed once reply and err are set
	reply   any
	err     error
}

func newPipeline(client redis.UniversalClient, limit time.Duration) *pipeline {
	return &pipeline{client: client, limit: limit, late: lateAfter}
}

// do sends a request, with the requests of other callers if there are any, and returns its reply.
// When ctx ends, a call that was not sent is withdrawn. A call that was sent returns when the
// deadline of ctx passes, and may still be carried out. If ctx was cancelled earlier, the call
// waits for its reply, within the limit of a batch: otherwise the cleanup of a request whose answer
// is unknown could reach the server before the request.
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
		case <-c.done: // a grant that has arrived is not lost
		default:
			return nil, ctx.Err()
		}
	}
	<-c.done
	r.free()
	return c.reply, c.err
}

// enqueue returns a batch in flight if the request may be sent at once, alone. Otherwise it returns
// the enqueued call.
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

// withdraw takes a call out of the queue, and reports whether it was there: then it is never sent.
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

// pipelines are the pipelines of a client: one for each server that judges leases, so that a server
// that does not answer delays no request to another.
type pipelines struct {
	client redis.UniversalClient
	limit  time.Duration // of a batch
	only   *pipeline     // of a client that is not for a Cluster; in a Cluster for requests that are not enqueued
	all    sync.Map      // in a Cluster: the address of a master -> its *pipeline
}

func newPipelines(client redis.UniversalClient, limit time.Duration) *pipelines {
	a := &pipelines{client: client, limit: limit, only: newPipeline(client, limit)}
	_, cluster := client.(*redis.ClusterClient)
	a.only.apart.Store(cluster)
	return a
}

// of returns the pipeline for a request. It returns nil if the request must be sent alone, because
// its context ends before the limit of a batch: a batch is not cut short for one of its calls.
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

// A batch is sent in one round trip: the calls that were taken off the queue, or one request that
// its own goroutine sends, which has no call.
type batch struct {
	calls []*call
	began time.Time
	late  bool // it no longer counts: see lateAfter
}

// A command is one EVALSHA of a batch. It serves one call, or all calls of the batch whose script
// joins. A script that joins gets the first key of each call, then the second of each, and the
// arguments call by call. It returns a list with a reply for each call.
type command struct {
	calls   []*call
	script  *script
	request *request // the request of the only call, or of all calls
	whole   bool     // the server does not know the script: it is sent with its source
	cmd     *redis.Cmd
}

// commands returns the commands for some calls. The calls of a script that joins share a command,
// unless apart is set.
func commands(calls []*call, apart bool) []*command {
	var all []*command
	for _, c := range calls {
		i := -1
		if c.script.joins && !apart {
			i = slices.IndexFunc(all, func(other *command) bool { return other.script == c.script })
		}
		if i < 0 {
			all = append(all, &command{script: c.script})
			i = len(all) - 1
		}
		all[i].calls = append(all[i].calls, c)
	}
	for _, m := range all {
		m.request = m.calls[0].request
		if len(m.calls) > 1 {
			m.request = joined(m.calls)
		}
	}
	return all
}

// joined returns one request for all these calls.
func joined(calls []*call) *request {
	r := requests.Get().(*request)
	for k := range calls[0].request.keys.ends {
		for _, c := range calls {
			r.keys.b = append(r.keys.b, c.request.keys.at(k)...)
			r.keys.end()
		}
	}
	for _, c := range calls {
		r.args.join(c.request.args)
		r.once = r.once || c.request.once
	}
	return r
}

// send sends a batch and completes its calls. Its context comes from no caller: a caller may return
// before its call completes.
func (p *pipeline) send(b *batch) {
	ctx, stop := context.WithTimeout(context.Background(), p.limit)
	defer stop()
	p.sendAll(ctx, b.calls)
}

// sendAll sends calls in as few round trips as possible, and completes them.
func (p *pipeline) sendAll(ctx context.Context, calls []*call) {
	todo := commands(calls, p.apart.Load())
	for len(todo) > 0 {
		todo = p.exec(ctx, todo)
	}
}

// exec sends commands in one round trip, completes the calls of those that have an answer, and
// returns the commands that must be sent again, in another form.
func (p *pipeline) exec(ctx context.Context, all []*command) (again []*command) {
	pipe := p.client.Pipeline()
	for _, m := range all {
		m.cmd = m.request.command(ctx, m.script, m.whole)
		_ = pipe.Process(ctx, m.request.sendable(m.cmd)) // Exec sends it
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, m := range all {
		switch err := m.cmd.Err(); {
		case unknown(err) && !m.whole:
			m.whole = true
			again = append(again, m)
		case len(m.calls) > 1 && redis.HasErrorPrefix(err, "CROSSSLOT"):
			p.apart.Store(true)
			again = append(again, commands(m.calls, true)...)
		default:
			m.complete()
		}
	}
	return again
}

// complete gives each call its reply.
func (m *command) complete() {
	replies, err := m.replies()
	for i, c := range m.calls {
		if err != nil {
			c.err = err
		} else {
			c.reply, c.err = answered(replies[i])
		}
		close(c.done)
	}
	if len(m.calls) > 1 {
		m.request.free()
	}
}

// replies returns the replies to the calls.
func (m *command) replies() ([]any, error) {
	reply, err := m.cmd.Result()
	if err != nil || !m.script.joins {
		return []any{reply}, err
	}
	return readReplies(reply, len(m.calls))
}

// readReplies reads the reply of a script that joins so many calls.
func readReplies(reply any, calls int) ([]any, error) {
	replies, _ := reply.([]any)
	if len(replies) != calls {
		return nil, unreadable("batch", reply)
	}
	return replies, nil
}

// answered returns a reply to one call. A text that begins with ! is an error.
func answered(reply any) (any, error) {
	if text, is := reply.(string); is && strings.HasPrefix(text, "!") {
		return nil, replyError(text[1:])
	}
	return reply, nil
}

// A replyError is an error of the server about one call of several.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (replyError) RedisError() {}

// begin puts a batch in flight with these calls. It returns nil if no more batches may be in
// flight. The mutex is held.
func (p *pipeline) begin(calls []*call) *batch {
	if len(p.inFlight) == maxLate || p.counting() == maxInFlight {
		return nil
	}
	b := &batch{calls: calls, began: time.Now()}
	p.inFlight = append(p.inFlight, b)
	return b
}

// counting returns how many batches in flight are not late. The mutex is held.
func (p *pipeline) counting() int {
	n := 0
	for _, b := range p.inFlight {
		if !b.late {
			n++
		}
	}
	return n
}

// next begins a batch of the calls in the queue, up to maxBatch. It returns nil if there are none,
// or if no more batches may be in flight. The mutex is held.
func (p *pipeline) next() *batch {
	n := min(len(p.queue), maxBatch)
	if n == 0 {
		return nil
	}
	b := p.begin(p.queue[:n:n])
	if b == nil {
		return nil
	}
	if p.queue = p.queue[n:]; len(p.queue) > 0 {
		p.watch()
	} else {
		p.queue = nil // the batch uses its memory
	}
	return b
}

// flush sends a batch, and then the queue, until no call waits or no more batches may be in flight.
func (p *pipeline) flush(b *batch) {
	for b != nil {
		p.send(b)
		b = p.complete(b)
	}
}

// complete takes a batch out of flight and returns the next one, if there is one.
func (p *pipeline) complete(b *batch) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.inFlight, b)
	p.inFlight = slices.Delete(p.inFlight, i, i+1)
	return p.next()
}

// completeAlone completes the batch of a request that its own goroutine has sent, which need not
// wait for the calls in the queue.
func (p *pipeline) completeAlone(b *batch) {
	if next := p.complete(b); next != nil {
		go p.flush(next)
	}
}

// watch has the queue flushed when the next batch in flight becomes late. It is called when calls
// begin to wait. The mutex is held.
func (p *pipeline) watch() {
	i := slices.IndexFunc(p.inFlight, func(b *batch) bool { return !b.late })
	if i < 0 {
		return // no more batches may be in flight: the first that completes flushes the queue
	}
	left := p.late - time.Since(p.inFlight[i].began)
	if p.timer == nil {
		p.timer = time.AfterFunc(left, p.flushLate)
		return
	}
	p.timer.Reset(left)
}

// flushLate flushes the queue beside batches that are late. If calls are left, next has called watch, or as many batches are
// in flight as there may be, and the first that completes flushes the queue.
func (p *pipeline) flushLate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.inFlight {
		b.late = b.late || time.Since(b.began) >= p.late
	}
	for b := p.next(); b != nil; b = p.next() {
		go p.flush(b)
	}
}
