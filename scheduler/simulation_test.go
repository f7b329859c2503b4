package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// Half an hour of a cluster in which nodes, wires and clocks fail, as in TestStorms, while deploys change specs and shards, take jobs
// away and bring them back, and operators pause, resume, run, cancel, skip, backfill and retire jobs. Five minutes after that no tick
// is overdue for long, each node is ready, each journal is sound, its readers agree on each tick, and each run has a verdict that allows it. The
// last three of these minutes are punctual, complete, quiet and cheap: see rest. A third of the
// clusters use Redis, for a shorter time, and most of these want a store in memory to give the same answers. Each call draws other seeds. The seed of a failure is in the test's name, and CRONCE_SEED repeats it, with CRONCE_SOAK if that was set.
func TestSimulation(t *testing.T) {
	first, count := uint64(time.Now().Unix()), uint64(20)
	if soaks() {
		count = 1000
	}
	if text := os.Getenv("CRONCE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CRONCE_SEED: %v", err)
		}
		first, count = seed, 1
	}
	for seed := range count {
		t.Run(fmt.Sprintf("seed %d", first+seed), func(t *testing.T) {
			p := playing(t, first+seed, nil)
			if len(p.faults) == 0 {
				return
			}
			for _, f := range p.faults {
				t.Error(f.text)
			}
			t.Logf("the history:\n%v", p.history)
			p.shorten(t, first+seed)
		})
	}
}

// soaks reports whether jobs have more rules, and the calm is held to be punctual, quiet and cheap, too (see calm_test.go).
func soaks() bool { return os.Getenv("CRONCE_SOAK") != "" }

// A simulation is a storm with deploys and operators.
type simulation struct {
	*storm
	control *ops.Controller
	release []scheduler.Job          // of the latest deploy
	read    map[string]series.Series // what an operator has read of a job, lately or not
	changes int

	described map[string]bool // jobs whose journal is in the history, because it is not sound
}

func newSimulation(t testing.TB, seed uint64, open func(*world) store) *simulation {
	s := &simulation{storm: drawStorm(t, seed, open)}
	for _, name := range []string{"parts", "everywhere"} {
		s.jobs = append(s.jobs, s.divided(name))
	}
	if s.strange != storeForgot { // which can run it again: its tick may have been seen by no node that is left
		s.jobs = append(s.jobs, s.once())
	}
	for i := range s.jobs {
		if soaks() {
			s.refine(&s.jobs[i], throw(seed, uint64(4_000_000+i)))
		}
	}
	s.limit()
	s.control, s.read = ops.NewController(s.store), map[string]series.Series{}
	s.described = map[string]bool{}
	s.release = slices.Clone(s.jobs)
	s.mixed = true
	s.strikes = s.act
	s.begin()
	return s
}

// divided draws a job with shards, or one that runs on each node.
func (s *simulation) divided(name string) scheduler.Job {
	j := s.job(0)
	j.Name, j.Misfire = name, j.Misfire&scheduler.MisfireSkip
	if j.Overlap == scheduler.OverlapAllow {
		j.Overlap = scheduler.OverlapSkip
	}
	if name == "everywhere" {
		j.Broadcast, j.Takeover = true, scheduler.TakeoverLost
	} else {
		j.Shards = 1 + s.n(6)
	}
	return j
}

// limit lets three jobs with short runs share one or two places. A run that waits for one takes a slot of its node.
func (s *simulation) limit() {
	if s.slots > 0 || s.seed%2 > 0 {
		return
	}
	few := scheduler.Limit{Name: "few", Of: 1 + s.n(2)}
	for i := range s.jobs[:3] {
		s.jobs[i].Limit, s.jobs[i].Retry, s.jobs[i].Func = few, scheduler.Retry{}, s.work(3000)
	}
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

// once draws a job of one tick, which may have passed when the first nodes start.
func (s *simulation) once() scheduler.Job {
	j := s.job(0)
	j.Name, j.Spec = "once", "@at "+time.Now().UTC().Add(s.long(5*time.Minute)-20*time.Second).Format(time.RFC3339)
	return j
}

// act is a fault, a deploy, or a change by an operator.
func (s *simulation) act() {
	switch s.n(6) {
	case 0, 1, 2:
		s.strike()
	case 3:
		s.change()
		s.deploy()
	default:
		key := s.jobs[s.n(len(s.jobs))].Name
		for range 1 + s.n(5) {
			s.operate(key)
			s.pass(time.Duration(s.n(4000)) * time.Millisecond)
		}
	}
	for _, j := range s.jobs {
		s.judge(j.Name)
	}
	if _, err := s.store.Members(context.Background()); err != nil { // which both stores are asked for
		s.t.Fatal(err)
	}
	for _, n := range s.nodes {
		if n.killed.IsZero() && !n.gone.IsZero() && time.Since(n.gone) > 0 && n.Ready() == nil {
			s.t.Errorf("%s is ready, and was stopped at %v", n.ID(), n.gone.UTC())
		}
	}
}

// play lets time pass for d, followed by five minutes of calm with the jobs of the beginning.
func (s *simulation) play(d time.Duration) {
	storming, over := context.WithCancel(context.Background())
	wait := s.invite(storming)
	s.rage(d)
	over()
	wait()
	s.release = s.jobs
	s.deploy()
	if soaks() {
		s.rest()
	} else {
		s.pass(5*time.Minute + 500*time.Millisecond)
	}
	s.fail(s.alive()...)
	for _, n := range s.alive() {
		if err := n.Ready(); err != nil {
			s.t.Errorf("%s is not ready after five minutes of calm: %v", n.ID(), err)
		}
	}
	s.listed()
	s.within()
	for _, j := range s.jobs {
		s.compare(j.Name)
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
	if slices.Sort(alive); !slices.Equal(listed, alive) {
		s.t.Errorf("the list of nodes has %q after five minutes of calm, and %q live", listed, alive)
	}
}

// deploy replaces all nodes, one after the other, by nodes with the latest release, or changes their jobs while they run.
func (s *simulation) deploy() {
	live := s.n(2) == 0
	for _, n := range s.alive() {
		if live {
			s.note("change the jobs of %s", n.ID())
			s.fail(n)
			if err := n.change(s.release); err != nil {
				s.t.Errorf("the change of the jobs of %s: %v", n.ID(), err)
			}
			s.recover(n)
			s.pass(s.long(5 * time.Second))
			continue
		}
		s.note("deploy over %s", n.ID())
		s.fail(n)
		n.stop()
		s.startWith(s.release...)
		s.pass(time.Duration(s.n(5000)) * time.Millisecond)
	}
}

// change changes the spec of a job, takes the job away, or brings it back.
func (s *simulation) change() {
	job := s.jobs[s.n(len(s.jobs))]
	defer func() {
		var all []string
		for _, j := range s.release {
			all = append(all, fmt.Sprint(j.Name, " ", j.Spec, " ", j.Shards))
		}
		s.note("release: %s", strings.Join(all, ", "))
	}()
	i := slices.IndexFunc(s.release, func(j scheduler.Job) bool { return j.Name == job.Name })
	switch {
	case i < 0:
		s.release = append(s.release, job)
	case s.n(3) == 0 && len(s.release) > 2:
		s.release = slices.Delete(slices.Clone(s.release), i, i+1)
	case job.Name == "once":
	case s.release[i].Spec != job.Spec:
		s.release = slices.Clone(s.release)
		s.release[i].Spec = job.Spec
	default:
		s.release = slices.Clone(s.release)
		if s.release[i].Shards > 0 {
			s.release[i].Shards = 1 + s.n(6)
		}
		s.release[i].Spec = fmt.Sprintf("@every %ds", 1+2*int(job.Jitter.Seconds())+5+s.n(115))
	}
}

// operate makes one change of a job, for an operator who may have read its state long ago.
func (s *simulation) operate(key string) {
	s.changes++
	if _, known := s.read[key]; !known || s.n(3) > 0 {
		s.read[key] = s.store.ReadSeries(context.Background(), []string{key})[0]
	}
	old := s.read[key]
	r := ops.Request{Control: series.Control{Key: key, Op: fmt.Sprint("op", s.changes), Who: "operator", Reason: "as drawn", Seen: old.Change}}
	later := func(most int) int64 { return old.Now + int64(s.n(most)) + 1000 }
	switch s.n(9) {
	case 0:
		r.Action = series.ActionPause
		if s.n(3) > 0 {
			r.Until = later(180_000)
		}
	case 1, 2:
		r.Action, r.Reason = series.ActionResume, ""
	case 3, 4:
		r.Action, r.Until, r.Queue, r.Anyway = series.ActionRun, later(60_000), s.n(2) == 0, s.n(2) == 0
	case 5:
		r.Action = series.ActionCancel
		if len(old.Runs) == 0 {
			return
		}
		r.Number = old.Runs[s.n(len(old.Runs))].Number
	case 6:
		r.Action, r.Back = series.ActionSkip, s.n(3) == 0
	case 7:
		s.backfill(&old, r)
		return
	case 8:
		r.Action = series.ActionRetire
	}
	s.request(&old, r)
}

// request makes a change. None is made of a state that has changed since the operator read it, but those that name what they are
// about.
func (s *simulation) request(old *series.Series, r ops.Request) ops.Change {
	now := s.store.ReadSeries(context.Background(), []string{r.Key})[0]
	a := s.control.Make(context.Background(), old, r)
	s.note("%s of %s %d: %s", r.Action, r.Key, r.Number, a.Outcome)
	if a.Outcome == ops.ChangeFailed || a.Outcome == ops.ChangeDoubt {
		s.t.Errorf("%s of %s: %s: %v", r.Action, r.Key, a.Text, a.Err)
	}
	switch r.Action {
	case series.ActionPause, series.ActionResume, series.ActionSkip, series.ActionRetire:
		if a.Outcome == ops.ChangeMade && old.Change != now.Change {
			s.t.Errorf("%s of %s was made of change %d, after change %d", r.Action, r.Key, old.Change, now.Change)
		}
	}
	return a
}

// backfill plans a backfill of the latest minutes, and makes it if it has ticks.
func (s *simulation) backfill(old *series.Series, r ops.Request) {
	now := time.UnixMilli(old.Now)
	r.Action, r.Backfill = series.ActionBackfill, &ops.Backfill{From: now.Add(-time.Duration(s.n(600)) * time.Second), To: now}
	r.Backfill.Only, r.Anyway = ops.Onlys[s.n(len(ops.Onlys))], s.n(2) == 0
	plan := s.request(old, r)
	if plan.Plan == nil || plan.Outcome != ops.ChangePlanned {
		return
	}
	r.Backfill.Digest = plan.Plan.Digest
	s.request(old, r)
}

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
	if j := s.jobs[len(s.jobs)-1]; tick.Before(s.nodes[0].born) && (j.Misfire == scheduler.MisfireSkip || j.Deadline > 0) {
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
	}
	return ops.State(s)
}
