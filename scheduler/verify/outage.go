package verify

import "time"

// settled is the time after a tick within which live nodes have decided it: they claim it at once
// or a moment later.
const settled = 2 * time.Second

// Outage returns the latest tick that was due before now and is undecided although it does not wait
// for a run, and the name of its revision. A tick counts as due once its jitter is over. Outage
// returns the zero time if there is no such tick: in a pause, while a run is alive, because then its
// node is alive too, and for a job whose ticks commands in crontabs claim.
func (j *Judge) Outage() (tick time.Time, revision string) {
	p := j.p
	r, s := p.revisions.last, p.options.State
	if r == nil || r.policies.Crontab || s == nil || s.PausedAt(p.now) {
		return tick, ""
	}
	after := max(p.passed, r.First, s.Pause.Until)
	ms := r.schedule.PrevMilli(min(p.now-settled.Milliseconds()-r.policies.Jitter.Milliseconds(), r.until))
	if alive, _ := p.alive(); alive || ms <= after || p.waitsBefore(r) > ms {
		return tick, ""
	}
	return time.UnixMilli(ms).UTC(), r.Revision
}
