package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/why"
)

// A fault is an error response of type application/problem+json.
type fault struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	Latest *latest   `json:"latest,omitempty"`         // of "changed": the change that came first
	Plan   *ops.Plan `json:"plan,omitempty"`           // of "plan-changed": the plan now
	Key    string    `json:"retry_with_key,omitempty"` // of "doubt": the Idempotency-Key of a repetition
}

func faultOf(status int, kind, detail string) fault {
	return fault{Type: "urn:cronce:problem:" + kind, Title: http.StatusText(status), Status: status, Detail: detail}
}

func faulty(w http.ResponseWriter, f fault) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(f)
}

func problem(w http.ResponseWriter, _ *http.Request, status int, kind, detail string) {
	faulty(w, faultOf(status, kind, detail))
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// A list is a response with several items. Next is the cursor of the next page; empty: there is
// none.
type list struct {
	Items any       `json:"items"`
	Next  string    `json:"next,omitempty"`
	AsOf  time.Time `json:"as_of,omitzero"`
	LagMs int64     `json:"lag_ms"`
	Known bool      `json:"known"` // false: the store does not answer, and the items are older

	// SearchedFrom is the instant from which on every verdict was found: older lines were not
	// searched or are no longer recorded. Zero: everything ever recorded was searched. Only lists
	// of runs have it.
	SearchedFrom time.Time `json:"searched_from,omitzero"`
	// ExceptionsFrom is the instant from which on every exception was found: see series.Line.Exception.
	// It is not later than SearchedFrom. Zero: as there.
	ExceptionsFrom time.Time `json:"exceptions_from,omitzero"`
	// Gap names a number that is missing in the audit.
	Gap string `json:"gap,omitempty"`
}

func listOf(s *ops.Snapshot, items any, next string) list {
	return list{Items: items, Next: next, AsOf: s.AsOf, LagMs: s.LagMs(), Known: s.Known()}
}

// apiUnknown answers a request that no route of the API serves.
func (h *Handler) apiUnknown(w http.ResponseWriter, r *http.Request) {
	if text := h.wrongMethod(w, r); text != "" {
		problem(w, r, http.StatusMethodNotAllowed, "method", text)
		return
	}
	problem(w, r, http.StatusNotFound, "not-found", "there is no such resource")
}

// only refuses parameters that a route does not accept, that are given twice, or that cannot be read: without
// such a parameter the answer would be to another question.
func only(serve http.HandlerFunc, known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			problem(w, r, http.StatusBadRequest, "invalid", "the query cannot be read: "+clip(err.Error()))
			return
		}
		for name, values := range query {
			if !slices.Contains(known, name) {
				allowed := "none is allowed"
				if len(known) > 0 {
					allowed = "allowed are " + strings.Join(known, ", ")
				}
				problem(w, r, http.StatusBadRequest, "invalid", fmt.Sprintf("the parameter %q, with the value %q, is not known: %s", clip(name), clip(strings.Join(values, ", ")), allowed))
				return
			}
			if len(values) > 1 {
				problem(w, r, http.StatusBadRequest, "invalid", fmt.Sprintf("the parameter %q has %d values, %q: it may have one", name, len(values), clip(strings.Join(values, ", "))))
				return
			}
		}
		serve(w, r)
	}
}

// clip cuts a text that a caller has sent, between two characters.
func clip(text string) string {
	if len(text) > 100 {
		return strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}

// oneOf checks the value of a parameter; it may be empty. It returns a sentence about a bad value.
func oneOf[T ~string](name string, value T, allowed []T) string {
	if value == "" || slices.Contains(allowed, value) {
		return ""
	}
	return fmt.Sprintf("%s is %q, must be one of %s", name, clip(string(value)), strings.Trim(strings.Join(strings.Fields(fmt.Sprint(allowed)), ", "), "[]"))
}

// instant reads an instant from a parameter. It returns a sentence about a bad value.
func instant(r *http.Request, name string, at *time.Time) string {
	text := r.FormValue(name)
	if text == "" {
		return ""
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Sprintf("%s is %q, must be an instant of RFC 3339", name, clip(text))
	}
	*at = t
	return ""
}

const (
	defaultLimit = 50
	maxLimit     = 500
)

// limit reads the requested number of items. It writes an error response if that is invalid.
func limit(w http.ResponseWriter, r *http.Request) (int, bool) {
	text := r.FormValue("limit")
	if text == "" {
		return defaultLimit, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		problem(w, r, http.StatusBadRequest, "invalid", fmt.Sprintf("limit is %q, must be 1 to %d", clip(text), maxLimit))
		return 0, false
	}
	return n, true
}

func (h *Handler) apiStatus(w http.ResponseWriter, _ *http.Request) {
	answer(w, h.o.Projection.Snapshot().Status())
}

func (h *Handler) apiOverdue(w http.ResponseWriter, _ *http.Request) {
	s := h.o.Projection.Snapshot()
	answer(w, listOf(s, append([]ops.OverdueTick{}, s.Overdue()...), ""))
}

// filterOf reads the filter and the order of jobs from a request.
func filterOf(r *http.Request) (ops.JobFilter, string) {
	f := ops.JobFilter{Name: r.FormValue("q"), State: ops.State(r.FormValue("state")), Sort: r.FormValue("sort")}
	long := ""
	if len(f.Name) > 200 {
		long = fmt.Sprintf("q is %q, must have 200 characters at most", clip(f.Name))
	}
	return f, cmp.Or(oneOf("state", f.State, ops.JobStates), oneOf("sort", f.Sort, ops.JobSorts), long)
}

// page returns the jobs after a name, and the name to continue after. A job that is gone has a
// position only in the order of names: in another order ok is false.
func page(found []*ops.Job, sort, after string, n int) (some []*ops.Job, next string, ok bool) {
	if after != "" {
		i := slices.IndexFunc(found, func(j *ops.Job) bool { return j.Name == after })
		switch {
		case i >= 0:
			found = found[i+1:]
		case sort == "" || sort == "name":
			found = slices.DeleteFunc(found, func(j *ops.Job) bool { return j.Name < after })
		default:
			return nil, "", false
		}
	}
	if len(found) > n {
		return found[:n], found[n-1].Name, true
	}
	return found, "", true
}

func (h *Handler) apiJobs(w http.ResponseWriter, r *http.Request) {
	n, ok := limit(w, r)
	if !ok {
		return
	}
	f, bad := filterOf(r)
	if bad != "" {
		problem(w, r, http.StatusBadRequest, "invalid", bad)
		return
	}
	s := h.o.Projection.Snapshot()
	found, next, ok := page(s.Find(f), f.Sort, r.FormValue("after"), n)
	if !ok {
		problem(w, r, http.StatusBadRequest, "invalid", fmt.Sprintf("after is %q, must be a job of the list when it is sorted by %s: begin again, or sort by name", clip(r.FormValue("after")), f.Sort))
		return
	}
	views := make([]ops.JobView, len(found))
	for i, j := range found {
		views[i] = s.View(j, false)
	}
	answer(w, listOf(s, views, next))
}

// job returns the job of the path. It writes an error response if there is none.
func (h *Handler) job(w http.ResponseWriter, r *http.Request) (*ops.Snapshot, *ops.Job) {
	s := h.o.Projection.Snapshot()
	j := s.Job(r.PathValue("job"))
	if j == nil {
		problem(w, r, http.StatusNotFound, "not-found", "there is no such job on record")
	}
	return s, j
}

func (h *Handler) apiJob(w http.ResponseWriter, r *http.Request) {
	if s, j := h.job(w, r); j != nil {
		answer(w, s.View(j, true))
	}
}

// runFilterOf reads the filter of runs from a request.
func runFilterOf(r *http.Request) (ops.RunFilter, string) {
	f := ops.RunFilter{Verdict: r.FormValue("verdict"), Node: r.FormValue("node"), State: r.FormValue("state")}
	return f, cmp.Or(oneOf("verdict", f.Verdict, ops.Verdicts), oneOf("state", f.State, ops.RunStates), instant(r, "from", &f.From), instant(r, "to", &f.To))
}

// nameOf returns the name of a run in the list of the runs of all jobs, and runOf the run with that
// name, or a fault. Empty: no run.
func nameOf(r ops.Run) string { return r.Recorded.Time().Format(time.RFC3339Nano) + " " + r.ID }

func runOf(name string) (r ops.Run, fault string) {
	if name == "" {
		return r, ""
	}
	recorded, id, _ := strings.Cut(name, " ")
	t, err := time.Parse(time.RFC3339, recorded)
	if err != nil || id == "" {
		return r, fmt.Sprintf("after is %q, must be the next of an answer", clip(name))
	}
	return ops.Run{Recorded: ops.InstantOf(t), ID: id}, ""
}

func (h *Handler) apiRuns(w http.ResponseWriter, r *http.Request) {
	n, ok := limit(w, r)
	if !ok {
		return
	}
	f, bad := runFilterOf(r)
	last, fault := runOf(r.FormValue("after")) // the last one of the previous page
	if bad = cmp.Or(bad, fault); bad != "" {
		problem(w, r, http.StatusBadRequest, "invalid", bad)
		return
	}
	s := h.o.Projection.Snapshot()
	runs := s.Recent(n+1, func(run *ops.Run) bool { return f.Lets(run) && (last.ID == "" || ops.Newer(last, *run) < 0) })
	next := ""
	if len(runs) > n {
		runs = runs[:n]
		next = nameOf(runs[n-1])
	}
	l := listOf(s, append([]ops.Run{}, runs...), next)
	l.SearchedFrom, l.ExceptionsFrom = s.Searched(), s.SearchedExceptions()
	answer(w, l)
}

// read reads the whole journal of a job, and its state after that.
func (h *Handler) read(ctx context.Context, job string) (series.Journal, series.Series, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	j, err := h.o.Store.Journal(ctx, job, 0)
	if err != nil {
		return j, series.Series{}, err
	}
	s := h.o.Store.ReadSeries(ctx, []string{job})[0]
	return j, s, s.Err
}

// An auditor is a store that records why a job was paused.
type auditor interface {
	Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error)
}

// explain explains a tick, as cronce why does.
func (h *Handler) explain(ctx context.Context, s *ops.Snapshot, q why.Question) why.Answer {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if shared, ok := h.o.Store.(ops.Holders); ok {
		q.Places = ops.Places(ctx, shared, &q.Journal)
	}
	if a, ok := h.o.Store.(auditor); ok {
		q.Audit, _ = a.Audit(ctx, q.Journal.Key, 0) // without it the sentence lacks the reason of a pause
	}
	return ops.Why(q, s.Nodes)
}

func unreachable(w http.ResponseWriter, r *http.Request) {
	problem(w, r, http.StatusServiceUnavailable, "store-unreachable", "the store does not answer: that is not known")
}

func (h *Handler) apiJobRuns(w http.ResponseWriter, r *http.Request) {
	n, ok := limit(w, r)
	if !ok {
		return
	}
	f, bad := runFilterOf(r)
	var after time.Time
	if bad = cmp.Or(bad, instant(r, "after", &after)); bad != "" {
		problem(w, r, http.StatusBadRequest, "invalid", bad)
		return
	}
	s, j := h.job(w, r)
	if j == nil {
		return
	}
	journal, state, err := h.read(r.Context(), j.Name)
	if err != nil {
		unreachable(w, r)
		return
	}
	runs := slices.DeleteFunc(ops.Runs(s.Namespace, &journal, &state), func(run ops.Run) bool {
		return !f.Lets(&run) || !after.IsZero() && !run.Tick.Time().Before(after)
	})
	next := ""
	if len(runs) > n {
		runs, next = runs[:n], runs[n-1].Tick.Time().Format(time.RFC3339Nano)
	}
	l := listOf(s, append([]ops.Run{}, runs...), next)
	l.SearchedFrom, l.ExceptionsFrom = ops.Searched(&journal), ops.SearchedExceptions(&journal)
	answer(w, l)
}

// A tickAnswer explains a tick, with the lines from which the explanation follows.
type tickAnswer struct {
	why.Answer
	Evidence []ops.Run `json:"evidence"`
	tickOutput
}

// A tickOutput is the end of the output of a tick's run.
type tickOutput struct {
	Output        string        `json:"output,omitempty"`         // empty: the store keeps none
	OutputOf      *ops.ShardRun `json:"output_of,omitempty"`      // the shard whose output it is, of a tick with shards
	OutputUnknown bool          `json:"output_unknown,omitempty"` // the store did not answer
}

// output reads the end of the output of a tick's run.
func (h *Handler) output(ctx context.Context, tick time.Time, j *series.Journal, s *series.Series) tickOutput {
	store, ok := h.o.Store.(series.OutputKeeper)
	if !ok {
		return tickOutput{}
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	o, err := store.Output(ctx, s.Key, tick.UnixMilli())
	return tickOutput{o.Text, ops.GrantedWith(o.Fence, ops.Shards(j, s, tick.UnixMilli())), err != nil}
}

func (h *Handler) apiTick(w http.ResponseWriter, r *http.Request) {
	s, j := h.job(w, r)
	if j == nil {
		return
	}
	tick, err := time.Parse(time.RFC3339, r.PathValue("tick"))
	if err != nil {
		problem(w, r, http.StatusBadRequest, "invalid", fmt.Sprintf("the tick is %q, must be RFC 3339", clip(r.PathValue("tick"))))
		return
	}
	journal, state, err := h.read(r.Context(), j.Name)
	if err != nil {
		unreachable(w, r)
		return
	}
	a := h.explain(r.Context(), s, why.Question{Tick: tick, Journal: journal, State: state})
	answer(w, tickAnswer{a, evidence(s.Namespace, journal, state, a.Evidence), h.output(r.Context(), tick, &journal, &state)})
}

// evidence returns the runs of the lines with these indexes, and no run that merely goes on at the same time.
func evidence(namespace string, j series.Journal, state series.Series, indexes []int) []ops.Run {
	lines, all := make([]series.Line, len(indexes)), j.All()
	for i, k := range indexes {
		lines[i] = all[k]
	}
	j.Exceptions, j.Lines = nil, lines
	state.Runs = slices.DeleteFunc(slices.Clone(state.Runs), func(r series.Run) bool {
		return !slices.ContainsFunc(lines, func(l series.Line) bool { return l.To == r.Number })
	})
	return append([]ops.Run{}, ops.Runs(namespace, &j, &state)...)
}

func (h *Handler) apiNodes(w http.ResponseWriter, _ *http.Request) {
	s := h.o.Projection.Snapshot()
	answer(w, listOf(s, s.NodeViews(), ""))
}

func escapeQuery(text string) string { return url.QueryEscape(text) }
