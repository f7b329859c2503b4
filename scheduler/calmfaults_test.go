package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

const (
	unexcused = 70 * time.Second // after so long without a fault nothing before excuses a node
	foundOver = 25 * time.Second // the longest lease is found over in that time, and what a drained node holds is returned
)

// faultInCalm causes one fault when all nodes have reached the store for so long that no fault before it excuses what follows.
func (s *simulation) faultInCalm() {
	for _, n := range s.alive() {
		s.calm(n)
	}
	s.pass(unexcused)
	switch s.n(4) {
	case 0:
		s.drainInDoubt()
	case 1:
		s.cancelRunning()
	default:
		s.bereave()
	}
	s.pass(foundOver)
}

// drainInDoubt drains a node that has had no replies to its claims for a while. It gets them again soon after that.
func (s *simulation) drainInDoubt() {
	all := s.alive()
	n := all[s.n(len(all))]
	s.note("drain %s, which has no replies to its claims", n.ID())
	s.fail(n)
	f := fault{lost: lostReply, reset: s.n(2) == 0}
	n.wire.spoil(func(op string) fault {
		if op == "claim" {
			return f
		}
		return fault{}
	})
	s.pass(s.long(time.Minute))
	n.stop()
	s.startWith(s.release...)
	s.pass(s.long(3 * time.Second))
	n.wire.spoil(nil)
}

// cancelRunning cancels a tick that runs.
func (s *simulation) cancelRunning() {
	r := s.anyRunning()
	if r == nil {
		return
	}
	s.changes++
	state := s.store.ReadSeries(context.Background(), []string{r.Job})[0]
	s.request(&state, ops.Request{Control: series.Control{
		Key: r.Job, Action: series.ActionCancel, Number: r.number(), Op: fmt.Sprint("op", s.changes), Who: "operator", Reason: "as drawn",
	}})
}

// bereave kills the node of a run, of a large fleet sometimes together with half of the others.
func (s *simulation) bereave() {
	r := s.anyRunning()
	if r == nil {
		return
	}
	dead := []*node{r.node}
	if s.large && s.n(2) == 0 {
		others := slices.DeleteFunc(s.alive(), func(n *node) bool { return n == r.node })
		dead = append(dead, others[:len(others)/2]...)
	}
	s.note("kill %s, which runs %s, and %d others", r.node.ID(), r.ID, len(dead)-1)
	s.fail(dead...)
	for _, n := range dead {
		n.kill()
	}
	s.pass(foundOver)
	for range dead {
		s.startWith(s.release...)
	}
}

// anyRunning draws a run that goes on, and waits a while for one; nil: there is none.
func (s *simulation) anyRunning() *run {
	for range 30 {
		if r := s.running(); r != nil {
			return r
		}
		s.pass(time.Second)
	}
	return nil
}

// running draws a run that goes on; nil: there is none.
func (s *simulation) running() *run {
	alive := s.alive()
	all := slices.DeleteFunc(s.ranAny(), func(r *run) bool { return !r.over.IsZero() || !slices.Contains(alive, r.node) })
	if len(all) == 0 {
		return nil
	}
	return all[s.n(len(all))]
}
