package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/scheduler"
)

// suffer draws a trouble that storms leave out.
func (s *simulation) suffer() {
	switch limited := s.limited() != nil; {
	case s.n(3) == 0:
		s.faultInCalm()
	case s.large && s.n(2) == 0:
		s.halve()
	case limited && s.n(2) == 0:
		s.refusePlaces()
	case s.n(2) == 0:
		s.leaveLate()
	case s.n(2) == 0:
		s.failInPart()
	default:
		s.replaceAll()
	}
}

// waitAlways lets a tick of a job wait all the time: each run takes longer than the time between two ticks, and the latest tick waits for its end.
func (s *simulation) waitAlways() {
	j := &s.jobs[3]
	period := time.Duration(5+s.n(25)) * time.Second
	j.Spec, j.Jitter, j.Timeout, j.Misfire, j.Func = fmt.Sprintf("@every %v", period), 0, 0, j.Misfire&scheduler.MisfireSkip, takes(period+s.long(period))
	j.Takeover, j.Interrupted, j.Overlap = scheduler.TakeoverRerun, scheduler.InterruptedRerun, scheduler.OverlapQueue
	if s.n(3) == 0 {
		j.Overlap = scheduler.OverlapReplace
	}
}

// failInPart lets nodes read nothing about some jobs for a while, or get no answer from a partition, while claims of others that are sent together with
// those are answered. A node that could use the store before can still use it if each partition answers.
func (s *simulation) failInPart() {
	all := s.alive()
	some := all[:1+s.n(len(all))]
	s.fail(some...)
	if s.partitions > 1 && s.n(2) == 0 {
		silent := s.n(s.partitions)
		s.note("partition %d of %d is silent for %d nodes", silent, s.partitions, len(some))
		for _, n := range some {
			n.wire.silence(silent)
		}
		s.pass(s.long(90 * time.Second))
	} else {
		s.failReads(some)
	}
	for _, n := range some {
		n.wire.silence()
		n.wire.spoilKeys()
	}
	s.recover(some...)
}

// failReads lets nodes read nothing about some jobs for a while.
func (s *simulation) failReads(some []*node) {
	var keys []string
	for _, j := range s.jobs {
		if s.n(3) == 0 {
			keys = append(keys, j.Name)
		}
	}
	well := map[*node]bool{}
	for _, n := range some {
		well[n] = n.Ready() == nil && n.wire.clear()
		n.wire.spoilKeys(keys...)
	}
	s.note("%d nodes cannot read %q", len(some), keys)
	s.pass(s.long(90 * time.Second))
	for _, n := range some {
		if err := n.Ready(); err != nil && well[n] && !s.large {
			s.t.Errorf("%s is not ready because it cannot read %q: %v", n.ID(), keys, err)
		}
	}
}

// limited returns a job with a limit; nil: there is none.
func (s *simulation) limited() *scheduler.Job {
	i := slices.IndexFunc(s.jobs, func(j scheduler.Job) bool { return j.Limit.Of > 0 })
	if i < 0 {
		return nil
	}
	return &s.jobs[i]
}

// respec gives about half of the jobs of the release another spec.
func (s *simulation) respec() {
	s.release = slices.Clone(s.release)
	for i := range s.release {
		if j := &s.release[i]; j.Name != "once" && s.n(2) == 0 {
			j.Spec = s.spec(j)
			s.note("release: %s %s", j.Name, j.Spec)
		}
	}
}

// replaceAll ends all nodes at about the same time, and starts as many after a while: mostly with specs that none of them had, and
// sometimes soon after a deploy.
func (s *simulation) replaceAll() {
	if s.n(2) == 0 {
		s.respec()
		s.deploy()
	}
	if s.n(4) > 0 {
		s.respec()
	}
	all, away := s.alive(), s.long(4*time.Minute)
	s.note("all nodes end, for %v", away)
	s.fail(all...)
	for _, n := range all {
		if s.n(3) == 0 {
			n.kill()
		} else {
			n.stop()
		}
		s.pass(s.long(time.Second))
	}
	s.pass(away)
	for range all {
		s.startWith(s.release...)
	}
}

// halve ends half of a large fleet at once, with nodes that watch the ticks of others, and starts as many after a while.
func (s *simulation) halve() {
	all := s.alive()
	half := all[len(all)/2:]
	s.note("%d of %d nodes end", len(half), len(all))
	s.fail(half...)
	for _, n := range half {
		n.kill()
	}
	s.pass(s.long(time.Minute))
	for range half {
		s.startWith(s.release...)
	}
}

// A brisk job has ticks that become due shortly after each other.
var brisk = scheduler.Job{Name: "brisk", Spec: "@every 1s", Jitter: 900 * time.Millisecond, Overlap: scheduler.OverlapAllow, Func: nothing}

// strand ends most nodes of a large fleet at once, with those that watch the ticks of others. The few that are left, for which the list has many
// dead nodes, still start each tick of the brisk job. Then as many nodes start again.
func (s *simulation) strand() {
	s.pass(30 * time.Second) // until each node has read the list
	peeks, all := map[*node]int64{}, s.alive()
	for _, n := range all {
		peeks[n] = -n.peeks.Load()
	}
	s.pass(10 * time.Second)
	for _, n := range all {
		peeks[n] += n.peeks.Load()
	}
	slices.SortStableFunc(all, func(a, b *node) int { return cmp.Compare(peeks[a], peeks[b]) })
	s.fail(all[3:]...)
	for _, n := range all[3:] {
		n.kill()
	}
	s.note("%d nodes end", len(all)-3)
	c := &calm{simulation: s}
	c.from, c.to = time.Now().Add(time.Second), time.Now().Add(15*time.Second)
	s.pass(time.Until(c.to))
	for _, t := range c.ticks(&brisk, c.from) {
		due := c.due(&brisk, t)
		w := window{due.Add(-late / 2), due.Add(2 * late)}
		if w.to.Before(c.to) && c.begun(&brisk, t, w.to) == 0 && !c.hindered(&brisk, t, w) {
			s.t.Errorf("%s: %v, due at %v, had not begun at %v, and only three nodes live", brisk.Name, at(t), due.UTC(), w.to.UTC())
		}
	}
	for range all[3:] {
		s.start()
	}
}

const (
	leaving = 3 * time.Second  // for so long the store gets no request to leave
	left    = 16 * time.Second // then a node that drains has repeated that request
)

// leaveLate drains a node while its requests to leave the list are lost. Soon after that it is not on the list, though its runs go on.
func (s *simulation) leaveLate() {
	all := s.alive()
	n := all[s.n(len(all))]
	lost, wasWell := s.losing("leave"), !n.well.IsZero() && time.Since(n.well) > time.Minute
	s.note("drain %s, whose requests to leave are lost", n.ID())
	s.fail(n)
	began := time.Now()
	n.wire.spoil(lost)
	n.stop()
	s.startWith(s.release...)
	s.pass(leaving)
	n.heal()
	n.wire.spoil(nil)
	s.pass(time.Until(began.Add(left)))
	select {
	case <-n.ended:
		return // its last request may have been lost too
	default:
	}
	list, err := s.store.Members(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range list.Members {
		if wasWell && m.Node == n.ID() && m.Alive(list.Now) { // an earlier request to stay on the list is not still on its way
			s.t.Errorf("%s drains since %v, and is on the list of nodes at %v", n.ID(), began.UTC(), time.Now().UTC())
		}
	}
}

// refusePlaces makes the part of the store with the places in limits lose requests of some nodes, until they are calmed.
func (s *simulation) refusePlaces() {
	all := s.alive()
	some := all[:1+s.n(len(all))]
	s.note("the requests of %d nodes for places are lost", len(some))
	s.fail(some...)
	for _, n := range some {
		n.wire.spoil(s.losing([]string{opTake, opKeep, opFree}[s.n(3)], opKeep))
	}
}

// losing returns the fate of requests of these kinds: they, or their replies, are lost.
func (s *simulation) losing(ops ...string) func(string) fault {
	f := fault{lost: []loss{lostRequest, lostReply}[s.n(2)], reset: s.n(2) == 0}
	return func(op string) fault {
		if slices.Contains(ops, op) {
			return f
		}
		return fault{}
	}
}

// prompt wants each run whose function succeeded to end at once, whatever the store answers.
func (s *simulation) prompt() {
	if s.silent { // a line of the log may hold up the end
		return
	}
	ends := map[ledgerKey]time.Time{}
	for _, n := range s.nodes {
		for _, e := range n.observed(scheduler.EventRunFinished) {
			ends[ledgerKey{e.Job, e.Fence}] = e.At
		}
	}
	for _, r := range s.ranAny() {
		end, ended := ends[ledgerKey{r.Job, r.Fence}]
		if ended && r.err == nil && !r.over.IsZero() && end.Sub(r.over) > 100*time.Millisecond {
			s.t.Errorf("the function of %s returned at %v on %s, and the run ended at %v", r.ID, r.over.UTC(), r.node.ID(), end.UTC())
		}
	}
}

// entitled wants no function to begin once the grace of its node's drain is over, and no run once its node does not have the job any
// more. A run that waits for a place in a limit has begun.
func (s *simulation) entitled() {
	begun := map[ledgerKey]time.Time{}
	for _, n := range s.nodes {
		for _, e := range n.observed(scheduler.EventRunStarted) {
			begun[ledgerKey{e.Job, e.Fence}] = e.At
		}
	}
	for _, r := range s.ranAny() {
		if gone := r.node.gone; !gone.IsZero() && r.began.Sub(gone) > r.node.grace {
			s.t.Errorf("%s began at %v on %s, which was stopped at %v and has %v of grace", r.ID, r.began.UTC(), r.node.ID(), gone.UTC(), r.node.grace)
		}
		at, known := begun[ledgerKey{r.Job, r.Fence}]
		if !known {
			at = r.began
		}
		if !r.node.had(r.Job, at) {
			s.t.Errorf("%s began at %v on %s, which has no such job", r.ID, at.UTC(), r.node.ID())
		}
	}
}

// had reports whether the node had a job at an instant, also between two changes at that instant.
func (n *node) had(name string, at time.Time) bool {
	for i, h := range n.held {
		over := i+1 < len(n.held) && n.held[i+1].since.Before(at)
		if !over && !h.since.After(at) && slices.ContainsFunc(h.jobs, func(j scheduler.Job) bool { return j.Name == name }) {
			return true
		}
	}
	return false
}

// placed wants a run to hold each place in a limit that is taken, and its function to go on, or to have just ended.
func (s *simulation) placed() {
	limited := s.limited()
	if limited == nil || s.strange != nothingStrange {
		return
	}
	alive := map[string]bool{}
	for _, r := range s.ranAny() {
		if r.over.IsZero() || time.Since(r.over) < time.Second {
			alive[r.ID[strings.LastIndexByte(r.ID, '/')+1:]] = true
		}
	}
	for _, note := range s.holders(limited.Limit.Name) {
		if !alive[note] {
			s.t.Errorf("%s has a place after minutes of calm, and does not run", note)
		}
	}
}

// The errors of runs have this password, at places at which a text may be cut.
const password = "hunter2hunter2"

// badDay returns the error of a function: a short one, or one with a password in it.
func badDay(d *dice) error {
	if d.n(2) == 0 {
		return errors.New("a bad day")
	}
	return errors.New(strings.Repeat("x", []int{0, 480, 4050}[d.n(3)]+d.n(40)) + " redis://user:" + password + "@host")
}

// masked wants no log, no event and no journal to have a part of the password.
func (s *simulation) masked() {
	see := func(at, text string) {
		if i := strings.Index(text, password[:4]); i >= 0 {
			s.t.Errorf("%s shows a password: %q", at, text[max(0, i-20):])
		}
	}
	for _, n := range s.nodes {
		for _, e := range n.logs.All() {
			for i := range e.Context {
				if f := &e.Context[i]; f.Type == zapcore.StringType {
					see("the log", f.String)
				}
			}
		}
		n.events.mu.Lock()
		for i := range n.events.all {
			see("an event", n.events.all[i].Err)
		}
		n.events.mu.Unlock()
	}
	for _, j := range s.jobs {
		for _, l := range s.journal(j.Name).Lines {
			see("the journal", l.Error+l.Sheet)
		}
	}
}
