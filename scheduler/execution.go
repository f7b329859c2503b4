package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// An execution calls a job's function.
type execution struct {
	run     Run
	fn      Func
	output  runOutput
	outputs *outputs
}

// Do calls the function.
func (x *execution) Do(ctx context.Context) error { return x.fn(ctx, &x.run) }

// Ended queues the output that the function has given. An empty output replaces the output of an
// earlier attempt, so the first attempt sends none, and neither does a shard, because the earlier output may belong to another shard.
func (x *execution) Ended(failed bool) {
	x.output.mu.Lock()
	defer x.output.mu.Unlock()
	if x.output.given && (x.output.text != "" || x.run.Attempt > 1 && x.run.Shards == 0) {
		x.outputs.add(series.Output{Key: x.run.Job, Number: x.run.number, Fence: x.run.Fence, Failed: failed, Text: x.output.text})
	}
}

// executions makes the executions of attempts. It is safe for concurrent use.
type executions struct {
	namespace string
	node      string
	logger    *slog.Logger
	registry  *registry
	outputs   *outputs // nil: the store keeps no outputs
	last      atomic.Pointer[tickText]
}

// work returns an execution that calls the job's function with the Run of an attempt.
func (x *executions) work(a *runs.Attempt) runs.Work {
	e := &execution{fn: x.registry.function(a.Job), outputs: x.outputs}
	r := &e.run // filled in place: a second Run would grow the stack of a short run
	r.ID = x.namespace + "/" + a.Job.Name + "@" + x.tickText(a.Tick)
	r.Job, r.Node, r.number, r.Tick = a.Job.Name, x.node, a.Tick, time.UnixMilli(cmp.Or(a.For, a.Tick)).UTC()
	r.Fence, r.Attempt, r.Backfill = a.Lease.Ref.Fence, a.Attempt, a.For != 0
	r.logger, r.lease = x.logger, a.Lease
	if ref := &a.Lease.Ref; ref.Shards > 0 {
		r.ID += "#" + strconv.Itoa(ref.Shard)
		r.Shard, r.Shards, r.Param, r.TickFence = ref.Shard, ref.Shards, a.Param, a.TickFence
	}
	if x.outputs != nil {
		r.output = &e.output
	}
	if a.LastOK != 0 {
		r.Last = time.UnixMilli(a.LastOK).UTC()
	}
	return e
}

// tickText formats a tick. It keeps the last text, because many jobs share an instant.
func (x *executions) tickText(ms int64) string {
	if last := x.last.Load(); last != nil && last.ms == ms {
		return last.text
	}
	t := &tickText{ms, text.Tick(ms)}
	x.last.Store(t)
	return t.text
}

type tickText struct {
	ms   int64
	text string
}
