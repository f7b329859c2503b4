package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/delivery"
	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/claims"
	"github.com/cronce/cronce/scheduler/internal/clock"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/runs"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// events is the only path from the events of a node to the log and to the Observers. Messages and
// keys are constant, because programs read them. Loggers and Observers are user code: each has a
// queue, and no goroutine that uses events waits for them.
type events struct {
	log       *delivery.Handler // with the node
	observers []*observation
	node      string
	clock     *clock.Clock

	mu        sync.Mutex
	panicked  time.Time            // when the last panic of an Observer was logged
	regressed time.Time            // when the last regressed mark was logged; zero: never
	fenced    map[string]time.Time // when the last fence ahead was logged, by job
	ahead     map[string]int64     // the marks in the future that were logged, by job
}

func newEvents(log *slog.Logger, to []Observer, node string, c *clock.Clock) *events {
	e := &events{node: node, clock: c, ahead: map[string]int64{}, fenced: map[string]time.Time{}}
	e.log = delivery.NewHandler(log.Handler()).WithAttrs([]slog.Attr{slog.String("node", node)}).(*delivery.Handler)
	e.log.Report()
	for _, o := range to {
		e.observers = append(e.observers, newObservation(o, e.observerPanicked))
	}
	return e
}

// enabled reports whether the log has lines of this level.
func (e *events) enabled(level slog.Level) bool {
	return e.log.Enabled(context.Background(), level)
}

// write queues a line. The line has no source position: it describes the node, not its code.
func (e *events) write(level slog.Level, message string, attrs ...slog.Attr) {
	if !e.enabled(level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, message, 0)
	line.AddAttrs(attrs...)
	_ = e.log.Handle(context.Background(), line) // always nil: Handle only queues the line
}

// wanted reports whether there is an Observer, so that callers can skip events that are costly to
// make.
func (e *events) wanted() bool { return len(e.observers) > 0 }

// add queues an event for each Observer.
func (e *events) add(event Event) {
	if !e.wanted() {
		return
	}
	event.At, event.Node = time.Now(), e.node
	for _, o := range e.observers {
		o.queue.Add(event, 0)
	}
}

// end queues the last event, and delivers lines and events for up to limit. The error names the
// number of events that were not delivered. Lines that were not delivered are counted.
func (e *events) end(limit time.Duration) error {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	last := Event{Kind: EventNodeStopped, At: time.Now(), Node: e.node}
	for _, o := range e.observers {
		o.queue.Close(last)
	}
	e.write(slog.LevelInfo, string(last.Kind))
	var errs []error
	for i, o := range e.observers {
		if left := o.queue.Wait(ctx); left > 0 {
			errs = append(errs, fmt.Errorf("scheduler: observers[%d] did not take the last %d events in %v", i, left, limit))
		}
	}
	e.log.Wait(ctx)
	return errors.Join(errs...)
}

// lost returns the number of log lines and of events that were not delivered.
func (e *events) lost() (lines, events int64) {
	for _, o := range e.observers {
		events += o.queue.Lost()
	}
	return e.log.Lost(), events
}

func (e *events) nodeStarted()  { e.info(EventNodeStarted) }
func (e *events) nodeDraining() { e.info(EventNodeDraining) }

// drainWaits logs the counts and some names of the work that a drain waits for.
func (e *events) drainWaits(u unfinished) {
	e.add(Event{Kind: EventDrainWaits, Count: u.count()})
	e.write(slog.LevelInfo, string(EventDrainWaits), slog.Int("runs", u.runs), slog.String("run_names", health.List(u.namedRuns, u.runs)),
		slog.Int("claims", u.claims), slog.String("claim_names", health.List(u.namedClaims, u.claims)), slog.Int("ends", u.ends))
}

// info publishes an event whose log line has level info and no keys.
func (e *events) info(kind EventKind) {
	e.add(Event{Kind: kind})
	e.write(slog.LevelInfo, string(kind))
}

func (e *events) RunStarted(r *runs.Attempt) {
	level := slog.LevelInfo
	if r.Job.Rules.Quiet {
		level = slog.LevelDebug
	}
	if log := e.enabled(level); log || e.wanted() { // the frame of runStarted would grow the stack of a short run
		e.runStarted(r, level, log)
	}
}

func (e *events) runStarted(r *runs.Attempt, level slog.Level, log bool) {
	late := e.clock.Now().Sub(time.UnixMilli(r.Tick))
	e.addRun(r, Event{Kind: EventRunStarted, Late: late})
	if !log {
		return
	}
	e.write(level, "run started", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Ref.Fence),
		slog.Float64("late_ms", float64(late.Microseconds())/1000), workOf(r), shardOf(r))
}

func (e *events) RunFinished(r *runs.Attempt, outcome string, began time.Time, f *runs.Failure) {
	level := slog.LevelInfo
	switch outcome {
	case series.OutcomeFailed, series.OutcomePanic, series.OutcomeTimeout, series.OutcomeLost:
		level = slog.LevelError
	case series.OutcomeOK:
		if r.Job.Rules.Quiet {
			level = slog.LevelDebug
		}
	}
	if log := e.enabled(level); log || e.wanted() {
		e.runFinished(r, level, log, outcome, time.Since(began), f)
	}
}

func (e *events) runFinished(r *runs.Attempt, level slog.Level, log bool, outcome string, took time.Duration, f *runs.Failure) {
	e.addRun(r, Event{Kind: EventRunFinished, Outcome: outcome, Took: took, Err: f.Text()})
	if !log {
		return
	}
	if f != nil && f.Stack != nil { // not in the outcome's line, whose keys are constant
		e.write(slog.LevelError, "run panicked", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
			slog.Int64("fence", r.Lease.Ref.Fence), slog.String("stack", string(f.Stack)), shardOf(r))
	}
	e.write(level, "run finished", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Ref.Fence),
		slog.String("outcome", outcome), slog.Float64("took_ms", float64(took.Microseconds())/1000), slog.String("err", f.Text()), workOf(r), shardOf(r))
}

// TryFailed logs a failed try that is followed by another one after a wait. The end of the run
// reports the last try.
func (e *events) TryFailed(r *runs.Attempt, try int, f *runs.Failure, wait time.Duration) {
	e.addRun(r, Event{Kind: EventTryFailed, Err: f.Text()})
	e.write(slog.LevelWarn, "try failed", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
		slog.Int64("fence", r.Lease.Ref.Fence), slog.Int("try", try), slog.Int64("wait_ms", wait.Milliseconds()), slog.String("err", f.Text()), shardOf(r))
}

// RenewalLate logs a run whose lease ends soon because no renewal was answered.
func (e *events) RenewalLate(r *runs.Attempt, left time.Duration) {
	e.addRun(r, Event{Kind: EventRenewalLate, Left: left})
	e.write(slog.LevelWarn, "renewal late", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Ref.Fence),
		slog.Int64("left_ms", left.Milliseconds()), shardOf(r))
}

func (e *events) LeaseLost(r *runs.Attempt) {
	e.addRun(r, Event{Kind: EventLeaseLost, Err: errorText(r.Cause())})
	e.write(slog.LevelError, "lease lost", jobKey(r.Job), tick(r.Tick), slog.Int64("fence", r.Lease.Ref.Fence), cause(r), shardOf(r))
}

func (e *events) IgnoresContext(r *runs.Attempt) {
	e.addRun(r, Event{Kind: EventIgnoresContext, Err: errorText(r.Cause())})
	e.write(slog.LevelWarn, "run ignores its context", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
		slog.Int64("fence", r.Lease.Ref.Fence), cause(r), shardOf(r))
}

func (e *events) Passed(j *job.Job, t int64, winner string) {
	if e.NamesWinners() {
		e.write(slog.LevelDebug, "tick passed", jobKey(j), tick(t), slog.String("winner", winner))
	}
}

func (e *events) Unreplicated(s claims.Short) {
	e.addTick(s.Job, s.Tick, Event{Kind: EventUnreplicated})
	e.write(slog.LevelWarn, "claim not replicated", jobKey(s.Job), tick(s.Tick), slog.Int("want", s.Want), slog.Int("acked", s.Acked))
}

// NamesWinners reports whether the log names the node that won a tick.
func (e *events) NamesWinners() bool { return e.enabled(slog.LevelDebug) }

func (e *events) Waiting(j *job.Job, t int64) {
	e.write(slog.LevelDebug, "tick waiting", jobKey(j), tick(t))
}

func (e *events) Skipped(j *job.Job, t int64, reason string) {
	e.addTick(j, t, Event{Kind: EventTickSkipped, Reason: reason})
	e.write(slog.LevelInfo, "tick skipped", jobKey(j), tick(t), slog.String("reason", reason))
}

func (e *events) Missed(j *job.Job, t int64, count int, reason string) {
	e.addTick(j, t, Event{Kind: EventTickMissed, Count: count, Reason: reason})
	e.write(slog.LevelWarn, "tick missed", jobKey(j), tick(t), slog.Int("count", count), slog.String("reason", reason))
}

// TickFinished logs the end of a tick that was divided into shards, on the node that made it.
func (e *events) TickFinished(j *job.Job, s *series.Sum) {
	e.addTick(j, s.Number, Event{Kind: EventTickFinished, Outcome: s.Outcome, Shards: s.Shards, Took: s.Took, Fence: s.Fence})
	level := slog.LevelInfo
	if s.Outcome != series.OutcomeOK {
		level = slog.LevelError
	}
	e.write(level, "tick finished", jobKey(j), tick(s.Number), slog.String("outcome", s.Outcome), slog.Int("shards", s.Shards), slog.Int("ok", s.OK),
		slog.Int("failed", s.Failed), slog.Int("lost", s.Lost), slog.Int("missed", s.Missed), slog.Int("cancelled", s.Cancelled), slog.Int64("took_ms", s.Took.Milliseconds()))
}

// MarkAhead logs, once, a mark that is ahead of the store's clock. The job does not run until the
// clock reaches the mark or the mark is rewound.
func (e *events) MarkAhead(j *job.Job, mark int64) {
	e.mu.Lock()
	known := e.ahead[j.Name] == mark
	e.ahead[j.Name] = mark
	e.mu.Unlock()
	if known {
		return
	}
	e.addTick(j, mark, Event{Kind: EventMarkAhead})
	e.write(slog.LevelError, "mark ahead", jobKey(j), slog.String("mark", text.Tick(mark)))
}

// FenceAhead logs a job whose fence is far in the future, at first and then once a minute. The
// store grants nothing under this fence, and grants every other key.
func (e *events) FenceAhead(f claims.Fenced) {
	now := time.Now()
	e.mu.Lock()
	due := f.First || now.Sub(e.fenced[f.Job.Name]) >= health.Reminder
	if due {
		e.fenced[f.Job.Name] = now
	}
	e.mu.Unlock()
	if due {
		e.add(Event{Kind: EventFenceAhead, Job: f.Job.Name})
		e.write(slog.LevelError, "fence ahead", jobKey(f.Job), slog.String("text", "a fence of the job lies more than a day ahead of the store's clock: nothing is granted until it is removed"))
	}
}

// regressPause is how long one line about a regressed mark replaces the lines of other jobs: a
// store that was emptied has lost the marks of all jobs.
const regressPause = 10 * time.Second

// StoreForgot logs that the store has lost decisions that it had recorded.
func (e *events) StoreForgot(r claims.Regressed) {
	now := time.Now()
	e.mu.Lock()
	due := e.regressed.IsZero() || now.Sub(e.regressed) > regressPause
	if due {
		e.regressed = now
	}
	e.mu.Unlock()
	if due {
		e.add(Event{Kind: EventStoreForgot, Job: r.Job.Name})
		e.write(slog.LevelError, "store forgot", jobKey(r.Job), slog.String("mark", text.Tick(r.Mark)), slog.String("seen", text.Tick(r.Seen)))
	}
}

func (e *events) storeRisk(r driver.Risk) {
	e.add(Event{Kind: EventStoreRisk, Reason: r.Topic, Err: text.Cut(r.Text, text.MaxError)})
	e.write(slog.LevelWarn, "store risk", slog.String("topic", r.Topic), slog.String("server", r.Server),
		slog.String("text", r.Text), slog.String("fix", r.Fix))
}

func (e *events) StoreReplaced(server string) {
	e.storeRisk(driver.Risk{Topic: "restart", Server: server,
		Text: "the server was restarted or replaced: data that it had neither written to disk nor replicated is lost",
		Fix:  "if ticks were decided just before, check them with cronce verify"})
}

func (e *events) SpecsDiffer(j *job.Job, own, other string) {
	e.add(Event{Kind: EventSpecsDiffer, Job: j.Name})
	e.write(slog.LevelWarn, "specs differ", jobKey(j), slog.String("spec", own), slog.String("other", other))
}

// storeUnreachable logs the parts of the store that fail. The text lists each with its reason.
func (e *events) storeUnreachable(err error, what string) {
	e.add(Event{Kind: EventStoreUnreachable, Err: errorText(err)})
	e.write(slog.LevelWarn, "store unreachable", errField(err), slog.String("what", what))
}

func (e *events) JobsNotOpen(count int, jobs string, err error) {
	e.add(Event{Kind: EventJobsNotOpen, Count: count, Err: errorText(err)})
	e.write(slog.LevelWarn, "jobs not open", slog.Int("count", count), slog.String("jobs", jobs), errField(err))
}

func (e *events) JobRetired(name, reason string) {
	e.add(Event{Kind: EventJobRetired, Job: name, Reason: reason})
	e.write(slog.LevelInfo, string(EventJobRetired), slog.String("job", name), slog.String("reason", reason))
}

func (e *events) JobsOpen() { e.info(EventJobsOpen) }

func (e *events) storeBack() { e.info(EventStoreBack) }

func (e *events) ClockOffset(d time.Duration) {
	e.add(Event{Kind: EventClockOffset, Offset: d})
	e.write(slog.LevelWarn, "clock offset", slog.Float64("offset_ms", float64(d.Microseconds())/1000))
}

func (e *events) ClockUnsteady() {
	e.add(Event{Kind: EventClockUnsteady})
	e.write(slog.LevelWarn, "clock unsteady", slog.String("text", "readings of the store's clock differ by steps and do not agree: this node keeps the time that it has"))
}

func (e *events) ClockStepped(d time.Duration) {
	e.add(Event{Kind: EventClockStepped, Offset: d})
	e.write(slog.LevelError, "clock stepped", slog.Float64("step_ms", float64(d.Microseconds())/1000))
}

// addRun queues an event of an attempt for the Observers.
func (e *events) addRun(r *runs.Attempt, event Event) {
	event.Attempt, event.Fence = r.Attempt, r.Lease.Ref.Fence
	if r.For != 0 {
		event.For = time.UnixMilli(r.For).UTC()
	}
	event.Shard, event.Shards = r.Lease.Ref.Shard, r.Lease.Ref.Shards
	e.addTick(r.Job, r.Tick, event)
}

// addTick queues an event of a tick for the Observers.
func (e *events) addTick(j *job.Job, tick int64, event Event) {
	event.Job, event.Tick = j.Name, time.UnixMilli(tick).UTC()
	e.add(event)
}

// observerPanicked logs, at most once a minute, that an Observer panicked or ended its goroutine.
func (e *events) observerPanicked(v any) {
	now := time.Now()
	e.mu.Lock()
	due := e.panicked.IsZero() || now.Sub(e.panicked) >= health.Reminder
	if due {
		e.panicked = now
	}
	e.mu.Unlock()
	if !due {
		return
	}
	what := "it ended its goroutine"
	if v != nil {
		what = text.Error(panictext.Of(v))
	}
	e.write(slog.LevelError, "observer panicked", slog.String("err", what))
}

func jobKey(j *job.Job) slog.Attr { return slog.String("job", j.Name) }

func tick(ms int64) slog.Attr { return slog.String("tick", text.Tick(ms)) }

// workOf names the tick whose work a run of a backfill does; an empty attribute for any other run.
func workOf(r *runs.Attempt) slog.Attr {
	if r.For == 0 {
		return slog.Attr{}
	}
	return slog.String("for", text.Tick(r.For))
}

// shardOf names the shard that an attempt is; an empty attribute for any other attempt.
func shardOf(r *runs.Attempt) slog.Attr { return shardKey(r.Lease.Ref.Shard, r.Lease.Ref.Shards) }

func shardKey(shard, shards int) slog.Attr {
	if shards == 0 {
		return slog.Attr{}
	}
	return slog.Int("shard", shard)
}

// cause returns the cause with which the context of an attempt ended, or an empty attribute if it
// has not.
func cause(r *runs.Attempt) slog.Attr {
	if err := r.Cause(); err != nil {
		return slog.String("cause", errorText(err))
	}
	return slog.Attr{}
}

func errField(err error) slog.Attr { return slog.String("err", errorText(err)) }

// errorText returns the text of an error of the store, cut to its bound, or "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return text.Cut(err.Error(), text.MaxError)
}
