package runs

import (
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
)

// Refused is called each time that the store refuses the end of the attempt. If the refusals last
// longer than the lease, the job is opened again.
//
// If the store accepts the opening and still refuses the end, it refuses only ends. Then the job
// goes on, and the next probe of the run, or the next claim, settles it. If the store refuses the
// opening too, it counts as unreachable. Then the end is recorded when the store is back, before
// the job's next claim.
func (a *Attempt) Refused() {
	r := a.runs
	now := time.Since(r.born)
	if a.refusedSince == 0 {
		a.refusedSince = now
	}
	if now-a.refusedSince <= a.TTL {
		return
	}
	switch open, lift := a.countRefusal(); {
	case open:
		r.cfg.Open(a.Job)
	case lift:
		a.Ending.Add(-1)
		a.dispatcher.EndRefused(a)
	}
}

// countRefusal reports whether to open the job, and whether the job stops waiting for the end.
func (a *Attempt) countRefusal() (open, lift bool) {
	r := a.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.lifted:
	case !slices.Contains(r.refused[a.Job.No], a):
		r.refused[a.Job.No] = append(r.refused[a.Job.No], a)
		return true, false
	case a.refusals < 2: // the first of these requests may be older than the opening
		if a.opened {
			a.refusals++
		}
	default:
		a.lifted = true
		r.forgetRefused(a)
		return false, true
	}
	return false, false
}

// Opened records that the store has accepted an opening of a job.
func (r *Runs) Opened(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.refused[j.No] {
		a.opened = true
	}
}

// unrefuse releases the job's claims: the store has answered the end, or never will.
func (a *Attempt) unrefuse() {
	if a.refusedSince == 0 {
		a.Ending.Add(-1)
		return
	}
	r := a.runs
	r.mu.Lock()
	defer r.mu.Unlock()
	if !a.lifted {
		a.Ending.Add(-1)
	}
	r.forgetRefused(a)
}

// forgetRefused forgets an attempt whose end was refused. The caller holds the mutex.
func (r *Runs) forgetRefused(a *Attempt) {
	r.refused[a.Job.No] = slices.DeleteFunc(r.refused[a.Job.No], func(other *Attempt) bool { return other == a })
	if len(r.refused[a.Job.No]) == 0 {
		delete(r.refused, a.Job.No)
	}
}
