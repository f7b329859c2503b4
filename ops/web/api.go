package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/why"
)

// A fault is an answer of application/problem+json.
type fault struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func problem(w http.ResponseWriter, _ *http.Request, status int, kind, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(fault{"urn:cronce:problem:" + kind, http.StatusText(status), status, detail})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// A list is an answer with several items. Next asks for those behind them; empty: there are none.
type list struct {
	Items any       `json:"items"`
	Next  string    `json:"next,omitempty"`
	AsOf  time.Time `json:"as_of,omitzero"`
	LagMs int64     `json:"lag_ms"`
	Known bool      `json:"known"` // false: the store does not answer, and this was known before
}

func listOf(s *ops.Snapshot, items any, next string) list {
	return list{items, next, s.AsOf, s.LagMs(), s.Known()}
}

const (
	defaultLimit = 50
	maxLimit     = 500
)

// limit reads how many items are asked for. It answers itself if that is no number.
func limit(w http.ResponseWriter, r *http.Request) (int, bool) {
	text := r.FormValue("limit")
	if text == "" {
		return defaultLimit, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		problem(w, r, http.StatusBadRequest, "invalid", "limit must be 1 to "+strconv.Itoa(maxLimit))
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

// filterOf reads which jobs are asked for, in which order.
func filterOf(r *http.Request) (ops.JobFilter, string) {
	f := ops.JobFilter{Name: r.FormValue("q"), State: ops.State(r.FormValue("state")), Sort: r.FormValue("sort")}
	switch {
	case f.State != "" && !slices.Contains(ops.JobStates, f.State):
		return f, "state is not known"
	case f.Sort != "" && !slices.Contains(ops.JobSorts, f.Sort):
		return f, "sort must be " + strings.Join(ops.JobSorts, ", ")
	case len(f.Name) > 200:
		return f, "q has more than 200 characters"
	}
	return f, ""
}

// page cuts the jobs after one of a name, and returns the name to go on after.
func page(found []*ops.Job, after string, n int) (some []*ops.Job, next string) {
	if after != "" {
		if i := slices.IndexFunc(found, func(j *ops.Job) bool { return j.Name == after }); i >= 0 {
			found = found[i+1:]
		}
	}
	if len(found) > n {
		return found[:n], found[n-1].Name
	}
	return found, ""
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
	found, next := page(s.Find(f), r.FormValue("after"), n)
	views := make([]ops.JobView, len(found))
	for i, j := range found {
		views[i] = s.View(j, false)
	}
	answer(w, listOf(s, views, next))
}

// job returns the job of the path. It answers itself if there is none.
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

// letOf reads which runs are asked for.
func letOf(r *http.Request) (func(*ops.Run) bool, string) {
	verdict, node, state := r.FormValue("verdict"), r.FormValue("node"), r.FormValue("state")
	var from, to time.Time
	for name, at := range map[string]*time.Time{"from": &from, "to": &to} {
		if text := r.FormValue(name); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return nil, name + " must be RFC 3339"
			}
			*at = t
		}
	}
	return func(run *ops.Run) bool {
		return (verdict == "" || run.Verdict == verdict || run.Outcome == verdict || run.Between == verdict) &&
			(state == "" || string(run.State) == state || state == "alive" && run.Alive()) &&
			strings.HasPrefix(run.Node, node) && !run.Tick.Before(from) && (to.IsZero() || !run.Tick.After(to))
	}, ""
}

func (h *Handler) apiRuns(w http.ResponseWriter, r *http.Request) {
	n, ok := limit(w, r)
	if !ok {
		return
	}
	let, bad := letOf(r)
	if bad != "" {
		problem(w, r, http.StatusBadRequest, "invalid", bad)
		return
	}
	s := h.o.Projection.Snapshot()
	answer(w, listOf(s, append([]ops.Run{}, s.Recent(n, let)...), ""))
}

// read reads the whole journal of a job, and its state after it. It answers itself if the store does not.
func (h *Handler) read(ctx context.Context, job string) (driver.Journal, driver.Series, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	j, err := h.o.Store.Journal(ctx, job, 0)
	if err != nil {
		return j, driver.Series{}, err
	}
	s := h.o.Store.ReadSeries(ctx, []string{job})[0]
	return j, s, s.Err
}

// An auditor is a store that keeps why a job was paused.
type auditor interface {
	Audit(ctx context.Context, key string, n int) ([]driver.AuditRecord, error)
}

// explain says what became of a tick, as cronce why does.
func (h *Handler) explain(ctx context.Context, s *ops.Snapshot, q why.Question) why.Answer {
	if a, ok := h.o.Store.(auditor); ok {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
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
	let, bad := letOf(r)
	if bad != "" {
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
	runs := slices.DeleteFunc(ops.Runs(s.Namespace, journal.Lines, &state), func(run ops.Run) bool { return !let(&run) })
	after, next := r.FormValue("after"), ""
	if t, err := time.Parse(time.RFC3339, after); after != "" && err == nil {
		runs = slices.DeleteFunc(runs, func(run ops.Run) bool { return !run.Tick.Before(t) })
	}
	if len(runs) > n {
		runs, next = runs[:n], runs[n-1].Tick.Format(time.RFC3339Nano)
	}
	answer(w, listOf(s, runs, next))
}

// A tickAnswer is what became of a tick, with the lines that it follows from.
type tickAnswer struct {
	why.Answer
	Evidence []ops.Run `json:"evidence"`
}

func (h *Handler) apiTick(w http.ResponseWriter, r *http.Request) {
	s, j := h.job(w, r)
	if j == nil {
		return
	}
	tick, err := time.Parse(time.RFC3339, r.PathValue("tick"))
	if err != nil {
		problem(w, r, http.StatusBadRequest, "invalid", "the tick must be RFC 3339")
		return
	}
	journal, state, err := h.read(r.Context(), j.Name)
	if err != nil {
		unreachable(w, r)
		return
	}
	a := h.explain(r.Context(), s, why.Question{Tick: tick, Journal: journal, State: state})
	answer(w, tickAnswer{a, evidence(s.Namespace, journal, state, a.Evidence)})
}

// evidence are the runs of the lines with these indexes.
func evidence(namespace string, j driver.Journal, state driver.Series, indexes []int) []ops.Run {
	lines := make([]driver.Line, len(indexes))
	for i, k := range indexes {
		lines[i] = j.Lines[k]
	}
	return append([]ops.Run{}, ops.Runs(namespace, lines, &state)...)
}

func (h *Handler) apiNodes(w http.ResponseWriter, _ *http.Request) {
	s := h.o.Projection.Snapshot()
	answer(w, listOf(s, s.NodeViews(), ""))
}

func escapeQuery(text string) string { return url.QueryEscape(text) }
