package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// backfill requests a backfill, or returns its plan if the request has no digest or is dry. Without an
// interval it stops the backfill that goes on.
func (c *Controller) backfill(ctx context.Context, old *series.Series, r *Request) Change {
	if r.Scope = ""; r.Backfill != nil {
		r.Scope = r.Backfill.scope(r.Anyway)
	}
	if a, known := c.repeated(ctx, old, r); known {
		return a
	}
	if r.Backfill == nil {
		return c.stopBackfill(ctx, old, r)
	}
	if old.Mark == 0 {
		return r.refused(old, series.RefusedNotOpen)
	}
	j, err := c.store.Journal(ctx, r.Key, 0)
	if err != nil {
		return c.unsent(r, err)
	}
	now := c.store.ReadSeries(ctx, []string{r.Key})[0] // after the journal
	if now.Err != nil {
		return c.unsent(r, now.Err)
	}
	plan, ok := newPlanner(&j, &now).plan(r.Backfill)
	node, _, err := c.holder(ctx, &j)
	switch {
	case err != nil:
		return c.unsent(r, err)
	case !ok:
		a := r.refused(&now, RefusedTicks)
		a.Text = fmt.Sprintf("%s has more than %d ticks in the interval: nothing was done, name a shorter one", r.Key, mostExamined)
		return a
	}
	r.Numbers, r.Room = plan.numbers(), plan.RoomMs
	a := c.planned(ctx, &now, r, &plan, node != "")
	a.Plan = &plan
	return a
}

// planned sends the request of a plan if it may be sent. Live reports that a node has the job.
func (c *Controller) planned(ctx context.Context, now *series.Series, r *Request, plan *Plan, live bool) Change {
	given := r.Backfill.Digest
	switch {
	case plan.Count > series.MaxBackfill:
		r.Numbers = nil // no store supports so many
		a := r.refused(now, RefusedTicks)
		a.Text = fmt.Sprintf("%s has %d such ticks in the interval, and a backfill has at most %d: nothing was done, name a shorter one", r.Key, plan.Count, series.MaxBackfill)
		return a
	case plan.Count == 0 && (given == "" || given == plan.Digest):
		return r.stands(now, plan.nothing(r.Key))
	case !live:
		return r.refused(now, RefusedNoNode)
	case r.Dry || given == "":
		a := r.foreseen(now)
		if a.Outcome == ChangeStands {
			a.Outcome, a.Text = ChangePlanned, plan.Text(r.Key)
		}
		return a
	case given != plan.Digest:
		a := r.refused(now, RefusedPlan)
		a.Text = fmt.Sprintf("%s: the plan has changed since it was shown, %s: nothing was done", r.Key, plan.Text(r.Key))
		return a
	}
	return c.once(ctx, r)
}

// stopBackfill stops the backfill of a job that goes on.
func (c *Controller) stopBackfill(ctx context.Context, old *series.Series, r *Request) (a Change) {
	if a = r.foreseen(old); !r.Dry {
		a = c.once(ctx, r)
	} else if a.Outcome == ChangeStands {
		a.Outcome, a.Text = ChangePlanned, fmt.Sprintf("the backfill of %s would be stopped, %s left", r.Key, plural(old.Left, "tick"))
	}
	if a.Outcome == ChangeRefused && a.Refusal == series.RefusedOver {
		return r.stands(&a.Series, "no backfill of "+r.Key+" goes on")
	}
	return a
}

// nothing is the answer to a request for a backfill without ticks.
func (p *Plan) nothing(job string) string {
	text := fmt.Sprintf("no tick of %s from %s to %s is to be repeated (%s)", job, p.From.Format(time.RFC3339), p.To.Format(time.RFC3339), p.Only)
	if p.Done > 0 {
		text += fmt.Sprintf(", an earlier backfill did the work of %d", p.Done)
	}
	if p.Unknown > 0 {
		text += fmt.Sprintf(", and the verdicts of %d are not known any more", p.Unknown)
	}
	return text
}

// Text is the plan in a few words.
func (p *Plan) Text(job string) string {
	text := fmt.Sprintf("%s of %s would be repeated, one after another", plural(p.Count, "tick"), job)
	if p.EstimateMs != nil {
		text += ", in about " + Short(time.Duration(*p.EstimateMs)*time.Millisecond)
		if *p.MostMs > *p.EstimateMs {
			text += " to " + Short(time.Duration(*p.MostMs)*time.Millisecond)
		}
		text += " of work"
	}
	return text
}

// Notes are sentences, without their periods, that a caller should read before the backfill is made.
func (p *Plan) Notes() []string {
	notes := slices.Clone(p.Warnings)
	if p.Done > 0 {
		notes = append(notes, plural(p.Done, "tick")+" left out: an earlier backfill did that work")
	}
	if p.Unknown > 0 {
		notes = append(notes, fmt.Sprintf("the verdicts of %s are not known any more", plural(p.Unknown, "tick")))
	}
	if !p.Complete {
		notes = append(notes, "the journal has each verdict after "+p.Begins.Format(time.RFC3339)+", and of earlier ones those that went wrong")
	}
	return notes
}

// A VerdictCount is the part of a plan with one verdict.
type VerdictCount struct {
	Verdict string
	N       int
}

// Counts returns how many ticks of the plan have each verdict, in the order of their first ticks.
func (p *Plan) Counts() (all []VerdictCount) {
	at := map[string]int{}
	for i := range p.Ticks {
		verdict := string(p.Ticks[i].Verdict)
		k, listed := at[verdict]
		if !listed {
			k, at[verdict] = len(all), len(all)
			all = append(all, VerdictCount{Verdict: verdict})
		}
		all[k].N++
	}
	return all
}

// A BackfillView is a backfill that goes on.
type BackfillView struct {
	Left int       `json:"left"`          // the number of ticks whose runs have not begun to wait
	Tick time.Time `json:"tick,omitzero"` // whose work the latest run does
	Run  time.Time `json:"run,omitzero"`  // the instant of that run
}

// Backfill returns the backfill of the job that goes on; nil: there is none.
func (j *Job) Backfill() *BackfillView {
	v := BackfillView{Left: j.Series.Left}
	for i := range j.Series.Runs {
		if r := &j.Series.Runs[i]; r.For != 0 && r.State < series.RunDone {
			v.Tick, v.Run = utc(r.For), utc(r.Number)
		}
	}
	if v == (BackfillView{}) {
		return nil
	}
	return &v
}

// String is the backfill in a few words.
func (v *BackfillView) String() string {
	text := fmt.Sprintf("backfill: %d left", v.Left)
	if !v.Tick.IsZero() {
		text += ", and one for the tick of " + TickText(v.Tick)
	}
	return text
}
