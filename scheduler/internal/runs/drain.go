package runs

import (
	"time"
)

// Drain cancels the contexts of attempts that only wait for their next try, now and later. From now
// on ends are sent at once, and Config.Changed is raised when Unfinished may have changed. It is
// called once.
func (r *Runs) Drain() {
	close(r.draining)
	r.ends.flush()
}

// Unfinished counts the attempts whose functions have not returned, and returns up to most of their
// names as job@tick. The result ends counts the other attempts, whose ends the store has not
// answered.
func (r *Runs) Unfinished(most int) (names []string, alive, ends int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.alive[:min(len(r.alive), most)] {
		names = append(names, a.String())
	}
	return names, len(r.alive), max(int(r.unanswered.Load())-len(r.alive), 0)
}

// Cancel cancels the contexts of all attempts with ErrDrained. No attempt begins from now on.
func (r *Runs) Cancel() {
	r.mu.Lock()
	r.over = true
	all := append([]*Attempt(nil), r.alive...)
	r.mu.Unlock()
	for _, a := range all {
		a.Lease.Cancel(ErrDrained)
	}
}

// Counts returns the number of attempts whose functions have not returned, and the number of these
// that ignore the end of their context.
func (r *Runs) Counts() (alive, ignoring int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.alive {
		if a.named {
			ignoring++
		}
	}
	return len(r.alive), ignoring
}

// Alive returns, by job number, the number of attempts whose functions have not returned.
func (r *Runs) Alive() map[uint32]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[uint32]int{}
	for _, a := range r.alive {
		counts[a.Job.No]++
	}
	return counts
}

// Left returns the names of the attempts whose functions have not returned, as job@tick.
func (r *Runs) Left() (names []string) {
	var unnamed []*Attempt
	r.mu.Lock()
	for _, a := range r.alive {
		names = append(names, a.String())
		if !a.named {
			a.named = true
			unnamed = append(unnamed, a)
		}
	}
	r.mu.Unlock()
	for _, a := range unnamed {
		r.cfg.Events.IgnoresContext(a)
	}
	return names
}

// inspectEvery is the minimum time between two inspections.
const inspectEvery = time.Second

// Inspect examines the attempts, at most once a second. It logs late renewals, lost leases, and
// runs that go on long after their contexts ended. If a newer tick waits for such a run, the run
// loses its lease.
func (r *Runs) Inspect(now time.Time) {
	r.mu.Lock()
	if now.Sub(r.inspected) < inspectEvery {
		r.mu.Unlock()
		return
	}
	r.inspected = now
	var lines []func()
	var abandoned []*Attempt
	for _, a := range r.alive {
		if a.Lease.Context().Err() == nil {
			lines = append(lines, a.inspectRenewal(now)...)
			continue
		}
		due, abandon := a.inspect(now)
		lines = append(lines, due...)
		if abandon {
			abandoned = append(abandoned, a)
		}
	}
	r.mu.Unlock()
	for _, a := range abandoned {
		a.Lease.Abandon(ErrReplaced)
	}
	for _, line := range lines {
		line()
	}
}

// inspectRenewal returns the line about a late renewal, once until a renewal succeeds. A renewal is
// due after the first third of the lease and late in the last third. After the last third, as in a process
// that was stopped, the lease is lost: its context is about to end, and the next inspection says so. The caller
// holds the mutex of the runs.
func (a *Attempt) inspectRenewal(now time.Time) (lines []func()) {
	left := a.Lease.Deadline().Sub(now)
	if left >= a.TTL/3 {
		a.renewalLate = false
	} else if left > 0 && !a.renewalLate {
		a.renewalLate = true
		lines = append(lines, func() { a.runs.cfg.Events.RenewalLate(a, left) })
	}
	return lines
}

// inspect is Inspect for one attempt whose context has ended. The caller holds the mutex of the
// runs.
func (a *Attempt) inspect(now time.Time) (lines []func(), abandon bool) {
	if a.cancelled.IsZero() {
		a.cancelled = now
	}
	if !a.lossLogged && a.lost() {
		a.lossLogged = true
		lines = append(lines, func() { a.runs.cfg.Events.LeaseLost(a) })
	}
	if now.Sub(a.cancelled) < a.runs.cfg.CancelGrace {
		return lines, false
	}
	if !a.named {
		a.named = true
		lines = append(lines, func() { a.runs.cfg.Events.IgnoresContext(a) })
	}
	return lines, a.replaced || a.Lease.Replaced()
}
