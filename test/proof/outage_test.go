package proof_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/test/proof"
)

// The store is stopped and comes back with its data ten seconds later. Meanwhile
// nothing starts; a run whose lease cannot be renewed is cancelled, one with a
// longer lease goes on. Afterwards the missed ticks follow their job's policy.
func TestStoreOutage(t *testing.T) {
	t.Parallel()
	both(t, storeOutage)
}

func storeOutage(t *testing.T, p proof.Program) {
	down := 10 * time.Second
	if testing.Short() {
		down = 5 * time.Second
	}
	c := proof.NewCluster(t, p, "--appendonly", "yes")
	jobs := append(misfiring(),
		proof.Job{Name: "brief", Every: time.Second, Work: time.Minute, Lease: 2 * time.Second, Takeover: scheduler.TakeoverRerun, Attempts: 100},
		proof.Job{Name: "patient", Every: time.Second, Work: down + 18*time.Second, Lease: time.Minute})
	startNodes(c, 3, proof.Node{Jobs: jobs, Grace: time.Second, Verbose: true})
	c.Warm(jobs...)
	patient := fresh(c, "patient", 10*time.Second)
	c.Pass(untilBetween())
	brief := c.View().UnderWay(func(r *proof.Record) bool { return r.Job == "brief" })[0]
	gap := interval{asked: time.Now()}
	c.Store.Stop()
	gap.from = time.Now()
	c.Pass(down)
	gap.to = time.Now()
	c.Store.Restart()
	c.Pass(running() - down)
	c.Must("the patient run ends", func(v proof.View) bool { return len(v.Find(of(patient), isEnd)) > 0 })
	e := c.Finish(jobs...)
	e.Allowed = gap.explains
	acquit(t, e)
	gap.quiet(t, e)
	for _, j := range misfiring() {
		gap.misfired(t, e, j)
	}
	wantEnd(t, e, brief, lock.ErrLost.Error(), gap)
	wantEnd(t, e, patient, "", interval{from: gap.to, to: time.Now()})
	for _, p := range c.Alive() {
		t.Errorf("%s did not drain", p.Node.Name)
	}
	if n := e.Say("store unreachable"); n < 3 {
		t.Errorf("%d nodes said that the store is unreachable, want 3", n)
	}
	if n := e.Say("store risk"); n != 3 { // its data is all there
		t.Errorf("%d lines say that the store was restarted, want one of each node", n)
	}
}

// misfiring are jobs with one policy each for ticks that no node could claim.
func misfiring() []proof.Job {
	return []proof.Job{
		{Name: "once", Every: misfireEvery, Misfire: scheduler.MisfireOnce},
		{Name: "skip", Every: misfireEvery, Misfire: scheduler.MisfireSkip},
		{Name: "all", Every: 2 * time.Second, Misfire: scheduler.MisfireAll},
	}
}

// misfireEvery is their interval, misfireLate how late their latest missed tick is
// when it can be claimed again: too late for one policy, not for the other.
const misfireEvery, misfireLate = 5 * time.Second, 2 * time.Second

// untilBetween is how long it takes until the latest tick is that late.
func untilBetween() time.Duration {
	now := time.Now()
	at := now.Truncate(misfireEvery).Add(misfireLate)
	if at.Before(now) {
		at = at.Add(misfireEvery)
	}
	return at.Sub(now)
}

// fresh waits for a run of the job that is not older than this.
func fresh(c *proof.Cluster, job string, age time.Duration) (run proof.Record) {
	c.Must("a run of "+job, func(v proof.View) bool {
		runs := v.UnderWay(func(r *proof.Record) bool { return r.Job == job && time.Since(r.At) < age })
		if len(runs) > 0 {
			run = runs[0]
		}
		return len(runs) > 0
	})
	return run
}

// An interval is a time in which no tick could be claimed. Asked is when that was
// brought about; it was so from then on at some moment.
type interval struct{ asked, from, to time.Time }

func (g interval) holds(at time.Time) bool { return !at.Before(g.from) && at.Before(g.to) }

// quiet checks that no run starts in the interval. A run that was granted just before it may still start.
func (g interval) quiet(t *testing.T, e *proof.Evidence) {
	t.Helper()
	silent := interval{from: g.from.Add(time.Second), to: g.to}
	for _, r := range e.Find(isStart, func(r *proof.Record) bool { return silent.holds(r.At) }) {
		t.Errorf("%s@%v started at %v, when nobody could be asked", r.Job, r.Instant(), r.At)
	}
}

// explains: the ticks of the interval may be missed as their policy says; a run
// that takes long stands in the way of later ticks.
func (g interval) explains(j *proof.Job, tick int64, v series.Verdict, reason string) bool {
	late := interval{from: g.asked.Add(-time.Second), to: g.to.Add(recovery)}
	switch v {
	case series.VerdictMissed:
		return late.holds(time.UnixMilli(tick)) && j.Misfire != scheduler.MisfireAll
	case series.VerdictSkipped:
		return reason == series.ReasonOverlap && j.Work > j.Every
	}
	return false
}

// recovery is how long after an interruption nodes may need to ask again: their
// longest pause between two questions, and a moment.
const recovery = 2 * time.Second

// misfired holds the job's ticks in the interval to its policy.
func (g interval) misfired(t *testing.T, e *proof.Evidence, j proof.Job) {
	t.Helper()
	all := j.Ticks(g.from.Add(time.Second), g.to)
	var ran []int64
	for _, r := range e.Find(isStart, func(r *proof.Record) bool { return r.Job == j.Name && r.At.After(g.from.Add(time.Second)) }) {
		ran = append(ran, r.Tick)
		if late := r.At.Sub(r.Instant()); j.Misfire == scheduler.MisfireSkip && late > 1100*time.Millisecond+e.Starved(r.Instant(), r.At) {
			t.Errorf("%s@%v ran %v late", j.Name, r.Instant(), late)
		}
	}
	if !slices.IsSorted(ran) {
		t.Errorf("%s: the ticks ran in the order %v", j.Name, ran)
	}
	late := len(slices.DeleteFunc(slices.Clone(all), func(tick int64) bool { return !slices.Contains(ran, tick) }))
	want := map[scheduler.Misfire]int{scheduler.MisfireOnce: 1, scheduler.MisfireSkip: 0, scheduler.MisfireAll: len(all)}[j.Misfire]
	if starved := e.Starved(g.to, g.to.Add(misfireEvery)) > time.Second; late > want || late < want && !starved || len(all) == 0 {
		t.Errorf("%s: %d of %d missed ticks ran, want %d", j.Name, late, len(all), want)
	}
	latest := g.to.Add(-j.Every).UnixMilli()
	if j.Misfire == scheduler.MisfireOnce && (len(ran) == 0 || ran[0] < latest) {
		t.Errorf("%s: the ticks %v ran, want the latest of the missed ones first, not below %d", j.Name, ran, latest)
	}
}

// wantEnd: the run ended in the interval, for this cause.
func wantEnd(t *testing.T, e *proof.Evidence, run proof.Record, cause string, when interval) {
	t.Helper()
	ends := e.Find(of(run), isEnd)
	// That the store forgot the lease is one way of having lost it.
	if len(ends) != 1 || !strings.HasPrefix(ends[0].Cause, cause) || !when.holds(ends[0].At) {
		t.Errorf("%s@%v ended with %+v, want cause %q from %v to %v", run.Job, run.Instant(), ends, cause, when.from, when.to)
	}
}
