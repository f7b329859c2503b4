package scheduler

import "github.com/cronce/cronce/scheduler/internal/job"

// A round is how far the rota has come in the jobs. In most rounds it leaves out
// jobs of which a tick was decided lately: their answers have just told what there
// is to know, but for what other nodes take the spec to be. So all are read when a
// node has come, when a year begins, since revisions may change with it, and in
// every sixth round.
type round struct {
	at    int // the next one
	rest  int // how many from there on are read in any case
	count int
	year  job.Year
}

const wholeEvery = 6

// whole lets all jobs be read from here on, once around.
func (r *round) whole(jobs int) { r.rest = jobs }

// next returns the number of the next job, and whether it is read in any case.
func (r *round) next(jobs int) (no int, must bool) {
	if r.at >= jobs {
		r.at = 0
		if r.count++; r.count%wholeEvery == 0 {
			r.whole(jobs)
		}
	}
	no, must = r.at, r.rest > 0
	r.at++
	if must {
		r.rest--
	}
	return no, must
}

// turnSize is how many jobs a turn reads. However many there are, and however rarely they
// tick, one of the nodes reads each about every ten minutes: a run that died and that no
// other node knows of waits no longer for its takeover. Nodes begin at different jobs.
func (n *Node) turnSize() int {
	return max(rotaSize, n.entries.Size()/rotaTurns/max(n.members.Count(), 1))
}

// turn takes the jobs that the rota reads now.
func (n *Node) turn(now int64) (es []*entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	jobs, size := n.entries.Size(), n.turnSize()
	if n.round.year.Changed(now) {
		n.round.whole(jobs)
	}
	for range min(rotaScan*size, jobs) {
		no, must := n.round.next(jobs)
		if e := n.entries.At(no); must || !e.decided(now) {
			es = append(es, e)
		}
		if len(es) == size {
			break
		}
	}
	return es
}

// decided reports whether a tick was decided lately.
func (e *entry) decided(now int64) bool {
	return now-rotaEvery.Milliseconds() <= e.mark && e.mark <= now+maxSleep.Milliseconds()
}
