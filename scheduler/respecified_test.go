package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A phase is a node that lives for a while with a spec, and the following time without a node.
type phase struct {
	spec         string
	lives, stops time.Duration
}

// phases runs nodes one after the other; the last one stays.
func (c *world) phases(job scheduler.Job, all ...phase) {
	c.mixed = true
	c.jobs = []scheduler.Job{job}
	for i, p := range all {
		job.Spec = p.spec
		n := c.startWith(job)
		c.pass(p.lives)
		if i == len(all)-1 {
			return
		}
		if err := n.drain(); err != nil {
			c.t.Error(err)
		}
		c.pass(p.stops)
	}
}

// whatRan returns the ticks that ran, with their delays.
func (c *world) whatRan(job string) string {
	var all []string
	for _, r := range c.ran(job) {
		all = append(all, fmt.Sprintf("%s+%v", r.Tick.Sub(start), r.began.Sub(r.Tick).Round(time.Second)))
	}
	return strings.Join(all, " ")
}

// report returns the report of verify on a job. It checks that why agrees.
func (c *world) report(job string) verify.Report {
	c.t.Helper()
	j, s := c.journal(job), c.store.ReadSeries(context.Background(), []string{job})[0]
	r := verify.Job(j, verify.Options{State: &s})
	if !r.OK() {
		c.t.Errorf("verify: %v, late %v, faults %v", r.Violations, r.Late, r.Faults)
	}
	for _, u := range j.Revisions {
		for ms := why.InForce([]series.RevisionUse{u}).NextMilli(u.Since); ms != 0 && ms <= min(u.Last, s.Now); ms = why.InForce([]series.RevisionUse{u}).NextMilli(ms) {
			if a := why.Explain(why.Question{Tick: time.UnixMilli(ms), Journal: j, State: s}); a.State == why.NotKnown || a.State == why.Overdue {
				c.t.Errorf("why %v: %s", a.Tick, a.Sentence)
			}
		}
	}
	return r
}

// A spec that comes back runs or misses no tick of the time in which another one was in force.
func TestSpecReturns(t *testing.T) {
	const hour = time.Hour
	for name, test := range map[string]struct {
		job    scheduler.Job
		phases []phase
		ran    string
		missed string
	}{
		"hours": {scheduler.Job{Deadline: 12 * hour}, []phase{{"0 9,15 * * *", 8 * hour, 0}, {"0 18 * * *", 4 * hour, 0}, {"0 9,15 * * *", 4 * hour, 0}},
			"15h0m0s+0s", "map[]"},
		"soon": {scheduler.Job{}, []phase{{"0 9 * * *", 8*hour + 50*time.Minute, 0}, {"0 18 * * *", 40 * time.Minute, 0}, {"0 9 * * *", 2 * hour, 0}},
			"", "map[]"},
		"once": {scheduler.Job{}, []phase{{"0 * * * *", 90 * time.Minute, 0}, {"0 3 * * *", 7*hour + 20*time.Minute, 0}, {"0 * * * *", 90 * time.Minute, 0}},
			"1h0m0s+0s 3h0m0s+0s 9h0m0s+0s 10h0m0s+0s", "map[]"},
		"all": {scheduler.Job{Misfire: scheduler.MisfireAll}, []phase{{"0 * * * *", 90 * time.Minute, 0}, {"0 3 * * *", 7*hour + 20*time.Minute, 0}, {"0 * * * *", 90 * time.Minute, 0}},
			"1h0m0s+0s 3h0m0s+0s 9h0m0s+0s 10h0m0s+0s", "map[]"},
		"replaced a minute before a stop": {scheduler.Job{}, []phase{{"0 * * * *", 119 * time.Minute, 0}, {"30 23 * * *", time.Minute, 6*time.Hour + 20*time.Minute}, {"0 * * * *", 2 * time.Hour, 0}},
			"1h0m0s+0s 9h0m0s+0s 10h0m0s+0s", "map[]"},
		"after a stop": {scheduler.Job{}, []phase{{"0 * * * *", 90 * time.Minute, hour}, {"0 3 * * *", 2*hour + 50*time.Minute, hour}, {"0 * * * *", 90 * time.Minute, 0}},
			"1h0m0s+0s 3h0m0s+0s 7h0m0s+0s", "map[respecified:1]"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t)
				test.job.Name, test.job.Func = "a", nothing
				c.phases(test.job, test.phases...)
				if got := c.whatRan("a"); got != test.ran {
					t.Errorf("ran %s, want %s", got, test.ran)
				}
				if r := c.report("a"); fmt.Sprint(r.Missed) != test.missed || r.PassedOver > 0 {
					t.Errorf("missed %v, passed over %d, want %s", r.Missed, r.PassedOver, test.missed)
				}
			})
		})
	}
}

// A deploy makes a spec rarer, over an outage. The remaining ticks of the old spec are decided at
// once, with their reason, and are not overdue until the new spec's next tick.
func TestRarerSpec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		c.phases(scheduler.Job{Name: "a", Func: nothing},
			phase{"* * * * *", 5*time.Minute + 30*time.Second, 3 * time.Minute}, phase{"0 0 1 * *", time.Second, 0})
		if r := c.report("a"); fmt.Sprint(r.Missed) != "map[respecified:3]" || r.Due != 8 || r.Once != 5 {
			t.Errorf("the report is %+v", r)
		}
		c.wantLogged(1, "tick missed", "count", int64(2), "reason", "respecified")
		c.wantLogged(1, "tick missed", "count", int64(1), "reason", "respecified")
		a := why.Explain(why.Question{Tick: start.Add(7 * time.Minute), Journal: c.journal("a"), State: c.store.ReadSeries(t.Context(), []string{"a"})[0]})
		if want := `Missed: no node decided it before its spec, "* * * * *", was replaced. `; a.State != why.Missed || !strings.HasPrefix(a.Sentence, want) {
			t.Errorf("why: %s: %s", a.State, a.Sentence)
		}
		c.pass(5 * time.Hour)
		c.report("a")
	})
}

// A tick that is in the specs before and after an edit, in the time between the nodes, runs if its
// deadline allows. The other ticks of the old spec are missed.
func TestTickOfBothSpecs(t *testing.T) {
	for name, test := range map[string]struct {
		job      scheduler.Job
		from, to phase
		ran      string
		missed   string
	}{
		"the only one": {scheduler.Job{}, phase{"*/20 * * * * *", 37 * time.Second, 6 * time.Second}, phase{"*/10 * * * * *", 10 * time.Second, 0},
			"20s+0s 40s+3s 50s+0s", "map[]"},
		"young": {scheduler.Job{}, phase{"*/20 * * * * *", 37 * time.Second, 4 * time.Second}, phase{"*/10 * * * * *", 4 * time.Second, 0},
			"20s+0s 40s+1s", "map[]"},
		"between others": {scheduler.Job{Deadline: time.Minute}, phase{"*/4 * * * * *", 30 * time.Second, 30 * time.Second}, phase{"*/10 * * * * *", 15 * time.Second, 0},
			"4s+0s 8s+0s 12s+0s 16s+0s 20s+0s 24s+0s 28s+0s 1m0s+0s 1m10s+0s", "map[respecified:7]"},
		"last but one": {scheduler.Job{Deadline: time.Minute}, phase{"*/4 * * * * *", 30 * time.Second, 18 * time.Second}, phase{"*/10 * * * * *", 15 * time.Second, 0},
			"4s+0s 8s+0s 12s+0s 16s+0s 20s+0s 24s+0s 28s+0s 40s+8s 50s+0s 1m0s+0s", "map[respecified:4]"},
		"too late": {scheduler.Job{}, phase{"*/20 * * * * *", 37 * time.Second, 22 * time.Second}, phase{"*/10 * * * * *", 5 * time.Second, 0},
			"20s+0s 1m0s+0s", "map[respecified:1]"},
		"a backlog": {scheduler.Job{Misfire: scheduler.MisfireAll}, phase{"*/4 * * * * *", 30 * time.Second, 36 * time.Second}, phase{"*/10 * * * * *", 5 * time.Second, 0},
			"4s+0s 8s+0s 12s+0s 16s+0s 20s+0s 24s+0s 28s+0s 40s+26s 1m0s+6s 1m10s+0s", "map[respecified:7]"},
		"a queue": {scheduler.Job{Overlap: scheduler.OverlapQueue}, phase{"*/20 * * * * *", 37 * time.Second, 6 * time.Second}, phase{"*/10 * * * * *", 10 * time.Second, 0},
			"20s+0s 40s+3s 50s+0s", "map[]"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t)
				test.job.Name, test.job.Func = "a", nothing
				c.phases(test.job, test.from, test.to)
				if got := c.whatRan("a"); got != test.ran {
					t.Errorf("ran %s, want %s", got, test.ran)
				}
				if r := c.report("a"); fmt.Sprint(r.Missed) != test.missed || r.PassedOver > 0 {
					t.Errorf("missed %v, passed over %d, want %s", r.Missed, r.PassedOver, test.missed)
				}
			})
		})
	}
}

// During a rolling deploy, in which pods of both specs start again and again, both specs are in
// force without a break, and no live node loses a tick.
func TestRollingDeployKeepsBoth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		c.mixed = true
		job := scheduler.Job{Name: "a", Func: nothing}
		with := func(spec string) *node {
			job.Spec = spec
			return c.startWith(job)
		}
		c.jobs = []scheduler.Job{job}
		with("*/20 * * * * *")
		c.pass(10 * time.Minute)
		with("*/30 * * * * *")
		for range 10 {
			for _, spec := range []string{"*/20 * * * * *", "*/30 * * * * *"} {
				n := with(spec)
				c.pass(47 * time.Second)
				if err := n.drain(); err != nil {
					t.Error(err)
				}
			}
		}
		if r := c.report("a"); len(r.Missed) > 0 || r.PassedOver > 0 {
			t.Errorf("missed %v, passed over %d", r.Missed, r.PassedOver)
		}
		if uses := c.journal("a").Revisions; len(uses) != 2 {
			t.Errorf("the uses are %+v", uses)
		}
	})
}

// Two specs that were in use until a job was removed were both in force until then, although nodes
// were seen with one of them later than with the other: after one is back, each tick has a verdict.
func TestSpecReturnsToARemovedJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		c.mixed = true
		other := scheduler.Job{Name: "b", Spec: "@every 1h", Func: nothing}
		jobs := func(spec string) []scheduler.Job {
			return []scheduler.Job{{Name: "a", Spec: spec, Misfire: scheduler.MisfireAll, Func: takes(5 * time.Second)}, other}
		}
		c.jobs = jobs("@every 8s")
		var nodes []*node
		change := func(n *node, jobs []scheduler.Job) {
			if err := n.change(jobs); err != nil {
				t.Error(err)
			}
			c.pass(time.Second)
		}
		for range 3 {
			nodes = append(nodes, c.start())
		}
		c.pass(2*time.Minute + 3*time.Second)
		change(nodes[0], jobs("@every 96s")) // it is seen last, as long as no node reads the job
		c.pass(5 * time.Second)
		for _, n := range nodes {
			change(n, []scheduler.Job{other})
		}
		back := c.now().Add(7 * time.Minute).Truncate(8 * time.Second).Add(6 * time.Second) // 2 s before a tick
		c.pass(back.Sub(c.now()))
		for _, n := range nodes {
			change(n, jobs("@every 8s"))
			c.pass(2 * time.Second)
		}
		c.pass(3 * time.Minute)
		c.report("a")
	})
}

// The ticks of a former spec that a long run kept from being caught up get a verdict when the run
// ends, although none of them may start then, and the ticks of the new spec run without delay.
func TestSpecChangesInALongRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t)
		c.mixed = true
		job := scheduler.Job{Name: "a", Spec: "*/4 * * * * *", Misfire: scheduler.MisfireAll, Deadline: time.Minute}
		job.Func = func(ctx context.Context, r *scheduler.Run) error {
			if r.Tick.Equal(start.Add(12 * time.Second)) {
				return takes(time.Until(start.Add(81*time.Second)))(ctx, r) // the tick of 20 s may not start any more
			}
			return nil
		}
		c.jobs = []scheduler.Job{job}
		n := c.start()
		c.pass(10 * time.Second)
		c.outage(20 * time.Second)
		c.pass(5 * time.Second) // the tick of 12 s runs, those of 16 s to 32 s wait
		job.Spec = "*/10 * * * * *"
		if err := n.change([]scheduler.Job{job}); err != nil {
			t.Error(err)
		}
		c.pass(5 * time.Minute)
		if r := c.report("a"); r.PassedOver > 0 {
			t.Errorf("%d ticks were passed over", r.PassedOver)
		}
		if got := c.whatRan("a"); !strings.HasPrefix(got, "4s+0s 8s+0s 12s+18s 40s+41s 50s+31s") {
			t.Errorf("ran %s", got)
		}
	})
}
