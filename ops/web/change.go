package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

const (
	// ChangeTimeout bounds a change of one job. A server that shuts down gives the requests in flight as long.
	ChangeTimeout = 10 * time.Second

	freshTimeout = 3 * time.Second // of the refresh after a change
)

// actions are the changes of several jobs that a page can make.
var actions = []series.Action{series.ActionPause, series.ActionResume}

// oneActions are the changes of one job that a page or a program can make.
var oneActions = []series.Action{series.ActionPause, series.ActionResume, series.ActionRun, series.ActionSkip, series.ActionCancel, series.ActionBackfill}

// changeRoute returns the pattern of the route that changes one job, or one of its ticks.
func changeRoute(base string, action series.Action) string {
	switch action {
	case series.ActionCancel, series.ActionSkip:
		return "POST " + base + "/jobs/{job}/ticks/{tick}/" + string(action)
	case series.ActionRun:
		return "POST " + base + "/jobs/{job}/runs"
	case series.ActionBackfill:
		return "POST " + base + "/jobs/{job}/backfills"
	}
	return "POST " + base + "/jobs/{job}/" + string(action)
}

// A wish is a change that a form or a program requests. Its texts are as they were sent.
type wish struct {
	Action series.Action
	Op     string // empty: the caller has named none
	Reason string
	Until  string // of a pause: its end; empty: until a resume. Of a run: the latest instant of its start
	Tick   string // of a cancel: the run's; of a skip: the tick
	Seen   int64

	Queue, Anyway bool // of a run: it may wait for an alive run, and start in a pause. Of a backfill: Anyway
	Dry           bool // of a run and a backfill: only the answer is wanted
	Back          bool // of a skip: it is taken back

	First, Last, Only, Room, Digest string // of a backfill; the first two are the ends of its interval
	Stop                            bool   // of a backfill: the one that goes on ends
}

// request returns the request of a wish for a job, or a sentence about a value that is not allowed.
func (x *wish) request(c access.Caller, job string, now time.Time) (r ops.Request, fault string) {
	r.Control = series.Control{Key: job, Action: x.Action, Op: cmp.Or(x.Op, rand.Text()), Who: whoOf(c.ID), Reason: strings.TrimSpace(x.Reason), Seen: x.Seen}
	r.Named = x.Op != ""
	r.Queue, r.Anyway, r.Dry, r.Back = x.Queue, x.Anyway, x.Dry, x.Back
	if x.Action == series.ActionCancel || x.Action == series.ActionSkip {
		tick, err := time.Parse(time.RFC3339, x.Tick)
		if err != nil {
			return r, fmt.Sprintf("the tick is %q, must be RFC 3339", clip(x.Tick))
		}
		r.Number = tick.UnixMilli()
	}
	if x.Action == series.ActionBackfill && !x.Stop {
		if r.Backfill, fault = x.interval(); fault != "" {
			return r, fault
		}
	}
	if x.Until != "" {
		until, relative, fault := endOf(x.Until, now)
		if fault != "" {
			return r, fault
		}
		r.Until, r.Relative = until.UnixMilli(), relative
		if x.Action == series.ActionRun && until.Sub(now) > ops.MostStartWithin+time.Minute {
			return r, fmt.Sprintf("until is %q, must be at most %v from now", clip(x.Until), ops.MostStartWithin)
		}
	} else if x.Action == series.ActionRun {
		r.Until = now.Add(ops.StartWithin).UnixMilli()
	}
	return r, faultText(r.Check())
}

// interval returns the ticks of a backfill, or a sentence about a value that is not allowed.
func (x *wish) interval() (b *ops.Backfill, fault string) {
	b = &ops.Backfill{Only: ops.Only(x.Only), Digest: x.Digest}
	for _, end := range []struct {
		name, text string
		at         *time.Time
	}{{"from", x.First, &b.From}, {"to", x.Last, &b.To}} {
		var ok bool
		if *end.at, ok = instantOf(end.text); !ok {
			return nil, fmt.Sprintf("%s is %q, must be RFC 3339, or an instant in UTC (2026-01-31 02:00)", end.name, clip(end.text))
		}
	}
	if x.Room != "" {
		room, err := time.ParseDuration(x.Room)
		if err != nil || room <= 0 {
			return nil, fmt.Sprintf("room is %q, must be how long a run may take (30s)", clip(x.Room))
		}
		b.Room = room
	}
	return b, faultText(b.Check())
}

// faultText is the sentence about an argument that is not allowed; "" without an error.
func faultText(err error) string {
	if bad, ok := errors.AsType[*driver.ArgumentError](err); ok {
		return fmt.Sprintf("%s is %s, must be %s", bad.Argument, clip(bad.Value), bad.Allowed)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// instantOf returns an instant in RFC 3339 or in UTC, and reports whether the text is one.
func instantOf(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// endOf returns the end of a pause from a duration or an instant, or a sentence about a bad text.
func endOf(text string, now time.Time) (until time.Time, relative bool, fault string) {
	if d, err := time.ParseDuration(strings.TrimPrefix(text, "+")); err == nil && d > 0 {
		return now.Add(d), true, ""
	}
	if t, ok := instantOf(text); ok {
		return t, false, ""
	}
	return until, false, fmt.Sprintf("until is %q, must be how long from now (+8h) up to 2562047h, RFC 3339, or an instant in UTC (2026-01-31 02:00)", clip(text))
}

// change reads the state of a job and requests a change of it. It does not end with its request, so that
// the caller gets the answer of the store also while the server shuts down. A refusal is logged, unless it is the refusal of a dry run.
func (h *Handler) change(ctx context.Context, r ops.Request) ops.Change {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), ChangeTimeout)
	defer stop()
	old := h.o.Store.ReadSeries(ctx, []string{r.Key})[0]
	a := h.controller.Make(ctx, &old, r)
	if a.Outcome == ops.ChangeRefused && !r.Dry {
		_, kind, _ := statusOf(&a)
		h.refusals.add(refusal{r.Who, string(r.Action), r.Key, kind})
	}
	return a
}

// fresh returns a snapshot in which a job has a change. If the store does not answer soon, the
// snapshot is older.
func (h *Handler) fresh(ctx context.Context, job string, change int64) *ops.Snapshot {
	s := h.o.Projection.Snapshot()
	if j := s.Job(job); j != nil && j.Series.Change >= change {
		return s
	}
	ctx, stop := context.WithTimeout(ctx, freshTimeout)
	defer stop()
	return h.o.Projection.Refresh(ctx)
}

// statusOf returns the status, the kind of problem and the words for the answer to a request. The kind
// is empty if the job is in the requested state.
func statusOf(a *ops.Change) (status int, kind, text string) {
	switch a.Outcome {
	case ops.ChangeDoubt:
		return http.StatusServiceUnavailable, "doubt", a.Text
	case ops.ChangeFailed:
		if errors.Is(a.Err, driver.ErrUnsupported) {
			return http.StatusNotImplemented, "unsupported", "the store of this plane changes no job"
		}
		return http.StatusServiceUnavailable, "store-unreachable", "the store does not answer, or refuses this plane: nothing was done"
	case ops.ChangeRefused:
		status, kind = http.StatusConflict, string(a.Refusal)
		switch a.Refusal {
		case series.RefusedOp:
			status, kind = http.StatusUnprocessableEntity, "key-reused"
		case series.RefusedNotOpen:
			status, kind = http.StatusNotFound, "not-found"
		case series.RefusedPast:
			status, kind = http.StatusBadRequest, "invalid"
		case series.RefusedNotPaused:
			kind = "job-not-paused"
		case series.RefusedOver:
			kind = "run-over"
			if a.Request.Action == series.ActionSkip {
				kind = "tick-decided"
			}
		case series.RefusedPaused:
			kind = string(ops.RefusedPaused)
		case series.RefusedAlive:
			kind = "run-alive"
		case series.RefusedFull:
			kind = "too-many"
			if a.Request.Action == series.ActionBackfill {
				kind = "backfill-on"
			}
		case ops.RefusedPlan:
			status = http.StatusPreconditionFailed
		case ops.RefusedShorter:
			kind = string(ops.RefusedPaused)
		}
		return status, kind, a.Text
	}
	return http.StatusOK, "", a.Text
}

// A form is a form that changes one job or several.
type form struct {
	wish
	To   string // its address
	Many []seenJob
	At   string // an end from the field for an instant

	Again bool // it repeats a request, with the same fields

	Plan *ops.Plan // of a backfill: the answer to its form, which sends the plan's digest
}

// A seenJob is a job with the change that the caller has seen.
type seenJob struct {
	Name string
	Seen int64
}

// newForm returns an empty form for a job. Each rendering of a form has an operation of its own.
func newForm(action series.Action, job string, seen int64) form {
	return form{wish: wish{Action: action, Op: rand.Text(), Seen: seen}, To: "/jobs/" + url.PathEscape(job) + "/" + string(action)}
}

// tickForm returns an empty form that cancels the run of a tick, or skips the tick.
func tickForm(action series.Action, job string, tick time.Time, seen int64) *form {
	return &form{wish: wish{Action: action, Op: rand.Text(), Seen: seen}, To: tickPath(job, tick) + "/" + string(action)}
}

// runForm returns an empty form that requests a run of a job.
func runForm(job string) *form {
	return &form{wish: wish{Action: series.ActionRun, Op: rand.Text()}, To: "/jobs/" + url.PathEscape(job) + "/runs"}
}

// backfillForm returns an empty form that asks for the plan of a backfill of a job, or that stops the one that
// goes on.
func backfillForm(job string, stop bool) *form {
	f := &form{wish: wish{Action: series.ActionBackfill, Op: rand.Text(), Stop: stop}, To: "/jobs/" + url.PathEscape(job) + "/backfills"}
	if stop {
		f.To += stopSuffix
	}
	return f
}

// stopSuffix is the end of the pattern of the routes that stop a backfill.
const stopSuffix = "/stop"

// stops reports whether a request is one to stop a backfill.
func stops(r *http.Request) bool { return strings.HasSuffix(r.Pattern, stopSuffix) }

// wishOf reads a wish from a form.
func wishOf(r *http.Request, action series.Action) (x wish, at, fault string) {
	x = wish{Action: action, Tick: r.PathValue("tick"), Op: r.PostFormValue("op"), Reason: r.PostFormValue("reason"), Until: r.PostFormValue("until"),
		Queue: r.PostFormValue("queue") != "", Anyway: r.PostFormValue("while_paused") != "", Back: r.PostFormValue("back") != "",
		First: r.PostFormValue("from"), Last: r.PostFormValue("to"), Only: r.PostFormValue("only"), Room: r.PostFormValue("room"), Digest: r.PostFormValue("digest"), Stop: stops(r)}
	var err error
	seen := cmp.Or(r.PostFormValue("seen"), "0")
	if x.Seen, err = strconv.ParseInt(seen, 10, 64); err != nil || x.Seen < 0 {
		fault = seenFault(strconv.Quote(clip(seen)))
	}
	if at = r.PostFormValue("at"); at != "" && x.Until != "" {
		return x, at, "the pause has two ends: choose one"
	}
	x.Until = cmp.Or(x.Until, at)
	if x.Op == "" {
		fault = "op is missing"
	}
	return x, at, fault
}

// seenFault is the sentence about a bad seen.
func seenFault(value string) string {
	return fmt.Sprintf("seen is %s, must be the number of a change, 0 or more", value)
}

// A changeBody is the body of the page that answers a form.
type changeBody struct {
	Job   string
	Title string
	Fault string
	Pause *ops.PauseView
	Form  *form // nil: there is nothing to send

	Fine bool // Fault is no fault: it is about the plan of a backfill, or about a resume that was made
}

// changeOne changes the job of a page.
func (h *Handler) changeOne(action series.Action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, name := h.o.Projection.Snapshot(), r.PathValue("job")
		if s.Job(name) == nil {
			h.missing(w, r, s, "There is no job of this name on record.")
			return
		}
		x, at, fault := wishOf(r, action)
		var request ops.Request
		if fault == "" {
			request, fault = x.request(callerOf(r), name, s.Now())
		}
		b := changeBody{Job: name, Title: "Not done", Fault: fault, Form: &form{wish: x, To: r.URL.EscapedPath(), At: at}}
		if fault != "" {
			h.showChange(w, r, s, http.StatusBadRequest, b)
			return
		}
		a := h.change(r.Context(), request)
		status, kind, text := statusOf(&a)
		warned := a.Outcome == ops.ChangeMade && action == series.ActionResume && text != "" // a redirect would lose the text
		b.Fine = warned || a.Outcome == ops.ChangePlanned || a.Outcome == ops.ChangeStands && a.Plan != nil
		if b.Fault = text; kind == "" && a.Outcome != ops.ChangeDated && !b.Fine {
			h.fresh(r.Context(), name, a.Series.Change)
			to := fmt.Sprintf("/jobs/%s?change=%d", url.PathEscape(name), a.Series.Change)
			switch action {
			case series.ActionCancel, series.ActionSkip:
				to = tickPath(name, time.UnixMilli(request.Number))
			case series.ActionRun:
				to = tickPath(name, time.UnixMilli(a.Number))
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
		if a.Series.Key != "" { // the store has returned the state
			s = h.fresh(r.Context(), name, a.Series.Change)
		}
		switch a.Outcome {
		case ops.ChangeDoubt:
			b.Title = "Not known"
		case ops.ChangeDated:
			b.Title = "Done before"
		case ops.ChangePlanned:
			b.Title = "Backfill"
		case ops.ChangeMade:
			b.Title = "Resumed"
		}
		b.next(s, &a, kind)
		h.showChange(w, r, s, status, b)
	}
}

// next sets the form that follows an answer: the same request after doubt, a new one after a
// refusal, and none if the job is in the requested state.
func (b *changeBody) next(s *ops.Snapshot, a *ops.Change, kind string) {
	if kind == "doubt" || kind == "store-unreachable" {
		b.Form.Again = true
		if a.Request.Until != 0 {
			b.Form.Until, b.Form.At = untilText(a.Request.Until), ""
		}
		return
	}
	j := s.Job(b.Job)
	if j == nil || b.Form.Action == series.ActionCancel || b.Form.Action == series.ActionSkip {
		b.Form = nil
		return
	}
	v := s.View(j, false)
	b.Pause = v.Pause
	switch {
	case b.Form.Stop:
		b.Form = nil
		return
	case b.Form.Action == series.ActionRun || b.Form.Action == series.ActionBackfill:
		b.Form.Op = rand.Text()
		if a.Outcome == ops.ChangePlanned || a.Refusal == ops.RefusedPlan {
			b.Form.Plan = a.Plan
		}
		return
	}
	if v.Paused != (b.Form.Action == series.ActionResume) {
		b.Form = nil
		return
	}
	b.Form.Op, b.Form.Seen = rand.Text(), j.Series.Change
}

// untilText returns the end of a pause as a form repeats it.
func untilText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
}

func (h *Handler) showChange(w http.ResponseWriter, r *http.Request, s *ops.Snapshot, status int, b changeBody) {
	h.show(w, r, status, "change", view{Title: b.Job, Nav: "jobs", S: s, Body: b, Here: "/jobs/" + url.PathEscape(b.Job)})
}
