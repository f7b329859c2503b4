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

// events is the one place from which what happens on a node goes to the log and to the
// Observers. Messages and keys are constant, since programs read them. Loggers and Observers
// are the user's code: each has a queue, and no goroutine that uses events waits for them.
type events struct {
	log       *delivery.Handler // with the node
	observers []*observation
	node      string
	clock     *clock.Clock

	mu        sync.Mutex
	panicked  time.Time            // when the log had a panic of an Observer last
	regressed time.Time            // when the log had a mark that regressed last; zero: never
	fenced    map[string]time.Time // when the log had a fence ahead last
	ahead     map[string]int64     // the marks in the future that were logged
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

// enabled reports whether lines of a level are written.
func (e *events) enabled(level slog.Level) bool {
	return e.log.Enabled(context.Background(), level)
}

// write queues a line. It names no place in the source: a line of the node's is not about
// its code.
func (e *events) write(level slog.Level, message string, attrs ...slog.Attr) {
	if !e.enabled(level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, message, 0)
	line.AddAttrs(attrs...)
	_ = e.log.Handle(context.Background(), line) // it is nil: the line is queued
}

// wanted reports whether there is an Observer, for callers to which an event costs something.
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

// end queues the last event, and delivers lines and events for up to limit. The error says
// how many events were not taken. Lines that were not are counted.
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

// lost returns how many lines of the log and how many events were not taken.
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

// info publishes an event that is an info line without keys.
func (e *events) info(kind EventKind) {
	e.add(Event{Kind: kind})
	e.write(slog.LevelInfo, string(kind))
}

func (e *events) RunStarted(r *runs.Attempt) {
	level := slog.LevelInfo
	if r.Job.Rules.Quiet {
		level = slog.LevelDebug
	}
	log := e.enabled(level)
	if !log && !e.wanted() {
		return // before write, whose frame would grow the stack of a short run
	}
	late := e.clock.Now().Sub(time.UnixMilli(r.Tick))
	e.addRun(r, Event{Kind: EventRunStarted, Late: late})
	if !log {
		return
	}
	e.write(level, "run started", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Fence()),
		slog.Float64("late_ms", float64(late.Microseconds())/1000))
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
	log := e.enabled(level)
	if !log && !e.wanted() {
		return
	}
	took := time.Since(began)
	e.addRun(r, Event{Kind: EventRunFinished, Outcome: outcome, Took: took, Err: f.Text()})
	if !log {
		return
	}
	if f != nil && f.Stack != nil { // kept off the line of the outcome, whose keys are constant
		e.write(slog.LevelError, "run panicked", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
			slog.Int64("fence", r.Lease.Fence()), slog.String("stack", string(f.Stack)))
	}
	e.write(level, "run finished", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Fence()),
		slog.String("outcome", outcome), slog.Float64("took_ms", float64(took.Microseconds())/1000), slog.String("err", f.Text()))
}

// TryFailed logs a try after which there is another. The last one is the run's end.
func (e *events) TryFailed(r *runs.Attempt, try int, f *runs.Failure) {
	e.addRun(r, Event{Kind: EventTryFailed, Err: f.Text()})
	e.write(slog.LevelWarn, "try failed", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
		slog.Int64("fence", r.Lease.Fence()), slog.Int("try", try), slog.String("err", f.Text()))
}

// RenewalLate logs a run whose lease ends soon, because no renewal was answered.
func (e *events) RenewalLate(r *runs.Attempt, left time.Duration) {
	e.addRun(r, Event{Kind: EventRenewalLate, Left: left})
	e.write(slog.LevelWarn, "renewal late", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt), slog.Int64("fence", r.Lease.Fence()),
		slog.Int64("left_ms", left.Milliseconds()))
}

func (e *events) LeaseLost(r *runs.Attempt) {
	e.addRun(r, Event{Kind: EventLeaseLost, Err: errorText(r.Cause())})
	e.write(slog.LevelError, "lease lost", jobKey(r.Job), tick(r.Tick), slog.Int64("fence", r.Lease.Fence()), cause(r))
}

func (e *events) IgnoresContext(r *runs.Attempt) {
	e.addRun(r, Event{Kind: EventIgnoresContext, Err: errorText(r.Cause())})
	e.write(slog.LevelWarn, "run ignores its context", jobKey(r.Job), tick(r.Tick), slog.Int("attempt", r.Attempt),
		slog.Int64("fence", r.Lease.Fence()), cause(r))
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

// NamesWinners reports whether the log has the node that won a tick.
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

// MarkAhead logs, once, a mark in the future of the store's clock: until the clock has come
// there, or the mark was rewound, the job does not run.
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

// FenceAhead logs a job that has a fence far in the future, first and then once a minute:
// the store grants nothing under it, and all else.
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

// regressPause is how long the line about the regressed mark of one job stands for those of
// others: a store that was emptied has lost them all.
const regressPause = 10 * time.Second

// StoreForgot logs that the store has lost what it had decided.
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
		Text: "the server was restarted or replaced: what it had neither written to disk nor replicated is gone",
		Fix:  "if ticks were decided just before, look at them with cronce verify"})
}

func (e *events) SpecsDiffer(j *job.Job, own, other string) {
	e.add(Event{Kind: EventSpecsDiffer, Job: j.Name})
	e.write(slog.LevelWarn, "specs differ", jobKey(j), slog.String("spec", own), slog.String("other", other))
}

// storeUnreachable names what fails, each with the reason in words.
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

// addRun queues an event of an attempt for the Observer.
func (e *events) addRun(r *runs.Attempt, event Event) {
	event.Attempt, event.Fence = r.Attempt, r.Lease.Fence()
	e.addTick(r.Job, r.Tick, event)
}

// addTick queues an event of a tick for the Observer.
func (e *events) addTick(j *job.Job, tick int64, event Event) {
	event.Job, event.Tick = j.Name, time.UnixMilli(tick).UTC()
	e.add(event)
}

// observerPanicked logs that an Observer panicked or ended its goroutine, at most once a
// minute.
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
		what = text.Cut(panictext.Of(v), text.MaxError)
	}
	e.write(slog.LevelError, "observer panicked", slog.String("err", what))
}

func jobKey(j *job.Job) slog.Attr { return slog.String("job", j.Name) }

func tick(ms int64) slog.Attr { return slog.String("tick", text.Tick(ms)) }

// cause is why the context of an attempt ended. It is left out if the context has not.
func cause(r *runs.Attempt) slog.Attr {
	if err := r.Cause(); err != nil {
		return slog.String("cause", errorText(err))
	}
	return slog.Attr{}
}

func errField(err error) slog.Attr { return slog.String("err", errorText(err)) }

// errorText is the text of a store's error, cut; empty if there is none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return text.Cut(err.Error(), text.MaxError)
}
