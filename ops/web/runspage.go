package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/cronce/cronce/ops"
)

// A runsBody is the body of the list of runs, of one job or of all.
type runsBody struct {
	Job        *ops.Job // nil: of all jobs
	Filter     ops.RunFilter
	Verdicts   []string
	Day        []stateCount // the ticks since Since, by their state
	Since      time.Time
	Runs       []ops.Run
	Next       string // the address of the next page
	From       time.Time
	Exceptions time.Time
	Fault      string
}

// runsPage lists the runs that a filter selects: of one job from its whole journal, of all jobs from
// the lines and the exceptions in memory.
func (h *Handler) runsPage(w http.ResponseWriter, r *http.Request) {
	s := h.o.Projection.Snapshot()
	b := runsBody{Verdicts: ops.Verdicts}
	if name := r.PathValue("job"); name != "" {
		if b.Job = s.Job(name); b.Job == nil {
			h.missing(w, r, s, "There is no job of this name on record.")
			return
		}
	}
	if b.Filter, b.Fault = runFilterOf(r); b.Fault == "" {
		b.fill(h, r, s)
	}
	title := "Runs"
	if b.Job != nil {
		title = b.Job.Name + " runs"
	}
	h.show(w, r, http.StatusOK, "runs", view{Title: title, Nav: "runs", S: s, Body: b, Refresh: true})
}

// fill reads the runs of a page, and the counts of the ticks since the beginning of the last day, or since
// all verdicts are on record.
func (b *runsBody) fill(h *Handler, r *http.Request, s *ops.Snapshot) {
	if b.Job == nil {
		b.cut(r, b.ofAll(h, r, s))
	} else {
		b.cut(r, b.ofJob(h, r, s))
	}
}

// sorted returns counts, the largest first.
func sorted(counts map[ops.State]int) (all []stateCount) {
	for state, n := range counts {
		all = append(all, stateCount{state, n})
	}
	slices.SortFunc(all, func(x, y stateCount) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.State, y.State)) })
	return all
}

// ofAll reads the runs of all jobs that follow the previous page.
func (b *runsBody) ofAll(h *Handler, r *http.Request, s *ops.Snapshot) []ops.Run {
	var last ops.Run
	if last, b.Fault = runOf(r.FormValue("after")); b.Fault != "" {
		return nil
	}
	b.From = h.searched[0].from(s, (*ops.Snapshot).Searched)
	b.Exceptions = h.searched[1].from(s, (*ops.Snapshot).SearchedExceptions)
	b.Since = later(s.AsOf.Add(-24*time.Hour), b.From)
	b.Day = h.days.from(s, func(s *ops.Snapshot) []stateCount {
		counts := map[ops.State]int{}
		for _, j := range s.Jobs {
			j.Tally(counts, b.Since)
		}
		return sorted(counts)
	})
	return s.Recent(defaultLimit+1, func(run *ops.Run) bool { return b.Filter.Lets(run) && (last.ID == "" || ops.Newer(last, *run) < 0) })
}

// ofJob reads the runs of a job that follow the previous page.
func (b *runsBody) ofJob(h *Handler, r *http.Request, s *ops.Snapshot) []ops.Run {
	var after time.Time
	if b.Fault = instant(r, "after", &after); b.Fault != "" {
		return nil
	}
	journal, state, err := h.read(r.Context(), b.Job.Name)
	if err != nil {
		b.Fault = "Not known: the store does not answer."
		return nil
	}
	b.From, b.Exceptions = ops.Searched(&journal), ops.SearchedExceptions(&journal)
	b.Since = later(s.AsOf.Add(-24*time.Hour), b.From)
	runs := ops.Runs(s.Namespace, &journal, &state)
	counts := map[ops.State]int{}
	ops.Tally(counts, runs, b.Job.Schedule, b.Since)
	b.Day = sorted(counts)
	return slices.DeleteFunc(runs, func(run ops.Run) bool {
		return !b.Filter.Lets(&run) || !after.IsZero() && !run.Tick.Time().Before(after)
	})
}

// cut keeps the runs of one page, and sets the address of the next one.
func (b *runsBody) cut(r *http.Request, runs []ops.Run) {
	if b.Runs = runs; len(runs) <= defaultLimit {
		return
	}
	b.Runs = runs[:defaultLimit]
	last := b.Runs[defaultLimit-1]
	q := r.URL.Query()
	q.Set("after", nameOf(last))
	if b.Job != nil {
		q.Set("after", last.Tick.Time().Format(time.RFC3339Nano))
	}
	b.Next = r.URL.EscapedPath() + "?" + q.Encode()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
