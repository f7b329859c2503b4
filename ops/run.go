package ops

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// A State is the state of a job or of a tick, in a word.
type State string

// The states. A job is Overdue, Stuck, Lost, Failing, Missed, Starved, Running, Paused, OK, Retired
// or Unknown; the other states are for ticks only.
const (
	OK         State = "ok"
	Running    State = "running"
	Failing    State = "failing" // the last attempt of a tick, or of the newest tick of a job, did not end ok
	Lost       State = "lost"
	Missed     State = "missed"
	Overdue    State = "overdue"
	Stuck      State = "stuck"   // ticks are skipped behind a run that is too old
	Retired    State = "retired" // no node has the job any more, as an operator or a node has recorded; lists omit it
	Starved    State = "starved" // no tick has ended ok for too long
	Paused     State = "paused"
	Unknown    State = "unknown"
	Skipped    State = "skipped" // because of an earlier run, or by its function
	Superseded State = "superseded"
	Waiting    State = "waiting"
)

// JobStates are the states of jobs, the worst first.
var JobStates = []State{Unknown, Overdue, Stuck, Lost, Failing, Missed, Starved, Paused, Running, OK, Retired}

// A Run is the result of a tick: its last attempt, or the reason why it had none. A Run for a range
// covers all ticks after From up to Tick.
type Run struct {
	ID       string  `json:"id"`
	Job      string  `json:"job"`
	Tick     Instant `json:"tick"`
	until    Instant // the last one of the older runs in its list; 0: not known
	From     Instant `json:"from,omitzero"` // for a range: the instant before its first tick
	State    State   `json:"state"`
	Verdict  string  `json:"verdict"`
	Between  string  `json:"between,omitempty"` // for a range: the verdict of the ticks before Tick
	Reason   string  `json:"reason,omitempty"`
	Outcome  string  `json:"outcome,omitempty"`
	Node     string  `json:"node,omitempty"`
	Attempt  int     `json:"attempt,omitempty"`
	Fence    int64   `json:"fence,omitempty"`
	Recorded Instant `json:"recorded"`            // when the verdict, or the last grant, was recorded
	Granted  Instant `json:"granted,omitzero"`    // when the last attempt was granted
	Ended    Instant `json:"ended,omitzero"`      // when the last attempt ended
	LateMs   *int64  `json:"late_ms,omitempty"`   // from the tick, or from the request of a manual run, to the first grant
	JitterMs *int64  `json:"jitter_ms,omitempty"` // of LateMs, the part that the recorded jitter asked for
	TookMs   *int64  `json:"took_ms,omitempty"`   // duration of the last attempt
	LeftMs   *int64  `json:"left_ms,omitempty"`   // remaining lease of a run that is alive
	Behind   *int    `json:"behind,omitempty"`    // for a run that is alive: the number of ticks since its own
	Error    string  `json:"error,omitempty"`
	Blocker  Instant `json:"blocker,omitzero"` // the tick of the run that blocked this one

	For       Instant `json:"for,omitzero"`        // for a run of a backfill: the earlier tick whose work it does; Tick is then the run's own instant
	Manual    bool    `json:"manual,omitempty"`    // an operator requested it: Tick is the instant of the request
	Cancelled bool    `json:"cancelled,omitempty"` // for a run that has not ended: an operator cancelled it

	// Shards counts the shards of a tick that is divided into them; nil: it is not. Node is then the node that opened the
	// tick, and LeftMs the time until the last lease of a shard ends.
	Shards *ShardCount `json:"shards,omitempty"`

	revision string // of the spec under which it was decided first
}

// tickLayout is the layout of an instant in ids and JSON.
const tickLayout = "2006-01-02T15:04:05.000Z07:00"

// runID returns the id of the run of a tick, as in scheduler.Run.ID.
func runID(namespace, job string, tick time.Time) string {
	return namespace + "/" + job + "@" + tick.UTC().Format(tickLayout)
}

// newRun returns the Run of a number without a verdict.
func newRun(namespace, job string, number int64) *Run {
	return &Run{ID: runID(namespace, job, utc(number)), Job: job, Tick: Instant(number), Manual: spec.Manual(number)}
}

// Runs returns the results of the ticks in a journal's lines and exceptions, the newest first. The state shows
// which attempts are alive. The line of the end of a pause reaches up to an instant that need not
// be a tick: it is listed under the latest tick before that instant, and omitted if there is none.
func Runs(namespace string, j *series.Journal, s *series.Series) []Run {
	var all []*Run
	byTick := map[int64]*Run{}
	lines := j.All()
	for i := range lines {
		l := &lines[i]
		switch l.Verdict {
		case series.VerdictOpened:
			forget(all)
			continue
		case series.VerdictControl, series.VerdictUnreadable:
			continue
		}
		ms := verify.TickOf(j, l)
		if ms == 0 {
			continue
		}
		r := byTick[ms]
		if r == nil {
			r = newRun(namespace, s.Key, ms)
			byTick[ms] = r
			all = append(all, r)
		}
		r.read(l)
	}
	left := map[int64]bool{}
	for i := range s.Runs {
		left[s.Runs[i].Number] = true
		if r := byTick[s.Runs[i].Number]; r != nil {
			r.stands(&s.Runs[i], s)
		}
	}
	for tick, r := range byTick {
		switch {
		case left[tick]:
		case r.Outcome == series.OutcomeInterrupted && r.State == Waiting:
			r.State = Failing // no node runs it again
		case r.State == Running && int64(r.Recorded) < s.Now:
			r.State = Unknown // the store has lost its record
		}
	}
	jitter(all, j)
	all = append(all, unlisted(namespace, byTick, s)...)
	slices.SortStableFunc(all, func(a, b *Run) int { return cmp.Compare(b.Tick, a.Tick) })
	runs := make([]Run, len(all))
	for i, r := range all {
		runs[i] = *r
	}
	for i, until := len(runs)-1, Instant(1); i >= 0; i-- {
		runs[i].until = until
		until = max(until, runs[i].last())
	}
	return runs
}

// forget sets the state of runs that have not ended: the store had lost them when a node opened the series again.
func forget(runs []*Run) {
	for _, r := range runs {
		if r.State == Running || r.State == Waiting && r.Outcome != series.OutcomeInterrupted {
			r.State = Unknown
		}
	}
}

// last returns the last instant of a run.
func (r *Run) last() Instant {
	if r.State == Running || r.State == Waiting {
		return math.MaxInt64
	}
	return max(r.Tick, r.Recorded, r.Ended) + 1 // a part of it may be missing
}

// olderOver reports whether the older runs in the list of this run were over before an instant. The list need not be visited further.
func (r *Run) olderOver(at time.Time) bool { return r.until != 0 && int64(r.until) < at.UnixMilli() }

// olderEnded reports whether the older runs in the list of this run have ended.
func (r *Run) olderEnded() bool { return r.until != 0 && r.until != math.MaxInt64 }

// read applies a line about the tick.
func (r *Run) read(l *series.Line) {
	r.revision = cmp.Or(r.revision, l.Revision)
	if l.Between != "" && l.From < l.To {
		r.From, r.Between = Instant(l.From), string(l.Between)
	}
	switch l.Verdict {
	case series.VerdictRan:
		if r.Granted.IsZero() && l.Attempt <= 1 { // otherwise the line of the first grant is gone
			r.LateMs = new(max(0, l.At-l.To)) // a grant may come slightly early, and carries the wait
		}
		r.Granted, r.Recorded = Instant(l.At), Instant(l.At)
		r.Outcome, r.Error, r.Ended, r.TookMs = "", "", 0, nil
		r.Node, r.Attempt, r.Fence = l.Node, l.Attempt, l.Fence
		if l.Shards > 0 {
			r.Shards = &ShardCount{Of: l.Shards}
		}
		if l.Outcome != "" {
			r.end(l, l.Ended)
		}
	case series.VerdictEnded:
		at := l.Ended
		if at == 0 {
			at = l.At
		}
		r.end(l, at)
	default:
		r.Recorded, r.For = Instant(l.At), cmp.Or(r.For, Instant(l.For))
		if l.Node != "" && r.Node == "" {
			r.Node = l.Node
		}
		if l.Blocker != 0 {
			r.Blocker = Instant(l.Blocker)
		}
	}
	if l.Verdict != series.VerdictEnded {
		r.Verdict, r.Reason = string(l.Verdict), l.Reason
	}
	r.State = stateOf(r)
}

// end applies the end of the attempt that was granted last.
func (r *Run) end(l *series.Line, at int64) {
	r.Outcome, r.Error, r.Ended = l.Outcome, l.Error, Instant(at)
	if r.Verdict == "" { // the journal no longer has the line of the grant
		r.Verdict, r.Node, r.Attempt, r.Fence, r.Recorded = string(series.VerdictRan), l.Node, l.Attempt, l.Fence, Instant(l.At)
	}
	if !r.Granted.IsZero() {
		r.TookMs = new(int64(r.Ended - r.Granted))
	}
	if l.Shards > 0 {
		r.Shards, r.Error = settledShards(l)
	}
}

// stateOf returns the state for a verdict and its outcome. An attempt without an end counts as
// alive unless the state of the store contradicts that.
func stateOf(r *Run) State {
	switch series.Verdict(r.Verdict) {
	case series.VerdictRan:
		switch r.Outcome {
		case "":
			return Running
		case series.OutcomeOK:
			return OK
		case series.OutcomeSkipped:
			return Skipped
		case series.OutcomeInterrupted, series.OutcomeUnstarted:
			return Waiting
		}
		return Failing
	case series.VerdictSkipped:
		return Skipped
	case series.VerdictSuperseded:
		return Superseded
	case series.VerdictMissed:
		return Missed
	case series.VerdictPaused:
		return Paused
	case series.VerdictLost:
		return Lost
	case series.VerdictWaiting:
		return Waiting
	case verdictOverdue:
		return Overdue
	}
	return Unknown
}

// between returns the state of the ticks of a range before its last one.
func (r *Run) between() State { return stateOf(&Run{Verdict: r.Between}) }

// stands applies the store's state of an unsettled run.
func (r *Run) stands(run *series.Run, s *series.Series) {
	r.Cancelled, r.Behind, r.For = run.Cancelled, nil, Instant(run.For)
	if run.Shards > 0 {
		r.Shards = countShards(&s.Sheet, s.Now)
	}
	switch run.State {
	case series.RunOpen:
		if r.Outcome == "" {
			r.State = Running
			left := s.Until(run) - s.Now
			r.LeftMs = new(max(0, left))
			if left <= 0 {
				r.State = Waiting // for a node that settles it or takes it over
			}
		}
	case series.RunGivenBack, series.RunUnstarted, series.RunWaiting:
		r.State = Waiting
	}
}

// Alive reports whether the run's lease has not expired.
func (r *Run) Alive() bool { return r.State == Running && r.LeftMs != nil && *r.LeftMs > 0 }
