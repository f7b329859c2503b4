package reconcile

import "github.com/cronce/cronce/scheduler/internal/job"

// A cursor is the position of the turns in the list of jobs. Most turns pass over jobs with a
// recently decided tick: the answers to claims have shown their state, except for the specs of
// other nodes. Therefore all jobs are read when a node has joined, when a year begins, since
// revisions may change with it, and in every sixth round.
type cursor struct {
	at    int // the next job
	rest  int // number of jobs from there on that are read in any case
	round int
	year  job.Year
}

const readAllEvery = 6 // rounds

// readAll makes the next turns read all jobs once, from here on.
func (c *cursor) readAll(jobs int) { c.rest = jobs }

// turn returns the jobs to read in one turn.
func (c *cursor) turn(d Dispatcher, nodes int, now int64) (all []*job.Job) {
	jobs := d.Jobs()
	size := turnSize(jobs, nodes)
	if c.year.Changed(now) {
		c.readAll(jobs)
	}
	for range min(scanFactor*size, jobs) {
		no, must := c.next(jobs)
		if known := d.Job(no); known.Job != nil && (must || !decided(known.Mark, now)) {
			all = append(all, known.Job)
		}
		if len(all) == size {
			break
		}
	}
	return all
}

// next returns the number of the next job, and whether it must be read.
func (c *cursor) next(jobs int) (no int, must bool) {
	if c.at >= jobs {
		c.at = 0
		if c.round++; c.round%readAllEvery == 0 {
			c.readAll(jobs)
		}
	}
	no, must = c.at, c.rest > 0
	c.at++
	if must {
		c.rest--
	}
	return no, must
}

// turnSize returns the number of jobs that a turn reads. However many jobs there are, and however
// rarely they tick, one of the nodes reads each about every ten minutes. This bounds how long a
// dead run that no other node knows of waits for its takeover. Nodes begin at different jobs.
func turnSize(jobs, nodes int) int {
	return max(turnLeast, jobs/turnsPerRun/max(min(nodes, turnReaders), 1))
}

// decided reports whether a tick was decided recently.
func decided(mark, now int64) bool {
	return now-turnEvery.Milliseconds() <= mark && mark <= now+markAhead.Milliseconds()
}
