package web

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/scheduler/why"
)

// A view has the values that all pages share, and the page's own body.
type view struct {
	Title   string
	Nav     string // the part of the navigation that contains the page
	Theme   string // light or dark; empty: the theme of the system
	Here    string // the page's address, for a request that can be repeated
	Caller  access.Caller
	S       *ops.Snapshot
	Now     time.Time // the store's clock
	Nodes   int
	Body    any
	Refresh bool // without JavaScript the page reloads itself
}

const themeCookie = "cronce-theme"

// show writes a page.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, template string, v view) {
	v.Caller = callerOf(r)
	if v.Here == "" && r.Method == http.MethodGet {
		v.Here = r.URL.RequestURI()
	}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		v.Theme = c.Value
	}
	if v.S != nil {
		v.Now, v.Nodes = v.S.AsOf, v.S.Nodes.Alive()
	}
	var b bytes.Buffer
	b.Grow(64 << 10) // more than most pages need
	if err := h.pages.templates.ExecuteTemplate(&b, template, v); err != nil {
		problem(w, r, http.StatusInternalServerError, "page", "the page cannot be shown")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// An overviewBody is the body of the first page.
type overviewBody struct {
	Status ops.Status
	Causes []ops.Cause
	Left   int // needs that Causes leaves out
	States []stateCount
	Past   *exceptions
	Recent []*ops.Job
	Soon   []soon
	Lanes  shownLanes
}

// mostCauses bounds the causes on the first page.
const mostCauses = 50

type stateCount struct {
	State ops.State
	N     int
}

// A soon is a job whose next tick is due soon.
type soon struct {
	Job *ops.Job
	At  time.Time
}

func (h *Handler) overview(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	h.show(w, r, http.StatusOK, "overview", view{Title: "Overview", Nav: "overview", S: s, Body: h.overviews.from(s, h.overviewOf), Refresh: true})
}

func (h *Handler) overviewOf(s *ops.Snapshot) overviewBody {
	b := overviewBody{Status: s.Status(), Past: h.exceptionsOf(s), Recent: s.Latest(12), Lanes: h.allLanes(&h.pictures[0], s, 5*time.Minute)}
	b.Causes, b.Left = ops.Causes(b.Status.Needs, mostCauses)
	counts := b.Status.Jobs
	for _, state := range []ops.State{ops.OK, ops.Running, ops.Paused, ops.Starved, ops.Missed, ops.Failing, ops.Lost, ops.Stuck, ops.Overdue, ops.Unknown} {
		if counts[state] > 0 {
			b.States = append(b.States, stateCount{state, counts[state]})
		}
	}
	b.Soon = soonest(s, 6)
	return b
}

// soonest returns the jobs whose next ticks come first, at most n. A tick that a pause covers starts nothing.
func soonest(s *ops.Snapshot, n int) (all []soon) {
	for _, j := range s.Jobs {
		at := j.Next(s.AsOf)
		if at.IsZero() || j.Series.PausedAt(at.UnixMilli()) || len(all) == n && !at.Before(all[n-1].At) {
			continue
		}
		place := len(all)
		for place > 0 && at.Before(all[place-1].At) {
			place--
		}
		all = slices.Insert(all, place, soon{j, at})
		all = all[:min(len(all), n)]
	}
	return all
}

// A jobsBody is the body of the list of jobs.
type jobsBody struct {
	Filter ops.JobFilter
	States []ops.State
	Sorts  []string
	Jobs   []*ops.Job
	Found  int
	May    bool      // the caller may change several jobs
	All    [2]string // the addresses of the lists of all jobs of the filter, to pause and to resume them
	Next   string    // the address of the next page
	Fault  string
}

func (h *Handler) jobsPage(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	b := jobsBody{States: ops.JobStates, Sorts: ops.JobSorts, May: h.may(callerOf(r), selectionRoute)}
	b.Filter, b.Fault = filterOf(r)
	if b.Fault == "" {
		if b.Filter.Sort == "" {
			b.Filter.Sort = "state"
		}
		found := s.Find(b.Filter)
		b.Found, b.All = len(found), [2]string{selectAll(b.Filter, series.ActionPause), selectAll(b.Filter, series.ActionResume)}
		var next string
		var ok bool
		if b.Jobs, next, ok = page(found, b.Filter.Sort, r.FormValue("after"), defaultLimit); !ok { // the job is gone: the list begins again
			b.Jobs, next, _ = page(found, b.Filter.Sort, "", defaultLimit)
		}
		if next != "" {
			q := r.URL.Query()
			q.Set("after", next)
			b.Next = "/jobs?" + q.Encode()
		}
	}
	h.show(w, r, http.StatusOK, "jobs", view{Title: "Jobs", Nav: "jobs", S: s, Body: b, Refresh: !b.May})
}

// A jobBody is the body of the page of one job.
type jobBody struct {
	Job   *ops.Job
	View  ops.JobView
	Facts []fact
	Uses  []ops.Use // the specs in force; several while nodes disagree
	Runs  []ops.Run
	Next  []time.Time
	Lanes lanes
	Took  [3]string // p50, p95 and p99 of the runs in memory
	Late  [3]string
	Since time.Time // the oldest run in memory
	Form  *form     // pauses or resumes the job; nil: the caller may not
	Run   *form     // requests a run; nil: the caller may not, or the job is retired
	Fill  *form     // asks for the plan of a backfill, or stops the one that goes on; nil: as for Run
}

func (h *Handler) jobPage(w http.ResponseWriter, r *http.Request) {
	s, name := h.o.Projection.Snapshot(), r.PathValue("job")
	// Another replica may have made the change. A stream, whose caller has no name, waits for the next snapshot anyway: if
	// the store has lost the change, each snapshot would cause the next one at once.
	if change, err := strconv.ParseInt(r.FormValue("change"), 10, 64); err == nil && callerOf(r).ID != "" && h.may(callerOf(r), changeRoute("", series.ActionPause)) {
		s = h.fresh(r.Context(), name, change)
	}
	j := s.Job(name)
	if j == nil {
		h.missing(w, r, s, "There is no job of this name on record.")
		return
	}
	listed := j.Listed()
	b := jobBody{Job: j, View: s.View(j, true), Facts: factsOf(j), Uses: j.InForce(s.Nodes), Runs: listed[:min(len(listed), 30)], Lanes: lanesOf(s, []*ops.Job{j}, reach([]*ops.Job{j}, s.AsOf, 7*24*time.Hour))}
	if j.Schedule != nil {
		for at := s.AsOf; len(b.Next) < 8; {
			if at = j.Schedule.Next(at); at.IsZero() {
				break
			}
			b.Next = append(b.Next, at)
		}
	}
	var took, late []int64
	for i := range j.Runs {
		if n := j.Runs[i].TookMs; n != nil {
			took = append(took, *n)
		}
		if n := lateness(j.Runs[i]); n != nil && !j.Runs[i].Manual {
			late = append(late, *n)
		}
		b.Since = j.Runs[i].Tick.Time()
	}
	b.Took, b.Late = percentiles(took), percentiles(late)
	action := series.ActionPause
	if b.View.Paused {
		action = series.ActionResume
	}
	if h.may(callerOf(r), changeRoute("", action)) {
		b.Form = new(newForm(action, j.Name, j.Series.Change))
	}
	if h.may(callerOf(r), changeRoute("", series.ActionRun)) && !j.Series.Retired() {
		b.Run = runForm(j.Name)
	}
	if h.may(callerOf(r), changeRoute("", series.ActionBackfill)) && !j.Series.Retired() {
		b.Fill = backfillForm(j.Name, b.View.Backfill != nil)
	}
	// A page that reloads itself would empty a form.
	h.show(w, r, http.StatusOK, "job", view{Title: j.Name, Nav: "jobs", S: s, Body: b, Refresh: b.Form == nil})
}

// percentiles returns the 50th, 95th and 99th percentile of durations in milliseconds.
func percentiles(all []int64) (p [3]string) {
	if len(all) == 0 {
		return [3]string{"–", "–", "–"}
	}
	slices.Sort(all)
	for i, share := range []int{50, 95, 99} {
		p[i] = ops.Short(time.Duration(all[min(len(all)-1, len(all)*share/100)]) * time.Millisecond)
	}
	return p
}

// A tickBody is the body of the page of one tick.
type tickBody struct {
	Job      *ops.Job
	Answer   why.Answer
	State    ops.State
	Evidence []series.Line
	Earlier  time.Time
	Later    time.Time
	tickOutput
	Form *form // cancels the run, skips the tick or lets it run; nil: there is none, or the caller may not
}

func (h *Handler) tickPage(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	j := s.Job(r.PathValue("job"))
	tick, err := time.Parse(time.RFC3339, r.PathValue("tick"))
	if j == nil || err != nil {
		h.missing(w, r, s, "There is no such tick: its job is not on record, or the instant is not RFC 3339.")
		return
	}
	b := tickBody{Job: j}
	journal, state, err := h.read(r.Context(), j.Name)
	if err != nil {
		b.Answer = why.Answer{Job: j.Name, Tick: tick.UTC(), State: why.NotKnown, Sentence: "Not known: the store does not answer."}
	} else {
		b.Answer = h.explain(r.Context(), s, why.Question{Tick: tick, Journal: journal, State: state})
		lines := journal.All()
		for _, i := range b.Answer.Evidence {
			b.Evidence = append(b.Evidence, lines[i])
		}
		if h.may(callerOf(r), changeRoute("", series.ActionCancel)) && slices.ContainsFunc(state.Runs, func(run series.Run) bool { return run.Number == tick.UnixMilli() && !run.Cancelled }) {
			b.Form = tickForm(series.ActionCancel, j.Name, tick, 0)
		} else if b.Answer.State == why.Future && h.may(callerOf(r), changeRoute("", series.ActionSkip)) {
			b.Form = tickForm(series.ActionSkip, j.Name, tick, state.Change)
			b.Form.Back = state.Skip == tick.UnixMilli()
		}
		b.tickOutput = h.output(r.Context(), tick, &journal, &state)
	}
	b.State = stateOf(&b.Answer)
	if j.Schedule != nil {
		b.Earlier, b.Later = j.Schedule.Prev(tick.Add(-time.Millisecond)), j.Schedule.Next(tick)
	}
	h.show(w, r, http.StatusOK, "tick", view{Title: j.Name + " " + ops.TickText(tick), Nav: "jobs", S: s, Body: b})
}

// stateOf returns the state whose mark a tick gets.
func stateOf(a *why.Answer) ops.State {
	switch a.State {
	case why.Ran:
		return ops.OK
	case why.Failed:
		return markOf(a.Outcome)
	case why.Future, why.Undecided:
		return ops.Waiting
	case why.NotATick, why.NotKnown:
		return ops.Unknown
	}
	return ops.State(a.State)
}

type nodesBody struct {
	Nodes []ops.NodeView
	Lanes shownLanes
}

func (h *Handler) nodesPage(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	body := h.nodes.from(s, func(s *ops.Snapshot) nodesBody {
		return nodesBody{s.NodeViews(), h.allLanes(&h.pictures[1], s, 15*time.Minute)}
	})
	h.show(w, r, http.StatusOK, "nodes", view{Title: "Nodes", Nav: "nodes", S: s, Body: body, Refresh: true})
}

func (h *Handler) missing(w http.ResponseWriter, r *http.Request, s *ops.Snapshot, text string) {
	h.show(w, r, http.StatusNotFound, "missing", view{Title: "Not found", S: s, Body: text})
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.missing(w, r, h.o.Projection.Snapshot(), "There is no such page.")
}

// A loginBody is the body of the form that turns a token into a session.
type loginBody struct{ Next, Fault string }

func (h *Handler) loginForm(w http.ResponseWriter, r *http.Request) {
	if once := r.FormValue("token"); once != "" && h.o.Gate.BeginOnce(w, once) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	h.show(w, r, http.StatusOK, "login", view{Title: "Sign in", Body: loginBody{Next: local(r.FormValue("next"))}})
}

func (h *Handler) login(w http.ResponseWriter, r *http.Request) {
	next := local(r.PostFormValue("next"))
	ok, slow := h.o.Gate.Begin(w, r, r.PostFormValue("token"))
	switch {
	case slow:
		w.Header().Set("Retry-After", "5")
		h.show(w, r, http.StatusTooManyRequests, "login", view{Title: "Sign in", Body: loginBody{next, "Too many tokens of this address were not known. Wait a moment."}})
	case !ok:
		h.show(w, r, http.StatusUnauthorized, "login", view{Title: "Sign in", Body: loginBody{next, "This token is not known, or it is of a proxy."}})
	default:
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

func (h *Handler) logout(w http.ResponseWriter, r *http.Request) {
	h.o.Gate.End(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// theme stores the theme that a person has chosen.
func (h *Handler) theme(w http.ResponseWriter, r *http.Request) {
	value := r.PostFormValue("theme")
	if value == "light" || value == "dark" {
		http.SetCookie(w, &http.Cookie{Name: themeCookie, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
	http.Redirect(w, r, local(r.PostFormValue("next")), http.StatusSeeOther)
}

// local returns next if it is an address of this site, or else the first page.
func local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
