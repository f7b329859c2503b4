package proof

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/verify"
)

const (
	// lateGrace is added to the deadline and to the lease of a tick before the check counts it as
	// late. A node takes a tick over, or settles it, within the lease and a second.
	lateGrace = 3 * time.Second
	// settling is the time that live nodes have to decide such a tick, on a busy machine too. It is
	// extended by the time that the meter measured.
	settling = 30 * time.Second
	// returning is the time that the functions of a program without a journal have to return.
	returning = 5 * time.Second
)

// Settle waits until the nodes have decided all ticks that are due now, and their runs are over. It is
// the end of a scenario with faults: how long the nodes take for the rest depends on the machine.
func (c *Cluster) Settle(jobs ...Job) {
	c.t.Helper()
	d, done, err := openStore(c.t.Context(), c.addr, namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	defer done()
	for begun := time.Now(); ; <-time.After(probeEvery) {
		open := unsettled(c.t.Context(), d, begun, jobs)
		if open == "" {
			return
		}
		if time.Since(begun) > patience {
			c.t.Fatalf("not within %v: every tick is decided, and its run is over: %s", patience, open)
		}
	}
}

// unsettled describes a tick, due by then, that is not decided or has a run that is not over. Empty:
// there is none.
func unsettled(ctx context.Context, d store, by time.Time, jobs []Job) string {
	for i := range jobs {
		j, due := &jobs[i], by.UnixMilli()
		state := d.ReadSeries(ctx, []string{j.Name})[0]
		if every := j.Every.Milliseconds(); state.Err != nil || state.Mark < due-due%every {
			return fmt.Sprintf("%s is decided up to %d, %v", j.Name, state.Mark, state.Err)
		}
		for _, r := range state.Runs {
			if over := r.State == series.RunDone || r.State == series.RunLost; !over && r.Number <= due {
				return fmt.Sprintf("%s has the run %+v", j.Name, r)
			}
		}
	}
	return ""
}

// overdue returns the overdue ticks of each job while nodes are alive and after they had time to
// decide them, and to end the runs of ticks due by then. It returns at once if they have: on a busy
// machine they need longer, and a tick that is silently absent stays so.
func (c *Cluster) overdue(by time.Time, jobs ...Job) map[string][]verify.Overdue {
	c.t.Helper()
	d, done, err := openStore(c.t.Context(), c.addr, namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	defer done()
	for begun := time.Now(); ; <-time.After(probeEvery) {
		late := map[string][]verify.Overdue{}
		for _, j := range jobs {
			all, err := overdue(d, j.Name)
			if err != nil {
				c.t.Fatal(err)
			}
			if len(all) > 0 {
				late[j.Name] = all
			}
		}
		over := len(late) == 0 && unsettled(c.t.Context(), d, by, jobs) == ""
		bound := returning
		if c.opened(d, jobs) {
			bound = settling
		}
		if now := time.Now(); over || now.Sub(begun) > bound+c.Starved(begun, now) {
			return late
		}
	}
}

// opened reports whether any of the jobs is in the store.
func (c *Cluster) opened(d store, jobs []Job) bool {
	return slices.ContainsFunc(jobs, func(j Job) bool { return d.ReadSeries(c.t.Context(), []string{j.Name})[0].Mark != 0 })
}

// overdue returns the overdue ticks of a job, read as cronce verify reads them. A job that was
// never opened has none.
func overdue(d store, job string) ([]verify.Overdue, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	roll, err := d.Members(ctx)
	if err != nil {
		return nil, err
	}
	journal, err := d.Journal(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	state := d.ReadSeries(ctx, []string{job})[0]
	if state.Err != nil || state.Mark == 0 {
		return nil, state.Err
	}
	alive := map[string]bool{}
	for i := range roll.Members {
		alive[roll.Members[i].Node] = roll.Members[i].Alive(roll.Now)
	}
	o := verify.Options{State: &state, Grace: lateGrace, Alive: func(node string) bool { return alive[node] }}
	return verify.Job(journal, o).Late, nil
}

// late requires that no tick is overdue while nodes are alive and had time to decide it.
func (c *check) late() {
	for job, all := range c.Late {
		for _, o := range all {
			c.found(Overdue, job, o.Tick.UnixMilli(), "%d ticks up to %v are %s although nodes live; their time was over at %v",
				o.Ticks, later(o.Tick, o.Last), o.State, o.Since)
		}
	}
}

// capped reports whether the machine stood still for so long that the cap of a backlog explains a
// missed tick: as many later ticks as the cap were due before a node could claim it. A quarter of
// that time is left for the nodes to claim again.
func (c *check) capped(j *Job, tick int64, f *fate) bool {
	if j.Misfire != scheduler.MisfireAll || f.verdict != series.VerdictMissed || f.reason != series.ReasonMisfire {
		return false
	}
	from, stood := time.UnixMilli(tick), policy.Backlog*j.Every
	return c.Starved(from, from.Add(stood)) >= stood*3/4
}
