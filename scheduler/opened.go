package scheduler

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/reconcile"
)

// Jobs returns how many jobs there are.
func (d dispatcher) Jobs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entries.Size()
}

// Job returns a job by its number, and the highest mark that is known of it.
func (d dispatcher) Job(no int) (j *job.Job, mark int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.At(no)
	return e.Job, e.mark
}

// Draining reports whether the node claims nothing more.
func (d dispatcher) Draining() bool { return d.draining.Load() }

// Opened takes what the store has of jobs.
func (d dispatcher) Opened(all []reconcile.Opened, slack time.Duration) {
	d.mu.Lock()
	defer d.unlock()
	now := d.clock.Ms()
	for _, o := range all {
		e := d.entries.At(int(o.Job.No))
		if o.Series.Mark < o.Sent {
			d.forgot(e, o.Series.Mark)
		}
		d.opened(e, o.Series, now, slack)
	}
	d.arm()
}

// opened takes the state of a job: looks at runs that are over or will be, and
// asks for the latest tick if nobody has.
func (n *Node) opened(e *entry, s *driver.Series, now int64, slack time.Duration) {
	e.mark, e.open = max(e.mark, s.Mark), true
	if e.since == 0 {
		e.since = s.Since // of this process's spec; its revision may change with the year
	}
	if n.draining.Load() {
		return // another node looks; a look planned now would keep the drain waiting for it
	}
	for i := range s.Runs {
		n.found(e, &s.Runs[i], s, now)
	}
	if e.Last() > max(e.mark, e.since) && e.latest == nil && e.link == nil && now-e.Last() >= slack.Milliseconds() {
		a := &ask{e: e, tick: e.Last(), after: e.Spec.PrevMilli(e.Last() - 1)}
		e.latest = a
		n.agenda.add(now, a)
	}
}

// shift moves what is planned along with a step of the clock: the pauses that it
// stands for stay as long as they were.
func (n *Node) shift(by time.Duration) {
	step := by.Milliseconds()
	n.mu.Lock()
	n.agenda = n.agenda.shifted(step)
	n.shelf.shift(step)
	for w, p := range n.watches {
		p.at += step
		n.watches[w] = p
	}
	n.arm()
	n.mu.Unlock()
}

// found plans a look at a run that the store has: when its lease is over, or now
// if it was given back.
func (n *Node) found(e *entry, r *driver.Run, s *driver.Series, now int64) {
	until := int64(0)
	for i := range s.Runs {
		if o := &s.Runs[i]; o.State == driver.RunOpen && (o == r || r.State == driver.RunWaiting) {
			until = max(until, o.Until)
		}
	}
	a := driver.Answer{Number: r.Number, Node: driver.NodeOf(r.Owner), Left: time.Duration(max(0, until-s.Now)) * time.Millisecond}
	n.look(watched{e, r.Number}, r.Fence, n.lookAt(e, &a, now))
}
