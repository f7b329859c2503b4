package claims

import (
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// Events are written to the log.
type Events interface {
	Passed(j *job.Job, tick int64, winner string)
	Waiting(j *job.Job, tick int64)
	Skipped(j *job.Job, tick int64, reason string)
	Missed(j *job.Job, tick int64, count int, reason string)
	MarkAhead(j *job.Job, mark int64)
}

// Report logs what an answer decided. Call it after Answer, without a mutex: of a claim that
// is sent again it reads only what does not change.
func (p *Pending) Report(a *driver.Answer, log Events) {
	for _, s := range a.Settled {
		reportSettled(p.job, s, log)
	}
	if a.From != 0 && p.between > 0 {
		p.reportBetween(a, log)
	}
	switch a.Kind {
	case driver.KindPassed:
		log.Passed(p.job, p.tick, a.Node)
	case driver.KindWaiting:
		log.Waiting(p.job, p.tick)
	case driver.KindSkipped:
		log.Skipped(p.job, p.tick, driver.ReasonOverlap)
	case driver.KindPaused:
		log.Skipped(p.job, p.tick, paused)
	case driver.KindMissed:
		log.Missed(p.job, p.tick, 1, p.late())
	case driver.KindAhead:
		log.MarkAhead(p.job, a.Mark)
	}
}

// The reasons that are only logged.
const (
	paused     = "paused"
	superseded = "superseded"
)

// reportBetween logs the ticks that the claim covered as missed.
func (p *Pending) reportBetween(a *driver.Answer, log Events) {
	last := p.spec().PrevMilli(p.tick - 1)
	count := min(p.between, p.spec().Count(a.From, p.tick-1, countLimit)) // the mark may have moved since it was counted
	switch {
	case count == 0:
	case a.Kind == driver.KindPaused:
		log.Skipped(p.job, last, paused)
	case p.former != nil:
		log.Missed(p.job, last, count, driver.ReasonRespecified)
	default:
		log.Missed(p.job, last, count, driver.ReasonMisfire)
	}
}

// late is the reason that is recorded when the claim comes too late.
func (p *Pending) late() string {
	if p.former != nil {
		return driver.ReasonRespecified
	}
	return p.job.Rules.Late()
}

func reportSettled(j *job.Job, s driver.Settled, log Events) {
	switch s.Verdict {
	case driver.VerdictLost:
		log.Missed(j, s.Number, 1, driver.ReasonLost)
	case driver.VerdictMissed:
		log.Missed(j, s.Number, 1, driver.ReasonDeadline)
	case driver.VerdictPaused:
		log.Skipped(j, s.Number, paused)
	case driver.VerdictSuperseded:
		log.Skipped(j, s.Number, superseded)
	}
}

// Report logs which ticks of a share other nodes have.
func (s *Share) Report(answers []*driver.Answer, log Events) {
	for i, t := range s.ticks {
		if a := answers[i]; a != nil && !t.look {
			log.Passed(t.job, t.Number, a.Node)
		}
	}
}
