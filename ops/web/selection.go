package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// selectionRoute is the route that changes several jobs.
const selectionRoute = "POST /changes"

const (
	mostSelected     = 1000 // jobs of one request
	abreast          = 8    // jobs that are changed at once
	selectionTimeout = 40 * time.Second
)

// A selectionBody is the body of the page that lists jobs before they are changed.
type selectionBody struct {
	Action  series.Action
	Jobs    []*ops.Job // that the change affects
	Already int        // jobs that are in the requested state
	Missing []string
	Fault   string
	Form    form
}

// plan lists the selected jobs, or all jobs of a filter, with the form that changes them. It changes
// nothing.
func (h *Handler) plan(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	b := selectionBody{Action: series.Action(r.FormValue("action"))}
	status := http.StatusOK
	if b.Fault = b.list(r, s); b.Fault != "" {
		status, b.Jobs = http.StatusBadRequest, nil
	}
	b.Form = form{wish: wish{Action: b.Action, Op: rand.Text()}, To: "/changes"}
	for _, j := range b.Jobs {
		b.Form.Many = append(b.Form.Many, seenJob{j.Name, j.Series.Change})
	}
	h.show(w, r, status, "selection", view{Title: "Change jobs", Nav: "jobs", S: s, Body: b})
}

// list finds the jobs of a request. It returns a sentence about a bad one.
func (b *selectionBody) list(r *http.Request, s *ops.Snapshot) string {
	if bad := actionFault(b.Action); bad != "" {
		return bad
	}
	var found []*ops.Job
	if r.FormValue("all") != "" {
		f, bad := filterOf(r)
		if bad != "" {
			return bad
		}
		f.Sort = ""
		found = s.Find(f)
	} else {
		_ = r.ParseForm()
		for _, name := range slices.Compact(slices.Sorted(slices.Values(r.Form["job"]))) {
			if j := s.Job(name); j != nil {
				found = append(found, j)
			} else {
				b.Missing = append(b.Missing, name)
			}
		}
	}
	for _, j := range found {
		if paused := j.Series.PausedAt(j.Series.Now); paused == (b.Action == series.ActionPause) {
			b.Already++
		} else {
			b.Jobs = append(b.Jobs, j)
		}
	}
	if n := len(b.Jobs); n > mostSelected {
		return fmt.Sprintf("%s jobs are selected, and at most %s are changed at once: narrow the filter", thousands(n), thousands(mostSelected))
	}
	return ""
}

// actionFault returns a sentence about an action that changes one job alone, or none.
func actionFault(action series.Action) string {
	if !slices.Contains(actions, action) {
		return "action must be pause or resume"
	}
	return ""
}

// A changesBody is the body of the page with the results for several jobs.
type changesBody struct {
	Action  series.Action
	Results []result
	Made    int
	Fault   string
	Form    *form // for the jobs whose result is not known; nil: there is none
}

// A result is the answer for one job.
type result struct {
	Job   string
	State ops.State // whose mark it gets
	Text  string
}

// changeMany changes the jobs of a form. The jobs are independent: each has its own answer.
func (h *Handler) changeMany(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	action := series.Action(r.PostFormValue("action"))
	x, at, fault := wishOf(r, action)
	jobs, bad := jobsOf(r)
	b := changesBody{Action: action, Fault: cmp.Or(actionFault(action), bad, fault)}
	b.Form = &form{wish: x, To: "/changes", Many: jobs, At: at}
	var first ops.Request
	if b.Fault == "" {
		first, b.Fault = x.request(callerOf(r), jobs[0].Name, s.Now())
	}
	if b.Fault != "" {
		if len(jobs) == 0 || !slices.Contains(actions, action) {
			b.Form = nil
		}
		h.showChanges(w, r, http.StatusBadRequest, b)
		return
	}
	// A list takes longer than a page.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(selectionTimeout + ChangeTimeout))
	all := h.changeAll(r.Context(), s, first, jobs)
	ctx, stop := context.WithTimeout(r.Context(), freshTimeout)
	defer stop()
	h.o.Projection.Refresh(ctx)
	h.showChanges(w, r, b.results(first, jobs, all), b)
}

// jobsOf reads the jobs of a form, each with the change that the caller has seen.
func jobsOf(r *http.Request) (jobs []seenJob, fault string) {
	names, seen := r.PostForm["job"], r.PostForm["seen"]
	switch {
	case len(names) == 0:
		return nil, "no job is selected"
	case len(names) > mostSelected:
		return nil, fmt.Sprintf("%s jobs are selected, must be at most %s", thousands(len(names)), thousands(mostSelected))
	case len(seen) != len(names):
		return nil, "each job must have its seen"
	}
	for i, name := range names {
		n, err := strconv.ParseInt(seen[i], 10, 64)
		if err != nil || n < 0 {
			return nil, seenFault(strconv.Quote(clip(seen[i])))
		}
		jobs = append(jobs, seenJob{name, n})
	}
	return jobs, ""
}

// changeAll requests the change of each job, with one operation and one end.
func (h *Handler) changeAll(ctx context.Context, s *ops.Snapshot, first ops.Request, jobs []seenJob) []ops.Change {
	ctx, stop := context.WithTimeout(ctx, selectionTimeout)
	defer stop()
	answers := make([]ops.Change, len(jobs))
	work := make(chan int)
	var working sync.WaitGroup
	for range min(abreast, len(jobs)) {
		working.Go(func() {
			for i := range work {
				one := first
				one.Key, one.Seen = jobs[i].Name, jobs[i].Seen
				switch {
				case s.Job(one.Key) == nil:
					answers[i] = ops.Change{Outcome: ops.ChangeRefused, Text: "there is no such job on record"}
				case ctx.Err() != nil:
					answers[i] = h.controller.Make(ctx, &series.Series{Err: ctx.Err()}, one)
				default:
					answers[i] = h.change(ctx, one)
				}
			}
		})
	}
	for i := range jobs {
		work <- i
	}
	close(work)
	working.Wait()
	return answers
}

// results sets the results and the form that sends the request again to the jobs for which the
// result is not known. It returns the status of the page.
func (b *changesBody) results(first ops.Request, jobs []seenJob, answers []ops.Change) int {
	status := http.StatusOK
	again := &form{wish: b.Form.wish, To: "/changes", Again: true}
	typed := again.Until
	again.Until = untilText(first.Until)
	b.Form = nil
	for i := range answers {
		a := &answers[i]
		_, kind, text := statusOf(a)
		r := result{Job: jobs[i].Name, State: ops.Failing, Text: text}
		switch {
		case a.Outcome == ops.ChangeMade:
			b.Made++
			r.State, r.Text = ops.OK, map[series.Action]string{series.ActionPause: "paused", series.ActionResume: "resumed"}[b.Action]
			if text != "" {
				r.Text += ": " + text
			}
		case a.Outcome == ops.ChangeStands, a.Outcome == ops.ChangeDated:
			r.State = ops.Skipped
		case kind == "doubt", kind == "store-unreachable":
			r.State, status = ops.Unknown, http.StatusServiceUnavailable
			again.Many = append(again.Many, jobs[i])
			if a.Request.Until == 0 {
				again.Until = typed
			}
			b.Form = again
		}
		b.Results = append(b.Results, r)
	}
	return status
}

func (h *Handler) showChanges(w http.ResponseWriter, r *http.Request, status int, b changesBody) {
	h.show(w, r, status, "changes", view{Title: "Changed jobs", Nav: "jobs", S: h.o.Projection.Peek(), Body: b, Here: "/jobs"})
}

// selectAll returns the address of the list of all jobs of a filter.
func selectAll(f ops.JobFilter, action series.Action) string {
	q := url.Values{"action": {string(action)}, "all": {"1"}}
	if f.Name != "" {
		q.Set("q", f.Name)
	}
	if f.State != "" {
		q.Set("state", string(f.State))
	}
	return "/changes?" + q.Encode()
}
