package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler"
)

// Half an hour of a cluster in which nodes, wires and clocks fail, as in TestStorms, while deploys change specs and shards, take jobs
// away and bring them back, all nodes are replaced at once, places in limits are refused, and operators pause, resume, run, cancel,
// skip, backfill and retire jobs. Beside the nodes, other processes take plain locks: see lockers. Five minutes after that no tick is
// overdue for long, each node is ready, each journal is sound, its readers agree on each tick, and each run has a verdict that allows
// it. The last three of these minutes are punctual, complete, quiet and cheap: see rest. A third of the clusters use Redis, for a
// shorter time, and most of these want a store in memory to give the same answers, also if one of the two keeps few lines of a journal.
// Each call draws other seeds. The seed of a failure is in the test's name, and CRONCE_SEED repeats it, with CRONCE_SOAK if that was set.
func TestSimulation(t *testing.T) {
	first, count := uint64(time.Now().Unix()), uint64(12) // about a minute
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
	s.waitAlways()
	s.control, s.read = ops.NewController(s.store), map[string]series.Series{}
	s.described = map[string]bool{}
	s.release = slices.Clone(s.jobs)
	s.mixed = true
	s.setup = func(i int, cfg *scheduler.Config) {
		cfg.Concurrency = s.slots
		if d := throw(seed, uint64(5_000_000+i)); d.n(2) == 0 { // a drain is over before a claim is answered
			cfg.Grace = time.Millisecond + d.long(2*time.Second)
		}
	}
	if _, own := s.store.(*memlock.Store); own {
		s.partitions = 1 + s.n(3)
	}
	s.strikes, s.onEnd = s.act, s.departed
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

// limit lets three jobs with short runs and short leases share one or two places. A run that waits for one takes a slot of its node.
func (s *simulation) limit() {
	if s.slots > 0 {
		return
	}
	few := scheduler.Limit{Name: "few", Of: 1 + s.n(2)}
	for i := range s.jobs[:3] {
		j := &s.jobs[i]
		j.Limit, j.Retry, j.Func, j.Lease = few, scheduler.Retry{}, s.work(5000), min(j.Lease, 500*time.Millisecond+s.long(3*time.Second))
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
	switch s.n(7) {
	case 0, 1, 2:
		s.strike()
	case 3:
		s.change()
		s.deploy()
	case 4:
		s.suffer()
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
	for _, n := range s.alive() {
		s.indebted(n, inFlight)
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
	wait, lockers := s.invite(storming), s.lockIn(storming)
	s.lull = func() { close(lockers.calm) }
	s.rage(d)
	over()
	wait()
	lockers.leave()
	if soaks() && s.large {
		s.jobs = append(s.jobs, brisk)
	}
	s.release = s.jobs
	s.deploy()
	if memory, own := s.store.(*memlock.Store); own { // whose clock was days ahead when it listed a node
		if _, err := memory.Beat(context.Background(), series.Beat{Node: "ahead", TTL: 48 * time.Hour}); err != nil {
			s.t.Fatal(err)
		}
	}
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
	s.placed()
	s.prompt()
	s.entitled()
	s.masked()
	s.replaced()
	s.recorded()
	s.kept()
	s.takenOver()
	for _, j := range s.jobs {
		s.compare(j.Name)
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
		s.release[i].Spec = s.spec(&job)
	}
}

// spec draws another spec for a job.
func (s *simulation) spec(j *scheduler.Job) string {
	return fmt.Sprintf("@every %ds", 1+2*int(j.Jitter.Seconds())+5+s.n(115))
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
