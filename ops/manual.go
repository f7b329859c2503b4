package ops

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/why"
)

// StartWithin is how long a requested run may wait for its start if the caller names no time.
const StartWithin = time.Minute

// MostStartWithin is the longest time that a requested run may wait for its start.
const MostStartWithin = time.Hour

// Refusals of a request for a run, and of a skip.
const (
	RefusedNoNode  series.Refusal = "no-handler" // no live node has the job
	RefusedNotTick series.Refusal = "not-a-tick" // the spec in force does not have the tick, or the job has no spec on record
)

// overlaps are the policies for a run beside another one, by their recorded words.
var overlaps = map[string]series.Overlap{policy.Queue: series.OverlapQueue, policy.Allow: series.OverlapAllow, policy.Replace: series.OverlapReplace}

// listed is implemented by a store with a list of nodes.
type listed interface {
	Members(ctx context.Context) (series.MemberList, error)
}

// manual requests a manual run, or with r.Dry returns the answer that the request would get now.
func (c *Controller) manual(ctx context.Context, old *series.Series, r *Request) Change {
	r.Scope = runScope(r.Queue, r.Anyway)
	if a, known := c.repeated(ctx, old, r); known {
		return a
	}
	j, err := c.store.Journal(ctx, r.Key, deciders)
	if err != nil {
		return c.unsent(r, err)
	}
	if last := why.LastUsed(j.Revisions); last != nil {
		policies, _ := policy.Parse(last.Policies)
		r.Overlap = overlaps[policies.Overlap]
	}
	if r.Queue && r.Overlap == series.OverlapSkip {
		r.Overlap = series.OverlapQueue
	}
	node, at, err := c.holder(ctx, &j)
	switch {
	case err != nil:
		return c.unsent(r, err)
	case node == "" && old.Mark != 0:
		return r.refused(old, RefusedNoNode)
	}
	a := Change{}
	if r.Dry {
		a = r.foreseen(old)
	} else {
		a = c.once(ctx, r)
	}
	if a.Outcome == ChangeMade || a.Outcome == ChangeStands {
		a.Text = strings.TrimPrefix(a.Text+unseen(node, at, old.Now), "; ")
	}
	return a
}

// reopened is the time in which most nodes decide a tick of each of their jobs, or open it again.
const reopened = time.Minute

// unseen returns the part of an answer about a node that has not been seen with the job since an instant, or "" if
// that is not long ago.
func unseen(node string, at, now int64) string {
	if node == "" || now-at < reopened.Milliseconds() {
		return ""
	}
	return fmt.Sprintf("; %s had the job at %s, and may have removed it in a reload since, which is known from %s on: then nothing starts",
		node, stamp(at), HadUntil(at).Format(time.RFC3339))
}

// runScope returns a request for a run in words that a repeated one has in common with the first one; "" if it
// neither waits for an alive run nor starts in a pause. How long it waits for its start is no part of it: copies
// of one request may name different ends.
func runScope(queue, anyway bool) string {
	var words []string
	if queue {
		words = append(words, "queue")
	}
	if anyway {
		words = append(words, whilePaused)
	}
	return strings.Join(words, ", ")
}

// repeated returns the answer to a request that an earlier one with the same Op has made, or that cannot
// be judged; false: it is to be sent. The request does not depend on other changes of the job.
func (c *Controller) repeated(ctx context.Context, old *series.Series, r *Request) (Change, bool) {
	if r.Seen = series.AnySeen; !r.Named || r.Dry {
		return Change{}, false
	}
	record, err := c.recorded(ctx, r)
	switch {
	case err != nil:
		return c.unsent(r, err), true
	case record != nil:
		return c.requested(old, r, record), true
	}
	return Change{}, false
}

// once sends a request for runs. A copy of an earlier request is answered with that one.
func (c *Controller) once(ctx context.Context, r *Request) Change {
	a := c.settled(ctx, r, c.request(ctx, r.Control))
	if a.Change != 0 && a.Number == 0 || a.Refusal == series.RefusedOp { // the first reply was lost, or a copy of this request was faster
		if record, err := c.recorded(ctx, r); err == nil && record != nil {
			return c.requested(&a.Series, r, record)
		}
	}
	return a
}

// requested returns the answer to a request that the audit has.
func (c *Controller) requested(old *series.Series, r *Request, record *series.AuditRecord) Change {
	if !r.made(record) {
		return r.refused(old, series.RefusedOp)
	}
	a := series.ControlAnswer{Change: record.Change, Audit: record.Number, Number: numberOf(record), Series: *old}
	return Change{ControlAnswer: a, Outcome: ChangeMade, Request: r.Control}
}

// numberOf returns the number of the run that a record is about; 0 if it is about none.
func numberOf(record *series.AuditRecord) int64 {
	state, _, _ := strings.Cut(record.After, ": ")
	_, number, _ := strings.Cut(state, " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// refused returns the answer to a request that was not sent.
func (r *Request) refused(old *series.Series, why series.Refusal) Change {
	a := Change{ControlAnswer: series.ControlAnswer{Refusal: why, Series: *old}, Outcome: ChangeRefused, Request: r.Control}
	a.Text = refusalText(&r.Control, &a.ControlAnswer)
	return a
}

// foreseen returns the answer that a request would get in the state old, by the rules of the store.
func (r *Request) foreseen(old *series.Series) Change {
	s := series.State{Mark: old.Mark, Fence: old.Fence, Change: old.Change, Paused: old.Paused, Pause: old.Pause, Runs: slices.Clone(old.Runs),
		Backfill: series.Backfill{Numbers: make([]int64, old.Left)}}
	answer, _ := s.Control(old.Now*1000, &r.Control, 1, nowhere{})
	answer.Made, answer.Change, answer.Audit, answer.Number, answer.Series = false, 0, 0, 0, *old
	a := Change{ControlAnswer: answer, Outcome: ChangeStands, Request: r.Control}
	if answer.Refusal != "" {
		a.Outcome, a.Text = ChangeRefused, refusalText(&r.Control, &answer)
		return a
	}
	if r.Action == series.ActionBackfill {
		return a
	}
	a.Text = r.Key + " would start at once"
	for i := range old.Runs {
		if o := &old.Runs[i]; o.State == series.RunOpen && o.Until > old.Now && r.Overlap != series.OverlapAllow {
			a.Text = fmt.Sprintf("%s would start when %s ends, within %v", r.Key, RunName(r.Key, o.Number), time.Duration(r.Until-old.Now)*time.Millisecond)
		}
	}
	return a
}

// nowhere drops the lines of a step that is only foreseen.
type nowhere struct{}

func (nowhere) Append(series.Line) {}

// deciders is how many lines of a journal are read to find a live node that has the job.
const deciders = 20

// holder returns a live node that has opened a job lately, or has decided one of its ticks, and when, or "" if there is none. The store has the
// node alone that opened the job last, and that one may have died. If the store has no list of nodes, holder returns the node that was seen last.
func (c *Controller) holder(ctx context.Context, j *series.Journal) (node string, at int64, err error) {
	list, err := driver.As[listed](c.driver)
	if err != nil {
		if last := why.LastUsed(j.Revisions); last != nil {
			return last.Node, last.Last, nil
		}
		return "", 0, nil
	}
	members, err := list.Members(ctx)
	if err != nil {
		return "", 0, err
	}
	node, at = Holder(&members, j)
	if other, later := decider(&members, j.Lines); later > at {
		return other, later, nil
	}
	return node, at, nil
}

// decider returns a live node that has decided a tick of a job lately, the latest one, and when, or "".
func decider(members *series.MemberList, lines []series.Line) (node string, at int64) {
	for i := range members.Members {
		m := &members.Members[i]
		for k := range lines {
			l := &lines[k]
			if l.Verdict != series.VerdictControl && l.Node == m.Node && l.At > at && m.Alive(members.Now) && members.Now-l.At < series.SightedWithin.Milliseconds() {
				node, at = m.Node, l.At
			}
		}
	}
	return node, at
}

// HadUntil returns until when a live node that had a job at an instant, in Unix ms, looks as if it had the job,
// although a reload may have removed it: a whole second.
func HadUntil(at int64) time.Time {
	return utc(at).Add(series.SightedWithin + time.Second - 1).Truncate(time.Second)
}

// Holder returns a live node that has opened a job lately, and when, Unix ms; "" if there is none. It
// reads the revisions of the journal alone. A node that has removed the job in a reload still counts until [HadUntil].
func Holder(members *series.MemberList, j *series.Journal) (node string, at int64) {
	for i := range members.Members {
		m := &members.Members[i]
		for k := range j.Revisions {
			use := &j.Revisions[k]
			if use.Node == m.Node && use.Last > at && m.Alive(members.Now) && members.Now-use.Last < series.SightedWithin.Milliseconds() {
				node, at = m.Node, use.Last
			}
		}
	}
	return node, at
}

// skip skips the tick of a request, the next one if it has none, or takes a skip back.
func (c *Controller) skip(ctx context.Context, old *series.Series, r *Request) Change {
	if old.Mark == 0 {
		return r.refused(old, series.RefusedNotOpen)
	}
	if r.Back {
		r.Number = 0
		if old.Skip == 0 {
			return r.stands(old, "no tick of "+r.Key+" is to be skipped")
		}
		return c.steered(ctx, old, r)
	}
	j, err := c.store.Journal(ctx, r.Key, 1)
	if err != nil {
		return c.unsent(r, err)
	}
	schedule := why.InForce(j.Revisions)
	switch {
	case schedule == nil:
		return r.refused(old, RefusedNotTick)
	case r.Number == 0:
		r.Number = schedule.NextMilli(max(old.Now, old.Mark))
	}
	switch {
	case r.Number == 0 || schedule.PrevMilli(r.Number) != r.Number:
		return r.refused(old, RefusedNotTick)
	case r.Number == old.Skip && !r.Named:
		return r.stands(old, RunName(r.Key, r.Number)+" is to be skipped already")
	}
	return c.steered(ctx, old, r)
}

// stands returns the answer to a request for the state in which the job is.
func (r *Request) stands(old *series.Series, text string) Change {
	return Change{ControlAnswer: series.ControlAnswer{Series: *old}, Outcome: ChangeStands, Text: text, Request: r.Control}
}

// steered sends a request that was decided on the state old.
func (c *Controller) steered(ctx context.Context, old *series.Series, r *Request) Change {
	made, err := c.made(ctx, old, r)
	switch {
	case err != nil:
		return c.unsent(r, err)
	case r.Seen != series.AnySeen:
	case made:
		r.Seen = 0 // the job has changes: a store that does not keep the operation refuses it
	default:
		r.Seen = old.Change
	}
	return c.settled(ctx, r, c.request(ctx, r.Control))
}
