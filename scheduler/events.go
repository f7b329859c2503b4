package scheduler

import (
	"errors"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/lock"
)

// events is the one place where what happens on a node is told: to the log.
// Messages and keys are constant, for those who read them by machine.
type events struct {
	log  *zap.Logger
	node zap.Field
}

func newEvents(log *zap.Logger, node string) events {
	return events{log: log, node: zap.String("node", node)}
}

func (e *events) nodeStarted()  { e.log.Info("node started", e.node) }
func (e *events) nodeDraining() { e.log.Info("node draining", e.node) }
func (e *events) nodeStopped()  { e.log.Info("node stopped", e.node) }

func (e *events) runStarted(r *running) {
	if !e.log.Core().Enabled(zapcore.InfoLevel) {
		return // before Check, whose frame would grow the stack of a short run
	}
	late := r.node.clock.now().Sub(time.UnixMilli(r.tick))
	if c := e.log.Check(zapcore.InfoLevel, "run started"); c != nil {
		c.Write(e.node, job(r.e), tick(r.tick), zap.Int("attempt", r.attempt), zap.Int64("fence", r.lease.Fence()),
			zap.Float64("late_ms", float64(late.Microseconds())/1000))
	}
}

func (e *events) runFinished(r *running, outcome string, began time.Time, err error) {
	level := zapcore.InfoLevel
	switch outcome {
	case lock.OutcomeFailed, lock.OutcomePanic, lock.OutcomeTimeout, lock.OutcomeLost:
		level = zapcore.ErrorLevel
	}
	if !e.log.Core().Enabled(level) {
		return
	}
	took := time.Since(began)
	c := e.log.Check(level, "run finished")
	if c == nil {
		return
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		e.runPanicked(r, p)
	}
	c.Write(e.node, job(r.e), tick(r.tick), zap.Int("attempt", r.attempt), zap.Int64("fence", r.lease.Fence()),
		zap.String("outcome", outcome), zap.Float64("took_ms", float64(took.Microseconds())/1000), errField(err))
}

// runPanicked keeps the stack off the line of the outcome, whose keys are constant.
func (e *events) runPanicked(r *running, p *PanicError) {
	e.log.Error("run panicked", e.node, job(r.e), tick(r.tick), zap.Int("attempt", r.attempt),
		zap.Int64("fence", r.lease.Fence()), zap.ByteString("stack", p.Stack))
}

// tryFailed logs a try after which there is another. The last one is the run's end.
func (e *events) tryFailed(r *running, try int, err error) {
	e.log.Warn("try failed", e.node, job(r.e), tick(r.tick), zap.Int("attempt", r.attempt),
		zap.Int64("fence", r.lease.Fence()), zap.Int("try", try), errField(err))
}

func (e *events) leaseLost(r *running) {
	e.log.Error("lease lost", e.node, job(r.e), tick(r.tick), zap.Int64("fence", r.lease.Fence()), zap.NamedError("cause", r.cause()))
}

func (e *events) ignoresContext(r *running) {
	e.log.Warn("run ignores its context", e.node, job(r.e), tick(r.tick), zap.Int("attempt", r.attempt),
		zap.Int64("fence", r.lease.Fence()), zap.NamedError("cause", r.cause()))
}

func (e *events) passed(j *entry, t int64, winner string) {
	if c := e.log.Check(zapcore.DebugLevel, "tick passed"); c != nil {
		c.Write(e.node, job(j), tick(t), zap.String("winner", winner))
	}
}

func (e *events) unreplicated(j *entry, t int64, short *lock.ReplicasError) {
	e.log.Warn("claim not replicated", e.node, job(j), tick(t), zap.Int("want", short.Want), zap.Int("acked", short.Acked))
}

// tellsPassed reports whether anybody wants to know who has a tick.
func (e *events) tellsPassed() bool { return e.log.Core().Enabled(zapcore.DebugLevel) }

func (e *events) waiting(j *entry, t int64) {
	e.log.Debug("tick waiting", e.node, job(j), tick(t))
}

func (e *events) skipped(j *entry, t int64, reason string) {
	e.log.Info("tick skipped", e.node, job(j), tick(t), zap.String("reason", reason))
}

func (e *events) missed(j *entry, t int64, count int, reason string) {
	e.log.Warn("tick missed", e.node, job(j), tick(t), zap.Int("count", count), zap.String("reason", reason))
}

func (e *events) ahead(j *entry, mark int64) {
	e.log.Error("mark ahead", e.node, job(j), zap.String("mark", formatTick(mark)))
}

func (e *events) storeForgot(j *entry, mark, seen int64) {
	e.log.Error("store forgot", e.node, job(j), zap.String("mark", formatTick(mark)), zap.String("seen", formatTick(seen)))
}

func (e *events) storeRisk(r lock.Risk) {
	e.log.Warn("store risk", e.node, zap.String("topic", r.Topic), zap.String("server", r.Server),
		zap.String("text", r.Text), zap.String("fix", r.Fix))
}

func (e *events) storeReplaced(server string) {
	e.storeRisk(lock.Risk{Topic: "restart", Server: server,
		Text: "the server was restarted or replaced: what it had neither written to disk nor replicated is gone",
		Fix:  "if ticks were decided just before, look at them with cronce verify"})
}

func (e *events) specsDiffer(j *entry, own, other string) {
	e.log.Warn("specs differ", e.node, job(j), zap.String("spec", own), zap.String("other", other))
}

// storeUnreachable names what fails, each with the reason in words.
func (e *events) storeUnreachable(err error, what string) {
	e.log.Warn("store unreachable", e.node, errField(err), zap.String("what", what))
}

func (e *events) jobsNotOpen(count int, jobs string, err error) {
	e.log.Warn("jobs not open", e.node, zap.Int("count", count), zap.String("jobs", jobs), errField(err))
}

func (e *events) jobsOpen() { e.log.Info("jobs open", e.node) }

func (e *events) storeBack() { e.log.Info("store back", e.node) }

func (e *events) clockOffset(d time.Duration) {
	e.log.Warn("clock offset", e.node, zap.Float64("offset_ms", float64(d.Microseconds())/1000))
}

func (e *events) clockUnsteady() {
	e.log.Warn("clock unsteady", e.node, zap.String("text", "readings of the store's clock differ by steps and do not agree: this node keeps the time that it has"))
}

func (e *events) clockStepped(d time.Duration) {
	e.log.Error("clock stepped", e.node, zap.Float64("step_ms", float64(d.Microseconds())/1000))
}

// tell logs what an answer decided.
func (n *Node) tell(a *ask, c *lock.Answer) {
	for _, s := range c.Settled {
		n.tellSettled(a.e, s)
	}
	if c.From != 0 && a.between > 0 {
		n.tellBetween(a, c)
	}
	switch c.Kind {
	case lock.Unknown:
		if short, ok := errors.AsType[*lock.ReplicasError](c.Err); ok {
			n.events.unreplicated(a.e, a.tick, short)
		}
	case lock.Passed:
		n.events.passed(a.e, a.tick, c.Node)
	case lock.Waiting:
		n.events.waiting(a.e, a.tick)
	case lock.Skipped:
		n.events.skipped(a.e, a.tick, lock.ReasonOverlap)
	case lock.Paused:
		n.events.skipped(a.e, a.tick, "paused")
	case lock.Missed:
		_, reason := a.e.rules.startWithin(0)
		n.events.missed(a.e, a.tick, 1, reason)
	case lock.Ahead:
		n.tellAhead(a.e, c.Mark)
	}
}

// tellAhead tells, once, of a mark in the future of the store's clock: until the
// clock has come there, or the mark was rewound, the job does not run.
func (n *Node) tellAhead(e *entry, mark int64) {
	n.mu.Lock()
	known := n.ahead[e] == mark
	n.ahead[e] = mark
	n.mu.Unlock()
	if !known {
		n.events.ahead(e, mark)
	}
}

func (n *Node) tellBetween(a *ask, c *lock.Answer) {
	last := a.e.spec.PrevMilli(a.tick - 1)
	count := min(a.between, a.e.spec.Count(c.From, a.tick-1, countLimit)) // the mark may have moved since it was counted
	switch {
	case count == 0:
	case c.Kind == lock.Paused:
		n.events.skipped(a.e, last, "paused")
	default:
		n.events.missed(a.e, last, count, lock.ReasonMisfire)
	}
}

func (n *Node) tellSettled(e *entry, s lock.Settled) {
	switch s.Verdict {
	case lock.VerdictLost:
		n.events.missed(e, s.Number, 1, lock.ReasonLost)
	case lock.VerdictMissed:
		n.events.missed(e, s.Number, 1, lock.ReasonDeadline)
	case lock.VerdictSuperseded:
		n.events.skipped(e, s.Number, "superseded")
	}
}

func job(e *entry) zap.Field { return zap.String("job", e.name) }

func tick(ms int64) zap.Field { return zap.String("tick", formatTick(ms)) }

func formatTick(ms int64) string { return time.UnixMilli(ms).UTC().Format(tickLayout) }

func errField(err error) zap.Field { return zap.String("err", errorText(err)) }

// errorText is the text of an error, empty if there is none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
