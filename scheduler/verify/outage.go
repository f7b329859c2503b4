package verify

import "time"

// settled is how long after a tick nodes that live have decided it: they claim it at once, or a moment later.
const settled = 2 * time.Second

// Outage returns the latest tick that was due before now, and that no node has decided though none of
// them waits for a run, and the name of the revision that it is a tick of. A tick counts as due once its jitter
// is over. In a pause there is none, and none while a run is alive: its node lives. Nor is there one of a job
// whose ticks crontabs ask for. A zero time: there is none.
func (j *Judge) Outage() (tick time.Time, revision string) {
	p := j.p
	r, s := p.revisions.last, p.options.State
	if r == nil || r.schedule == nil || r.policies.Crontab || s == nil || s.PausedAt(p.now) {
		return tick, ""
	}
	after := max(p.passed, r.First)
	if s.Paused {
		after = max(after, s.Pause.Until)
	}
	ms := r.schedule.PrevMilli(min(p.now-settled.Milliseconds()-r.policies.Jitter.Milliseconds(), r.until))
	if alive, _ := p.alive(); alive || ms <= after || p.waitsBefore(r) > ms {
		return tick, ""
	}
	return time.UnixMilli(ms).UTC(), r.Revision
}
