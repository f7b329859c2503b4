package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A ControlStore is a store in which an operator changes jobs. It may also be a [driver.Refuser],
// and count attached replicas, by itself or by the driver of a [series.Front].
type ControlStore interface {
	ReadSeries(ctx context.Context, keys []string) []series.Series
	Journal(ctx context.Context, key string, n int) (series.Journal, error)
	series.Controlled
}

// attached is implemented by a store that counts the replicas of a key's server, including those
// that lag.
type attached interface {
	Attached(ctx context.Context, key string) (int, error)
}

// A Controller makes the changes of operators: commands, pages and API call it. It is safe for
// concurrent use. Make one with [NewController]: the zero Controller cannot be used.
type Controller struct {
	store    ControlStore
	driver   driver.Driver  // of the store
	attached attached       // nil: the store has no replicas
	refuser  driver.Refuser // nil: the store does not distinguish refusals
}

// NewController returns a controller of the jobs of a store.
func NewController(store ControlStore) *Controller {
	c := &Controller{store: store}
	var d any = store
	if front, ok := store.(series.Front); ok {
		d = front.Driver
	}
	c.driver, _ = d.(driver.Driver)
	c.attached, _ = d.(attached)
	c.refuser, _ = d.(driver.Refuser)
	return c
}

// A Request is a request for one change of a job. Make sets Due, Revision and Replicas. With
// AnySeen, Seen is the change that Make was given. Of a cancel, a run and a backfill Seen is ignored. Make
// sets Overlap and Scope of a run, and Numbers, Room and Scope of a backfill; a skip without Number skips the next tick.
type Request struct {
	series.Control
	Backfill *Backfill // the ticks of a backfill; nil in a backfill: the one that goes on is stopped
	Named    bool      // the caller has named Op, so that an earlier request may have made the change
	Decided  bool      // Seen and Until belong to the first request with this Op: whether the job is in this state already is not judged again
	Relative bool      // Until was given as a duration from now: a repeated request has the end of the first one
	Replace  bool      // replace a pause that ends earlier
	Queue    bool      // of a run: it may wait for the end of an alive run, also if the job skips ticks then
	Dry      bool      // of a run: only return the answer that it would get, as ChangeStands if it would be made. Of a backfill: as ChangePlanned
	Back     bool      // of a skip: take an earlier one back
}

// An Outcome is the result of a request.
type Outcome string

// The outcomes.
const (
	ChangeMade    Outcome = "made"    // by this request, or by an earlier one with the same Op
	ChangeDated   Outcome = "dated"   // by an earlier request with the same Op, and another change was made since: see Latest
	ChangePlanned Outcome = "planned" // the backfill would be made with the digest of Plan, or would be stopped: nothing was done
	ChangeStands  Outcome = "stands"  // the job was in the requested state: nothing was done
	ChangeRefused Outcome = "refused" // nothing was done: see Refusal
	ChangeFailed  Outcome = "failed"  // this request did nothing: the store was not read, or it refuses the user; see Err
	ChangeDoubt   Outcome = "doubt"   // not known: repeat the request with the same Op; see Err
)

// Refusals of a request that was not sent.
const (
	RefusedPaused  series.Refusal = "job-paused"  // another caller has paused the job, and the named operation was not done
	RefusedShorter series.Refusal = "job-shorter" // the job is paused, and that pause ends earlier
	RefusedRetired series.Refusal = "job-retired"
	RefusedTicks   series.Refusal = "too-many-ticks" // the interval of a backfill has more ticks than one may have
	RefusedPlan    series.Refusal = "plan-changed"   // the plan of a backfill has another digest now
)

// A Change is the answer to a [Request].
type Change struct {
	series.ControlAnswer
	Outcome Outcome
	Text    string         // the answer in words, without its own period; empty if the store failed, or if the change was made, but for a run or a resume after which perhaps nothing starts
	Request series.Control // as it was sent
	Plan    *Plan          // of a backfill: its ticks now; nil: it was not judged
}

// The number of requests while the answer is doubt, and the time between two. All have the same Op,
// so that the change is made once.
const (
	requests        = 3
	betweenRequests = 300 * time.Millisecond
)

// Make requests a change of a job, unless that is its state already. Old is the state that the
// caller has read from the store, or has the error of that reading. A named operation that the store
// does not keep any more is found in the audit, so that it is not done twice. If a replica is
// attached, it must have the change: a replica that lags is doubt, because it may be promoted without
// the change.
func (c *Controller) Make(ctx context.Context, old *series.Series, r Request) Change {
	if old.Err != nil {
		return c.unsent(&r, old.Err)
	}
	if r.Action == series.ActionCancel { // it names its run: other changes of the job do not matter
		r.Seen = series.AnySeen
		return c.settled(ctx, &r, c.request(ctx, r.Control))
	}
	switch r.Action {
	case series.ActionRun:
		return c.manual(ctx, old, &r)
	case series.ActionSkip:
		return c.skip(ctx, old, &r)
	case series.ActionBackfill:
		return c.backfill(ctx, old, &r)
	}
	made, err := c.made(ctx, old, &r)
	if err != nil {
		return c.unsent(&r, err)
	}
	switch {
	case r.Seen != series.AnySeen:
	case made:
		r.Seen = 0 // the job has changes: a store that does not keep the operation refuses it
	default:
		r.Seen = old.Change
	}
	if !r.Decided && !made && r.Seen == old.Change {
		if a := stands(old, &r); a.Outcome != "" {
			return a
		}
	}
	held, unread := c.held(ctx, old, &r.Control)
	switch revives := old.Retired() && !r.Decided && !made && r.Seen == old.Change; {
	case revives && unread != nil:
		return c.unsent(&r, unread)
	case revives && !held: // all its ticks would be overdue
		return r.refused(old, RefusedNoNode)
	}
	if err := c.due(ctx, old, &r.Control); err != nil {
		return c.unsent(&r, err)
	}
	a := c.request(ctx, r.Control)
	if a.Refusal == series.RefusedOp && r.Relative { // a copy of this request was faster
		record, err := c.recorded(ctx, &r)
		if err != nil {
			return c.unsent(&r, err)
		}
		if record != nil {
			a = c.request(ctx, r.Control)
		}
	}
	if a.Outcome == ChangeMade && !held && unread == nil {
		a.Text = "no live node has " + r.Key + ": its ticks are overdue until one opens it, see cronce status nodes"
	}
	return c.settled(ctx, &r, a)
}

// held reports whether a live node has the job of a resume, as far as the store shows it. Other changes need no node, and neither do
// the ticks that crontab commands claim.
func (c *Controller) held(ctx context.Context, old *series.Series, r *series.Control) (bool, error) {
	if r.Action != series.ActionResume || old.Mark == 0 {
		return true, nil
	}
	j, err := c.store.Journal(ctx, r.Key, deciders)
	if err != nil {
		return false, err
	}
	if last := why.LastUsed(j.Revisions); last == nil || crontab(last) {
		return true, nil
	}
	node, _, err := c.holder(ctx, &j)
	return node != "", err
}

// unsent returns the answer to a request that was not sent, because the store was not read.
func (c *Controller) unsent(r *Request, err error) Change {
	a := Change{ControlAnswer: series.ControlAnswer{Err: err}, Outcome: ChangeFailed, Request: r.Control}
	if r.Relative {
		a.Request.Until = 0 // the first request may have another end
	}
	if r.Named && !c.refuses(err) {
		a.Outcome, a.Text = ChangeDoubt, doubtText(&r.Control)
	}
	return a
}

// settled returns the answer to a request. The store keeps few operations: it may have refused a named
// one that was done before, which the audit has.
func (c *Controller) settled(ctx context.Context, r *Request, a Change) Change {
	if !r.Named || a.Refusal != series.RefusedOver && a.Refusal != series.RefusedChanged {
		return a
	}
	record, err := c.recorded(ctx, r)
	switch {
	case err != nil:
		return c.unsent(r, err)
	case record == nil:
		return a
	case !r.made(record):
		a.Refusal = series.RefusedOp
		a.Text = refusalText(&r.Control, &a.ControlAnswer)
		return a
	}
	a.Refusal, a.Change, a.Audit = "", record.Change, record.Number
	return dated(a)
}

// made reports whether a record with the operation of a request is of the same change.
func (r *Request) made(a *series.AuditRecord) bool {
	switch {
	case a.Action != r.Action || a.Who != r.Who || a.Reason != r.Reason:
		return false
	case r.Action == series.ActionCancel:
		return a.After == "cancelled "+strconv.FormatInt(r.Number, 10)
	case r.Action == series.ActionSkip:
		return a.After == "skip "+strconv.FormatInt(r.Number, 10)
	case r.Action == series.ActionRun:
		_, scope, _ := strings.Cut(a.After, ": ")
		return scope == r.Scope
	case r.Action == series.ActionBackfill:
		_, scope, _ := strings.Cut(a.After, ": ")
		return scope == r.Scope && (a.After == stoppedBackfill) == (r.Backfill == nil)
	}
	return pausedUntil(a.After) == r.Until
}

// dated returns the answer to a request that was made before another change.
func dated(a Change) Change {
	a.Outcome = ChangeDated
	a.Text = fmt.Sprintf("%s: the operation %s was done before, as change %d; since then %s", a.Request.Key, a.Request.Op, a.Change, latestText(&a.Latest))
	return a
}

// made reports whether an earlier request with the named operation made the change. Nothing was
// made since the change that the caller has seen, if that is the latest one.
func (c *Controller) made(ctx context.Context, old *series.Series, r *Request) (bool, error) {
	switch {
	case !r.Named || r.Seen == old.Change:
		return false, nil
	case old.Paused && old.Pause.Op == r.Op:
		r.endsAt(old.Pause.Until)
		return true, nil
	}
	record, err := c.recorded(ctx, r)
	return record != nil, err
}

// recorded returns the record of the operation in the audit, or nil.
func (c *Controller) recorded(ctx context.Context, r *Request) (*series.AuditRecord, error) {
	records, err := c.store.Audit(ctx, r.Key, 0)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(records, func(a series.AuditRecord) bool { return a.Op == r.Op })
	if i < 0 {
		return nil, nil
	}
	r.endsAt(pausedUntil(records[i].After))
	return &records[i], nil
}

// endsAt sets the end of a repeated request.
func (r *Request) endsAt(until int64) {
	if r.Relative {
		r.Until = until
	}
}

// stands judges a request by the state of the job: the job may be in the requested state, and
// another pause is not shortened or extended by accident. The zero Change is neither.
func stands(old *series.Series, r *Request) Change {
	paused := old.PausedAt(old.Now)
	is := old.Key + " is paused already" + PauseText(&old.Pause)
	refused := func(why series.Refusal, text string) Change {
		return Change{ControlAnswer: series.ControlAnswer{Refusal: why, Series: *old}, Outcome: ChangeRefused, Text: text, Request: r.Control}
	}
	stand := func(text string) Change {
		return Change{ControlAnswer: series.ControlAnswer{Series: *old}, Outcome: ChangeStands, Text: text, Request: r.Control}
	}
	switch p := &old.Pause; {
	case r.Action == series.ActionResume && !paused:
		return stand(old.Key + " is not paused")
	case r.Action != series.ActionPause || !paused || r.Replace:
		return Change{}
	case p.Retired():
		return refused(RefusedRetired, old.Key+" is retired"+PauseText(p))
	case p.Until != 0 && (r.Until == 0 || r.Until > p.Until):
		return refused(RefusedShorter, is)
	case r.Named && p.Who != r.Who:
		return refused(RefusedPaused, fmt.Sprintf("%s: the operation %s was not done", is, r.Op))
	}
	return stand(is)
}

// due adds to a request the latest tick that was due before it and that no node has decided. A
// pause begins when it is made, so these ticks are missed, as in an outage of all nodes.
func (c *Controller) due(ctx context.Context, old *series.Series, r *series.Control) error {
	if r.Action == series.ActionResume {
		return nil
	}
	j, err := c.store.Journal(ctx, r.Key, 1)
	if err != nil {
		return err
	}
	if tick, revision := verify.NewJudge(j, verify.Options{State: old}).Outage(); !tick.IsZero() {
		r.Due, r.Revision = tick.UnixMilli(), revision
	}
	return nil
}

// request sends a request until the answer is no doubt.
func (c *Controller) request(ctx context.Context, r series.Control) Change {
	a := Change{Request: r}
	if a.Err = r.Check(); a.Err != nil { // a driver that is no series.Front would make what it does not know
		a.Outcome = ChangeFailed
		return a
	}
	doubt := false // an earlier request may have been made
	for i := range requests {
		if i > 0 && wait.Sleep(ctx, betweenRequests) != nil {
			break
		}
		if a.ControlAnswer = c.control(ctx, &r); a.Err == nil || c.refuses(a.Err) {
			break
		}
		doubt = true
	}
	a.Request = r
	switch {
	case a.Err != nil && !doubt && c.refuses(a.Err):
		a.Outcome = ChangeFailed
	case a.Err != nil:
		a.Outcome, a.Text = ChangeDoubt, doubtText(&r)
	case a.Refusal == series.RefusedCancelled:
		a.Outcome, a.Text = ChangeStands, RunName(r.Key, r.Number)+" is cancelled already"
	case a.Refusal != "":
		a.Outcome, a.Text = ChangeRefused, refusalText(&r, &a.ControlAnswer)
	case !a.Made && a.Change != a.Series.Change:
		return dated(a)
	default:
		a.Outcome = ChangeMade
	}
	return a
}

// control sends a request once. While the store does not say how many replicas are attached, one may be that must have the change:
// that is doubt. A store that refuses the question has none.
func (c *Controller) control(ctx context.Context, r *series.Control) series.ControlAnswer {
	if c.attached != nil {
		n, err := c.attached.Attached(ctx, r.Key)
		if err != nil && !c.refuses(err) {
			return series.ControlAnswer{Err: err}
		}
		r.Replicas = min(n, 1)
	}
	return c.store.Control(ctx, *r)
}

// refuses reports whether a request had no effect and will have none.
func (c *Controller) refuses(err error) bool {
	_, invalid := errors.AsType[*driver.ArgumentError](err)
	return invalid || errors.Is(err, driver.ErrUnsupported) || c.refuser != nil && c.refuser.Refuses(err)
}

func doubtText(c *series.Control) string {
	return fmt.Sprintf("whether the %s of %s was done is not known", c.Action, c.Key)
}

// refusalText returns the reason why a change was not made.
func refusalText(c *series.Control, a *series.ControlAnswer) string {
	switch a.Refusal {
	case series.RefusedNotOpen:
		return fmt.Sprintf("%s was never opened by a node, or the store lost its state: there is nothing to %s until a node that has it opens it", c.Key, c.Action)
	case series.RefusedOp:
		return fmt.Sprintf("the operation %s was used for another change of %s: nothing was done", c.Op, c.Key)
	case series.RefusedChanged:
		return fmt.Sprintf("%s: another change came first, %s: nothing was done, see how it stands and ask again", c.Key, latestText(&a.Latest))
	case series.RefusedNotPaused:
		return fmt.Sprintf("%s is not paused", c.Key)
	case series.RefusedPast:
		return fmt.Sprintf("%s: the %s would have been over before it began: nothing was done", c.Key, c.Action)
	case series.RefusedPaused:
		return c.Key + " is paused" + PauseText(&a.Series.Pause) + ": nothing was done"
	case series.RefusedFull:
		if c.Action == series.ActionBackfill {
			return c.Key + " has a backfill that is not over: nothing was done, see cronce status jobs show " + c.Key
		}
		return fmt.Sprintf("%s has %d requested runs that have not started: nothing was done", c.Key, series.MaxRequested)
	case RefusedNoNode:
		if c.Action == series.ActionResume {
			return "no live node has " + c.Key + ", which is retired: nothing was done, a node that opens it ends the retirement"
		}
		return "no live node has " + c.Key + ": nothing was done, see cronce status nodes"
	case RefusedNotTick:
		if c.Number == 0 {
			return c.Key + " has no further tick, or no spec on record: nothing was done"
		}
		return RunName(c.Key, c.Number) + " is no tick of the spec in force: nothing was done"
	case series.RefusedAlive:
		return fmt.Sprintf("%s has a run that is alive: nothing was done, see cronce runs %s --alive", c.Key, c.Key)
	case series.RefusedOver:
		if c.Action == series.ActionSkip {
			return RunName(c.Key, c.Number) + " is decided: nothing was done"
		}
		return RunName(c.Key, c.Number) + " has ended, or no node was granted it: nothing was done"
	case series.RefusedFence:
		return RunName(c.Key, c.Number) + " has another attempt: nothing was done"
	}
	return fmt.Sprintf("%s: %s: nothing was done", c.Key, a.Refusal)
}

// RunName returns the id of a run without its namespace.
func RunName(job string, number int64) string {
	return job + "@" + TickText(utc(number))
}
