package ops

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/scheduler/policy"
)

// A JobView is a job for machines.
type JobView struct {
	Name        string         `json:"name"`
	Spec        string         `json:"spec"`
	Words       string         `json:"words"` // the spec in English, if it is a usual one
	Zone        string         `json:"zone"`
	State       State          `json:"state"`
	Fault       string         `json:"fault,omitempty"` // why the state is not known
	AsOf        time.Time      `json:"as_of,omitzero"`  // the store's clock when the state was read; earlier than the response if the job cannot be read now
	Next        time.Time      `json:"next,omitzero"`
	Mark        time.Time      `json:"mark,omitzero"`      // the highest decided tick
	Skip        time.Time      `json:"skip,omitzero"`      // the tick that will be skipped for an operator
	Backfill    *BackfillView  `json:"backfill,omitempty"` // that goes on
	Paused      bool           `json:"paused"`
	Pause       *PauseView     `json:"pause,omitempty"`       // while it is paused
	Change      int64          `json:"change"`                // the number of the latest change by an operator
	LastSuccess time.Time      `json:"last_success,omitzero"` // the latest tick, or instant of a manual run, that ended ok
	Last        *Run           `json:"last,omitempty"`
	Alive       []Run          `json:"alive"`
	Overdue     []OverdueTick  `json:"overdue"`
	Policies    PolicyView     `json:"policies"`
	Revisions   []RevisionView `json:"revisions,omitempty"`
}

// A PolicyView has the recorded policies of a job.
type PolicyView struct {
	Overlap    string `json:"overlap,omitempty"`
	Misfire    string `json:"misfire,omitempty"`
	DeadlineMs int64  `json:"deadline_ms,omitempty"`
	JitterMs   int64  `json:"jitter_ms,omitempty"`
	TimeoutMs  int64  `json:"timeout_ms,omitempty"`
	Limit      string `json:"limit,omitempty"` // name*places, such as reports*3
	Broadcast  bool   `json:"broadcast,omitempty"`
}

// A PauseView describes the pause of a job.
type PauseView struct {
	Who    string    `json:"who"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // zero: until a resume
}

// A RevisionView describes when a revision of a spec was in use.
type RevisionView struct {
	Revision string    `json:"revision"`
	Spec     string    `json:"spec"`
	Zone     string    `json:"zone"`
	Node     string    `json:"node"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func policyView(r policy.Record) PolicyView {
	return PolicyView{r.Overlap, r.Misfire, r.Deadline.Milliseconds(), r.Jitter.Milliseconds(), r.Timeout.Milliseconds(), r.Limit.String(), r.Broadcast}
}

// asOf returns when the state of a job was as it is in the snapshot. The store names the jobs that
// have changed, so an unchanged job that was read before is as of the snapshot.
func (s *Snapshot) asOf(j *Job) time.Time {
	if s.position != nil && j.current() {
		return s.AsOf
	}
	return utc(j.Series.Now)
}

// View returns the view of a job of the snapshot. If whole is set, it includes the revisions.
func (s *Snapshot) View(j *Job, whole bool) JobView {
	v := JobView{
		Name: j.Name, State: j.State, Fault: j.Fault, AsOf: s.asOf(j), Paused: j.Series.PausedAt(j.Series.Now), LastSuccess: j.LastSuccess(), Mark: utc(j.Series.Mark),
		Last: j.Last(), Alive: j.AliveRuns(), Overdue: j.Overdue, Policies: policyView(j.Policies), Next: j.Next(s.AsOf),
		Change: j.Series.Change, Skip: utc(j.Series.Skip), Backfill: j.Backfill(),
	}
	if p := &j.Series.Pause; v.Paused {
		v.Pause = &PauseView{p.Who, p.Reason, utc(p.Since), time.Time{}}
		if !p.Retired() {
			v.Pause.Until = utc(p.Until)
		}
	}
	if v.Alive == nil || j.State == Unknown {
		v.Alive = []Run{}
	}
	if v.Overdue == nil {
		v.Overdue = []OverdueTick{}
	}
	if j.Schedule != nil {
		v.Spec, v.Words, v.Zone = j.Schedule.Text(), j.Schedule.Words(), j.Schedule.Zone().String()
	}
	if whole {
		v.Revisions = []RevisionView{}
		for _, u := range j.Journal.Revisions {
			v.Revisions = append(v.Revisions, RevisionView{u.Revision, u.Spec, u.Zone, u.Node, utc(u.First), utc(u.Last)})
		}
	}
	return v
}

// A NodeView is a node for machines.
type NodeView struct {
	Name  string    `json:"name"`
	State string    `json:"state"`         // alive, draining, drained or silent
	Seen  time.Time `json:"seen,omitzero"` // when it was last seen
	Until time.Time `json:"until,omitzero"`
	Left  time.Time `json:"left,omitzero"`
	Ahead *int64    `json:"clock_ahead_ms"` // how far its clock was ahead of the store's at its last heartbeat, negative if behind; null: not known
	Alive []Run     `json:"alive"`          // runs whose leases it holds
}

// Clock returns how far the clock of the node was off at its last heartbeat, for a person.
func (v NodeView) Clock() string {
	if v.Ahead == nil {
		return "not known"
	}
	switch d := time.Duration(*v.Ahead) * time.Millisecond; {
	case d < 0:
		return Short(-d) + " behind"
	case d > 0:
		return Short(d) + " ahead"
	}
	return "0 ms"
}

// NodeViews returns the nodes: live nodes by name, then nodes that left within the last day, the
// latest first.
func (s *Snapshot) NodeViews() []NodeView {
	runs := map[string][]Run{}
	for _, j := range s.Jobs {
		if j.State != Unknown {
			for _, r := range j.AliveRuns() {
				runs[r.Node] = append(runs[r.Node], r)
			}
		}
	}
	views := []NodeView{}
	for i := range s.Nodes.Members {
		if m := &s.Nodes.Members[i]; m.Alive(s.Nodes.Now) {
			views = append(views, NodeView{m.Node, "alive", s.Nodes.Seen(m.Node), utc(m.Until), time.Time{}, m.Ahead, some(runs[m.Node])})
		}
	}
	for _, m := range s.Nodes.Gone() {
		v := NodeView{m.Node, "silent", s.Nodes.Seen(m.Node), utc(m.Until), utc(m.Left), m.Ahead, some(runs[m.Node])}
		switch { // a node leaves the list when its drain begins
		case m.Left != 0 && len(v.Alive) > 0:
			v.State, v.Until = "draining", time.Time{}
		case m.Left != 0:
			v.State, v.Until = "drained", time.Time{}
		}
		views = append(views, v)
	}
	return views
}

func some(runs []Run) []Run {
	if runs == nil {
		return []Run{}
	}
	return runs
}

// A JobFilter selects and orders jobs. The zero filter selects all jobs that are not retired, by
// name.
type JobFilter struct {
	Name  string // a pattern of path.Match, or a part of the name
	State State
	Sort  string // one of JobSorts; empty: name
}

// JobSorts are the orders of jobs.
var JobSorts = []string{"name", "state", "next", "last"}

// Find returns the jobs that a filter selects, in its order.
func (s *Snapshot) Find(f JobFilter) []*Job {
	var found []*Job
	if f.State == "" && f.Name == "" {
		found = make([]*Job, 0, len(s.Jobs))
	}
	for _, j := range s.Jobs {
		if (f.State == "" && j.State != Retired || j.State == f.State) && f.names(j.Name) {
			found = append(found, j)
		}
	}
	switch f.Sort {
	case "state":
		return byState(found)
	case "next":
		next := make(map[*Job]time.Time, len(found))
		for _, j := range found {
			next[j] = j.Next(s.AsOf)
		}
		slices.SortStableFunc(found, func(a, b *Job) int {
			if x, y := next[a].IsZero(), next[b].IsZero(); x != y { // jobs without a next tick come last
				return map[bool]int{true: 1, false: -1}[x]
			}
			return next[a].Compare(next[b])
		})
	case "last":
		slices.SortStableFunc(found, func(a, b *Job) int { return lastOf(b).Compare(lastOf(a)) })
	}
	return found
}

// byState orders jobs by their states, the worst first. Jobs of one state stay in their order.
func byState(jobs []*Job) []*Job {
	of := map[State][]*Job{}
	for len(jobs) > 0 { // mostly many jobs in a row have the same state
		state, n := jobs[0].State, 1
		for n < len(jobs) && jobs[n].State == state {
			n++
		}
		of[state], jobs = append(of[state], jobs[:n]...), jobs[n:]
	}
	var sorted []*Job
	for _, state := range JobStates {
		sorted = append(sorted, of[state]...)
	}
	return sorted
}

func lastOf(j *Job) time.Time {
	if r := j.Last(); r != nil {
		return r.Recorded.Time()
	}
	return time.Time{}
}

// names reports whether the filter selects a name.
func (f *JobFilter) names(name string) bool {
	if f.Name == "" {
		return true
	}
	if strings.ContainsAny(f.Name, "*?[") {
		matched, err := path.Match(strings.ToLower(f.Name), strings.ToLower(name))
		return err == nil && matched
	}
	return strings.Contains(strings.ToLower(name), strings.ToLower(f.Name))
}
