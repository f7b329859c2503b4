package claims

import "github.com/cronce/cronce/scheduler/internal/job"

// Add adds a job, whose number must be that of the next.
func (c *Claims) Add(j *job.Job, now int64) {
	e := c.entries.Add()
	e.Job = j
	e.Start(now)
	c.table.Push(j.No, e.Due())
}

// Change removes jobs, and lets each of the others take the place of the job with its number,
// which may have been removed before. It costs O(n) of all jobs.
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

// remove gives up all claims of a job but those that may hold a lease, as Drain does for all
// jobs. What they are granted is given back.
func (c *Claims) remove(e *entry, now int64) {
	e.removed, e.open = true, false
	c.giveUp(e, now)
	c.forgetChange(e, now)
	c.resume(e, now)
	c.unpark(e, now)
	delete(c.fenced, e)
	delete(c.regressed, e)
}

// replace lets a job take the place of another one. Claims that were sent keep the spec and the
// rules with which they were made, and so do runs. With another spec, the job is opened as if
// the node had begun with it.
func (c *Claims) replace(e *entry, j *job.Job, now int64) {
	c.giveUp(e, now)
	if e.removed || e.Spec != j.Spec {
		c.forgetChange(e, now)
		e.open, e.since = false, 0
	}
	e.Job, e.removed = j, false
	e.Start(now)
}

// giveUp makes the claims of the latest ticks stale. What they leave undecided is claimed anew
// when the job was opened.
func (c *Claims) giveUp(e *entry, now int64) {
	for _, p := range []*Pending{e.latest, e.chain} {
		if p != nil {
			c.supersede(p, now)
		}
	}
	e.latest, e.chain = nil, nil
}

// forgetChange forgets the former specs of a job; the next opening returns what is left of them.
func (c *Claims) forgetChange(e *entry, now int64) {
	if ch := c.changes[e]; ch != nil && ch.claim != nil {
		c.supersede(ch.claim, now)
	}
	delete(c.changes, e)
}

// leaves reports whether the node claims nothing more of a job: it drains, or the job was
// removed.
func (c *Claims) leaves(e *entry) bool { return c.draining || e.removed }

// Jobs returns how many numbers of jobs there are.
func (c *Claims) Jobs() int { return c.entries.Size() }

// A Known is what the claims know of a job.
type Known struct {
	*job.Job       // nil: it was removed
	Mark     int64 // the highest that is known; 0: none
	Next     int64 // the next tick; 0: none
	Open     bool  // the store has the job
}

// Job returns a job by its number.
func (c *Claims) Job(no int) Known {
	e := c.entries.At(no)
	if e.removed {
		return Known{}
	}
	return Known{e.Job, e.mark, e.Next(), e.open}
}
