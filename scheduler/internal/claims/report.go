package claims

import (
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// Events queues events for the log.
type Events interface {
	Passed(j *job.Job, tick int64, winner string)
	Waiting(j *job.Job, tick int64)
	Skipped(j *job.Job, tick int64, reason string)
	Missed(j *job.Job, tick int64, count int, reason string)
	TickFinished(j *job.Job, s *series.Sum)
	MarkAhead(j *job.Job, mark int64)
}

// Report logs the ticks that an answer decided. Call it after Answer, without a mutex. If the claim
// is being sent again, Report reads only fields that do not change.
func (p *Pending) Report(a *series.Answer, log Events) {
	for _, s := range a.Settled {
		reportSettled(p.job, s, log)
	}
	if a.Sum != nil {
		log.TickFinished(p.job, a.Sum)
	}
	if a.From != 0 && p.between > 0 {
		p.reportBetween(a, log)
	}
	switch a.Kind {
	case series.KindPassed:
		log.Passed(p.job, p.tick, a.Node)
	case series.KindWaiting:
		log.Waiting(p.job, p.tick)
	case series.KindSkipped:
		log.Skipped(p.job, p.tick, series.ReasonOverlap)
	case series.KindOperator:
		log.Skipped(p.job, p.tick, series.ReasonOperator)
	case series.KindPaused:
		log.Skipped(p.job, p.tick, paused)
	case series.KindMissed:
		log.Missed(p.job, p.tick, 1, p.late())
	case series.KindAhead:
		log.MarkAhead(p.job, a.Mark)
	}
}

// Reasons that are only logged.
const (
	paused     = "paused"
	superseded = "superseded"
)

// reportBetween logs the ticks that the claim covered as missed.
func (p *Pending) reportBetween(a *series.Answer, log Events) {
	last := p.spec().PrevMilli(p.tick - 1)
	count := min(p.between, p.spec().Count(a.From, p.tick-1, countLimit)) // the mark may have moved since it was counted
	switch {
	case count == 0:
	case a.Kind == series.KindPaused:
		log.Skipped(p.job, last, paused)
	case p.former != nil:
		log.Missed(p.job, last, count, series.ReasonRespecified)
	default:
		log.Missed(p.job, last, count, series.ReasonMisfire)
	}
}

// late returns the reason that is recorded if the claim comes too late.
func (p *Pending) late() string {
	if p.former != nil {
		return series.ReasonRespecified
	}
	return p.job.Rules.Late()
}

func reportSettled(j *job.Job, s series.Settled, log Events) {
	switch s.Verdict {
	case series.VerdictLost:
		log.Missed(j, s.Number, 1, series.ReasonLost)
	case series.VerdictMissed:
		log.Missed(j, s.Number, 1, series.ReasonDeadline)
	case series.VerdictPaused:
		log.Skipped(j, s.Number, paused)
	case series.VerdictSuperseded:
		log.Skipped(j, s.Number, superseded)
	}
}

// Report logs the ticks of a share that other nodes have.
func (s *Share) Report(answers []*series.Answer, log Events) {
	for i, t := range s.ticks {
		if a := answers[i]; a != nil && !t.runPeek {
			log.Passed(t.job, t.Number, a.Node)
		}
	}
}
