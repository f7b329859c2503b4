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
	Day        []stateCount // the ticks of the last 24 hours, by their state
	Runs       []ops.Run
	Next       string // the address of the next page
	From       time.Time
	Exceptions time.Time
	Fault      string
}

// runsPage lists the runs that a filter selects: of one job from its whole journal, of all jobs from
// the lines in memory.
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

// fill reads the runs of a page, and counts the ticks of the last day.
func (b *runsBody) fill(h *Handler, r *http.Request, s *ops.Snapshot) {
	day := s.AsOf.Add(-24 * time.Hour)
	counts := map[ops.State]int{}
	var runs []ops.Run
	if b.Job == nil {
		for _, j := range s.Jobs {
			ops.Tally(counts, j.Runs, j.Schedule, day)
		}
		runs = s.Recent(maxLimit, b.Filter.Lets)
		b.From = s.Searched()
	} else {
		journal, state, err := h.read(r.Context(), b.Job.Name)
		if err != nil {
			b.Fault = "Not known: the store does not answer."
			return
		}
		runs = ops.Runs(s.Namespace, &journal, &state)
		ops.Tally(counts, runs, b.Job.Schedule, day)
		runs = slices.DeleteFunc(runs, func(run ops.Run) bool { return !b.Filter.Lets(&run) })
		b.From, b.Exceptions = ops.Searched(&journal), ops.SearchedExceptions(&journal)
	}
	for state, n := range counts {
		b.Day = append(b.Day, stateCount{state, n})
	}
	slices.SortFunc(b.Day, func(x, y stateCount) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.State, y.State)) })
	b.turn(r, runs)
}

// turn sets the page of runs that a request names: those behind the run with the id in after.
func (b *runsBody) turn(r *http.Request, runs []ops.Run) {
	if after := r.FormValue("after"); after != "" {
		i := slices.IndexFunc(runs, func(run ops.Run) bool { return run.ID == after })
		runs = runs[i+1:] // if the run is gone, the list begins again
	}
	b.Runs = runs
	if len(runs) > defaultLimit {
		b.Runs = runs[:defaultLimit]
		q := r.URL.Query()
		q.Set("after", b.Runs[defaultLimit-1].ID)
		b.Next = r.URL.Path + "?" + q.Encode()
	}
}
