package scheduler_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// judge wants the journal of a job to be sound. It returns the judge of all that the store has about the job now.
func (s *simulation) judge(key string) (*verify.Judge, why.Question) {
	s.t.Helper()
	ctx := context.Background()
	q := why.Question{Journal: s.journal(key), State: s.store.ReadSeries(ctx, []string{key})[0]}
	var err error
	if q.Audit, err = s.store.Audit(ctx, key, 1000); err != nil || q.State.Err != nil {
		s.t.Fatal(err, q.State.Err)
	}
	judge := verify.NewJudge(q.Journal, verify.Options{State: &q.State, Audit: q.Audit})
	for _, v := range judge.Report().Violations {
		if s.strange == clockStepped && v.Invariant != "I1" && v.Invariant != "I2" {
			continue // instants of a clock that went back
		}
		if s.strange == storeForgot && strings.Contains(v.String(), "was never recorded") {
			continue // one node opened the series anew, and another, with another spec, claims before it notices
		}
		if s.strange == storeForgot && strings.Contains(v.String(), "the store forgot the mark") {
			continue // evicted, while the journal has it
		}
		if strings.Contains(v.String(), "which names them too, have no verdict") && cameBack(q.Journal.Revisions) {
			continue
		}
		s.t.Errorf("journal of %s at %v: %v", key, time.Now().UTC(), v)
		s.describe(&q.Journal, v)
	}
	return judge, q
}

// cameBack reports whether a spec came back: as a use of its own, or without a break after two others had replaced it. A node with the
// newest spec may then not know that the earlier use went on: see docs/limits.md.
func cameBack(uses []series.RevisionUse) bool {
	for _, old := range uses {
		later := 0
		for _, u := range uses {
			switch {
			case old.Since >= u.Since:
			case old.Spec == u.Spec:
				return true
			case u.Since < old.Last:
				later++
			}
		}
		if later > 1 {
			return true
		}
	}
	return false
}

// describe adds the uses of specs, and the lines around the first violation in a journal, to the history.
func (s *simulation) describe(j *series.Journal, v verify.Violation) {
	if s.described[j.Key] {
		return
	}
	s.described[j.Key] = true
	for _, u := range j.Revisions {
		s.note("%s: %s from %v, first seen %v, last %v on %s", j.Key, u.Spec, at(u.Since), at(u.First), at(u.Last), u.Node)
	}
	i := slices.IndexFunc(j.Lines, func(l series.Line) bool { return l.To >= v.Tick.UnixMilli() })
	for _, l := range j.Lines[max(0, i-4):min(len(j.Lines), i+4)] {
		s.note("%s: %v to %v, decided %v by %s: %s %s, between %q, revision %s", j.Key, at(l.From), at(l.To), at(l.At), l.Node, l.Verdict, l.Reason, l.Between, l.Revision)
	}
}

// overdueFor is how long a tick may be overdue at the end, because some nodes have slots for two runs only.
const overdueFor = 2 * time.Minute

// compare wants no tick of a job to be overdue for long, the readers to agree on each tick, and the runs to be those that the journal has.
func (s *simulation) compare(key string) {
	s.t.Helper()
	judge, q := s.judge(key)
	for _, o := range judge.Report().Late {
		if s.now().Sub(o.Since) > overdueFor {
			s.t.Errorf("%s is overdue: %+v", key, o)
		}
	}
	s.meets(key, q.Journal.Lines)
	s.rerunsFirst(key, q.Journal.Lines)
	s.settled(key, judge)
	ran := map[int64]bool{}
	for _, r := range s.ran(key) {
		ran[r.number()] = true
		switch tick, _ := judge.Tick(time.UnixMilli(r.number())); {
		case tick == why.Ran, tick == why.Failed, tick == why.Lost, tick == why.Running, s.strange == storeForgot:
		case tick == why.Waiting: // for another attempt
		default:
			s.t.Errorf("%s ran on %s, and is judged as %s", r.ID, r.node.ID(), tick)
		}
	}
	for _, run := range ops.Runs("", &q.Journal, &q.State) {
		q.Tick = run.Tick.Time()
		s.agree(judge, q, run.State)
		if run.State == ops.OK && !ran[int64(run.Tick)] {
			s.t.Errorf("%s %v is listed as ok, and did not run", key, run.Tick.Time())
		}
	}
}

// settled wants the only tick of a job that has one to be decided.
func (s *simulation) settled(key string, judge *verify.Judge) {
	if key != "once" {
		return
	}
	_, schedule := s.specOf(s.alive()[0], key, time.Now())
	tick := time.UnixMilli(schedule.NextMilli(0))
	j := s.jobs[slices.IndexFunc(s.jobs, func(j scheduler.Job) bool { return j.Name == key })]
	if tick.Before(s.nodes[0].born) && (j.Misfire == scheduler.MisfireSkip || j.Deadline > 0) {
		return // it may have been too late
	}
	switch state, _ := judge.Tick(tick); state {
	case verify.TickUndecided, verify.TickOverdue, verify.TickFuture, verify.NotATick, verify.TickNotKnown:
		s.t.Errorf("once, due at %v, is %s", tick.UTC(), state)
	}
}

// meets checks invariant I6: no tick was missed while a node could reach the store from a minute before it to a minute after it.
// It leaves out the jobs and stores that do not promise this, and the ticks of jobs whose nodes did not agree on the spec.
func (s *simulation) meets(key string, lines []series.Line) {
	s.t.Helper()
	j := s.jobs[slices.IndexFunc(s.jobs, func(j scheduler.Job) bool { return j.Name == key })]
	if s.strange != nothingStrange || s.slots > 0 || j.Misfire == scheduler.MisfireAll || j.Overlap > scheduler.OverlapAllow {
		return
	}
	for _, p := range s.spells {
		text, schedule := s.specOf(p.n, key, p.from)
		if schedule == nil {
			continue
		}
		from, to := p.from.Add(time.Minute).UnixMilli(), p.to.Add(-time.Minute).UnixMilli()
		for i := range lines {
			l := &lines[i]
			for t := schedule.NextMilli(max(l.From, from)); t > 0 && t <= min(l.To, to); t = schedule.NextMilli(t) {
				v, reason := l.Between, l.Reason
				if t == l.To {
					v = l.Verdict
				}
				if v == series.VerdictMissed && (t != l.To || reason != series.ReasonRespecified) && s.agreed(key, text, time.UnixMilli(t)) && !s.blocked(key, t, l) {
					s.t.Errorf("%s: the tick %v was missed, and %s could reach the store from %v to %v: %+v", key, at(t), p.n.ID(), p.from.UTC(), p.to.UTC(), *l)
				}
			}
		}
	}
}

// blocked reports whether another run of the job, as a manual one or one of a backfill, was alive between a tick and the line that has
// it as missed: a tick that waits for such a run may pass its deadline.
func (s *simulation) blocked(key string, tick int64, l *series.Line) bool {
	return slices.ContainsFunc(s.ran(key), func(r *run) bool {
		other := r.number() <= l.From || r.number() > l.To || spec.Manual(r.number())
		return other && r.began.UnixMilli() < l.At && (r.over.IsZero() || r.over.UnixMilli() >= tick)
	})
}

// specOf returns the spec of a job on a node at an instant; nil: the node does not have it.
func (s *simulation) specOf(n *node, key string, at time.Time) (string, *spec.Schedule) {
	jobs := n.holds(at)
	i := slices.IndexFunc(jobs, func(j scheduler.Job) bool { return j.Name == key })
	if i < 0 {
		return "", nil
	}
	schedule, err := spec.Parse(jobs[i].Spec, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return jobs[i].Spec, schedule
}

// agreed reports whether all nodes that lived within minutes of an instant had the job with a spec all the time.
func (s *simulation) agreed(key, text string, at time.Time) bool {
	from, to := at.Add(-3*time.Minute), at.Add(3*time.Minute)
	for _, n := range s.nodes {
		if n.born.After(to) || !n.gone.IsZero() && n.gone.Before(from) {
			continue
		}
		times := []time.Time{to}
		for _, h := range n.held {
			times = append(times, h.since)
		}
		if n.born.Before(from) {
			times = append(times, from)
		}
		for _, t := range times {
			if own, _ := s.specOf(n, key, t); own != text && !t.Before(from) && !t.After(to) {
				return false
			}
		}
	}
	return true
}

// agree compares the verdict of a tick in the list of runs with those of the judge and of the explanation.
func (s *simulation) agree(judge *verify.Judge, q why.Question, listed ops.State) {
	s.t.Helper()
	state, _ := judge.Tick(q.Tick)
	if state == verify.TickPassedOver {
		state = why.Missed
	}
	a := why.Explain(q)
	if a.State != state || a.Sentence == "" {
		s.t.Errorf("%s %v: judged as %s, explained as %s: %s", q.Journal.Key, q.Tick.UTC(), state, a.State, a.Sentence)
	}
	if want := stateOf(state); listed != want {
		s.t.Errorf("%s %v: judged as %s, listed as %s: %s", q.Journal.Key, q.Tick.UTC(), state, listed, a.Sentence)
	}
}

// stateOf returns the word of lists for a state of a tick.
func stateOf(s why.State) ops.State {
	switch s {
	case why.Ran:
		return ops.OK
	case why.Failed:
		return ops.Failing
	case why.Overdue:
		return ops.Waiting
	case why.NotKnown:
		return ops.Unknown
	}
	return ops.State(s)
}

// within wants no more functions of jobs with a limit to have gone on at once than it has places.
func (s *simulation) within() {
	if s.strange != nothingStrange { // a store that forgets, or whose clock steps, gives a place to others
		return
	}
	changes := map[time.Time]int{}
	of := 0
	for i := range s.jobs {
		if s.jobs[i].Limit.Of == 0 {
			continue
		}
		of = s.jobs[i].Limit.Of
		for _, r := range s.ran(s.jobs[i].Name) {
			end := time.Now()
			for _, at := range []time.Time{r.over, r.contextEnd, r.node.killed} {
				if !at.IsZero() && at.Before(end) {
					end = at
				}
			}
			changes[r.began]++
			changes[end]--
		}
	}
	count := 0
	for _, at := range slices.SortedFunc(maps.Keys(changes), time.Time.Compare) {
		if count += changes[at]; count > of {
			s.t.Errorf("%d functions went on at %v, and the limit is %d", count, at.UTC(), of)
			return
		}
	}
}

// replaced wants a run to end within its lease once a tick waits for it in order to replace it, and no attempt of its tick to be granted after that.
func (s *simulation) replaced() {
	if s.strange != nothingStrange {
		return
	}
	for _, j := range s.jobs {
		if j.Overlap != scheduler.OverlapReplace {
			continue
		}
		given := s.given(j.Name)
		for _, l := range s.journal(j.Name).Lines {
			if l.Verdict != series.VerdictWaiting || spec.Manual(l.Blocker) || spec.Manual(l.To) {
				continue
			}
			since := time.UnixMilli(l.At)
			for _, r := range s.ran(j.Name) {
				end := since.Add(j.Lease + time.Second)
				if r.number() == l.Blocker && !r.began.After(since) && end.Before(time.Now()) && r.trusted().After(end) {
					s.t.Errorf("%s ran on %s until %v, though %v waited since %v to replace it", r.ID, r.node.ID(), r.trusted().UTC(), at(l.To), since.UTC())
				}
			}
			for _, g := range given {
				if g.number == l.Blocker && g.at.After(since.Add(time.Millisecond)) && !known(given, g) && j.Shards == 0 && !j.Broadcast {
					s.t.Errorf("%s: %v was granted to %s at %v, and replaced since %v", j.Name, at(g.number), g.owner, g.at.UTC(), since.UTC())
				}
			}
		}
	}
}

// rerunsFirst wants the tick of a node that died or was drained, if it may run again, to go before each later tick, those that wait too.
func (s *simulation) rerunsFirst(key string, lines []series.Line) {
	j := s.jobs[slices.IndexFunc(s.jobs, func(j scheduler.Job) bool { return j.Name == key })]
	if s.strange != nothingStrange || j.Overlap == scheduler.OverlapAllow || j.Overlap == scheduler.OverlapReplace || j.Shards > 0 || j.Broadcast || j.Attempts > 0 || j.Window > 0 {
		return
	}
	left := int64(0) // the tick that may run again
	for _, l := range lines {
		switch {
		case spec.Manual(l.To) && l.Verdict != series.VerdictControl, l.Verdict == series.VerdictWaiting:
		case l.Verdict == series.VerdictRan && l.Attempt == 1:
			if left != 0 && left != l.To {
				s.t.Errorf("%s: %v was granted to %s at %v, before %v, which may run again", key, at(l.To), l.Node, at(l.At), at(left))
			}
			if left = 0; l.Outcome == "" && j.Takeover == scheduler.TakeoverRerun { // otherwise its end is in the same line
				left = l.To
			}
		case l.Verdict == series.VerdictEnded && l.To == left && l.Outcome == series.OutcomeInterrupted && j.Interrupted == scheduler.InterruptedRerun:
		case l.To == left, l.Verdict == series.VerdictControl: // it ended, or an operator may have cancelled it
			left = 0
		}
	}
}

// recorded wants the journal to have the outcome of a run as its function saw it.
func (s *simulation) recorded() {
	for _, j := range s.jobs {
		saw := map[int64]*run{}
		for _, r := range s.ran(j.Name) {
			saw[r.Fence] = r
		}
		for _, l := range s.journal(j.Name).Lines {
			r := saw[l.Fence]
			if l.Outcome == "" || r == nil || r.over.IsZero() {
				continue
			}
			if errors.Is(r.err, scheduler.ErrDrained) && l.Outcome == series.OutcomeCancelled {
				continue // by an operator, which its node did not know
			}
			if want, known := outcomes[r.err]; known && l.Outcome != want && l.Outcome != series.OutcomeLost { // its lease may be lost too
				s.t.Errorf("%s returned %v on %s, and the journal has %+v", r.ID, r.err, r.node.ID(), l)
			}
		}
	}
}

// listed wants the list of nodes to have those that live, and no other of them to be alive.
func (s *simulation) listed() {
	list, err := s.store.Members(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	var listed, alive []string
	for _, m := range list.Members {
		if m.Alive(list.Now) {
			listed = append(listed, m.Node)
		}
	}
	for _, n := range s.alive() {
		alive = append(alive, n.ID())
	}
	slices.Sort(alive)
	for _, n := range s.alive() {
		var seen []string
		if list := n.wire.list.Load(); list != nil {
			seen = *list
		}
		if !slices.Equal(seen, alive) {
			s.t.Errorf("%s has read the list %q, and %q live", n.ID(), seen, alive)
		}
	}
	if !slices.Equal(listed, alive) {
		s.t.Errorf("the list of nodes has %q after five minutes of calm, and %q live", listed, alive)
	}
}
