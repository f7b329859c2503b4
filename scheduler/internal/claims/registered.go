package claims

import "github.com/cronce/cronce/scheduler/internal/job"

// Add adds a job. Its number must be the next free number.
func (c *Claims) Add(j *job.Job, now int64) {
	e := c.entries.Add()
	e.Job = j
	e.Start(now)
	c.table.Push(j.No, e.Due())
}

// Change removes jobs, and puts each replacement in the place of the job with its number, which may
// have been removed before. It costs O(n) of all jobs.
func (c *Claims) Change(removed, replaced []*job.Job, now int64) {
	changed := map[int]bool{}
	for _, j := range removed {
		changed[int(j.No)] = true
		c.remove(c.entry(j), now)
	}
	for _, j := range replaced {
		changed[int(j.No)] = true
		c.replace(c.entry(j), j, now)
	}
	c.table.Remove(func(no int) bool { return changed[no] })
	for _, j := range replaced {
		c.table.Push(j.No, c.entry(j).Due())
	}
	for r := range c.probes {
		if r.e.removed {
			c.cancel(r)
		}
	}
}

// remove gives up all claims of a job except those that may hold a lease, as Drain does for all
// jobs. A grant to one of these is given back.
func (c *Claims) remove(e *entry, now int64) {
	e.removed, e.open = true, false
	c.giveUp(e, now)
	c.forgetChange(e, now)
	c.resume(e, now)
	c.unpark(e, now)
	delete(c.fenced, e)
	delete(c.regressed, e)
}

// replace puts a job in the place of another one. Runs, and claims that were sent, keep the spec
// and the rules that they were made with. If the spec differs, the job is opened as if the node had
// started with it.
func (c *Claims) replace(e *entry, j *job.Job, now int64) {
	c.giveUp(e, now)
	if e.removed || e.Spec != j.Spec {
		c.forgetChange(e, now)
		e.open, e.since = false, 0
	}
	e.Job, e.removed = j, false
	e.Start(now)
}

// giveUp makes the claims of the latest ticks stale. If they leave ticks undecided, the node claims
// these anew when the job is opened.
func (c *Claims) giveUp(e *entry, now int64) {
	for _, p := range []*Pending{e.latest, e.chain} {
		if p != nil {
			c.supersede(p, now)
		}
	}
	e.latest, e.chain = nil, nil
}

// forgetChange forgets the former specs of a job. The next opening returns those that still matter.
func (c *Claims) forgetChange(e *entry, now int64) {
	if ch := c.changes[e]; ch != nil && ch.claim != nil {
		c.supersede(ch.claim, now)
	}
	delete(c.changes, e)
}

// leaves reports whether the node makes no more claims of a job, because it drains or because the
// job was removed.
func (c *Claims) leaves(e *entry) bool { return c.draining || e.removed }

// Jobs returns the number of job numbers in use. Removed jobs keep their numbers.
func (c *Claims) Jobs() int { return c.entries.Size() }

// A Known has the facts that the claims know about a job.
type Known struct {
	*job.Job       // nil: it was removed
	Mark     int64 // the highest known mark; 0: none
	Next     int64 // the next tick; 0: none
	Open     bool  // the job is open in the store
}

// Job returns a job by its number.
func (c *Claims) Job(no int) Known {
	e := c.entries.At(no)
	if e.removed {
		return Known{}
	}
	return Known{e.Job, e.mark, e.Next(), e.open}
}
