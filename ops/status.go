package ops

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// A Need is a problem that requires a person.
type Need struct {
	State State     `json:"state"` // Unknown, Overdue, Stuck, Lost, Failing, Missed, Starved, Paused
	Job   string    `json:"job,omitempty"`
	Tick  time.Time `json:"tick,omitzero"`
	Text  string    `json:"text"`
	Next  string    `json:"next_step,omitempty"` // the recommended action

	cause string // the same for jobs that have one cause: see Causes
}

// A Status reports whether there are problems, and lists them.
type Status struct {
	Namespace string        `json:"namespace"`
	AsOf      time.Time     `json:"as_of,omitzero"`
	LagMs     int64         `json:"lag_ms"`
	State     State         `json:"state"` // OK, Failing if there is a problem, or Unknown
	Sentence  string        `json:"sentence"`
	Needs     []Need        `json:"needs"` // the worst first; see Causes
	Jobs      map[State]int `json:"jobs"`  // by state
	Nodes     int           `json:"nodes"` // number of live nodes
}

// Status reports whether there are problems.
func (s *Snapshot) Status() Status {
	st := Status{Namespace: s.Namespace, AsOf: s.AsOf, LagMs: s.LagMs(), Needs: s.needs(), Jobs: s.Count(), Nodes: s.Nodes.Alive(), State: OK}
	wrong := false
	for i := range st.Needs {
		switch st.Needs[i].State {
		case Unknown:
			st.State = Unknown
		case Paused: // an operator requested it
		default:
			wrong = true
		}
	}
	if wrong {
		st.State = Failing
	}
	st.Sentence = s.sentence(&st)
	return st
}

func (s *Snapshot) sentence(st *Status) string {
	switch {
	case s.Down != "" && s.AsOf.IsZero():
		return "Not known: " + s.Down + "."
	case s.Down != "":
		return fmt.Sprintf("Not known: %s. The last answer is of %s.", s.Down, s.AsOf.Format(time.RFC3339))
	case len(s.Jobs) == 0:
		return noJobs
	case st.State != OK:
		urgent := len(st.Needs) - st.Jobs[Paused]
		return fmt.Sprintf("%s need%s a person, of %s.", plural(urgent, "thing"), map[bool]string{true: "s"}[urgent == 1], plural(len(s.Jobs)-st.Jobs[Retired], "job"))
	}
	jobs := len(s.Jobs) - st.Jobs[Retired]
	text := fmt.Sprintf("All %d jobs decided", jobs)
	if jobs == 1 {
		text = "The job is decided"
	}
	if r := s.Newest(); r != nil {
		text += fmt.Sprintf(", newest verdict %s ago", Short(s.AsOf.Sub(r.Recorded.Time())))
	}
	text += fmt.Sprintf("; %s", plural(st.Nodes, "node"))
	if n := st.Jobs[Paused]; n > 0 {
		text += fmt.Sprintf("; %d paused", n)
	}
	return text + "."
}

const noJobs = "Not known: no job is on record in this namespace: none was opened there, or the store lost its data."

// Dead reports whether no node is alive although a job needs one.
func (s *Snapshot) Dead() bool {
	return s.Nodes.Err() == nil && s.Nodes.Alive() == 0 && slices.ContainsFunc(s.Jobs, (*Job).needsNode)
}

// needs lists the problems that require a person, the worst first.
func (s *Snapshot) needs() []Need {
	needs := []Need{}
	if s.Down != "" {
		return append(needs, Need{State: Unknown, Text: "The store does not answer: " + s.Down + ". The current state is not known; older data is shown.", Next: "cronce doctor"})
	}
	for _, fault := range s.Faults {
		needs = append(needs, Need{State: Unknown, Text: fault, Next: "cronce doctor"})
	}
	if len(s.Jobs) == 0 {
		return append(needs, Need{State: Unknown, Text: noJobs, Next: "start a node, or see whether this is the namespace that you mean"})
	}
	if s.Dead() {
		text := "No node lives: nothing starts."
		if gone := s.Nodes.Gone(); len(gone) > 0 {
			text = "No node lives, nothing starts: " + Departure(&gone[0]) + "."
		}
		needs = append(needs, Need{State: Overdue, Text: text, Next: "start a node"})
	}
	for _, j := range s.Jobs {
		if n, ok := j.need(s.AsOf); ok {
			needs = append(needs, n)
		}
	}
	slices.SortStableFunc(needs, func(a, b Need) int {
		return cmp.Compare(slices.Index(JobStates, a.State), slices.Index(JobStates, b.State))
	})
	return needs
}

// needsNode reports whether a node must decide the ticks of the job.
func (j *Job) needsNode() bool {
	return j.State != Paused && j.State != Retired && !j.Policies.Crontab
}

// need returns the reason why a job requires a person, if it does.
func (j *Job) need(now time.Time) (Need, bool) {
	n := Need{State: j.State, Job: j.Name}
	switch j.State {
	case Unknown:
		n.cause = j.Fault
		n.Text, n.Next = "Not known: "+j.Fault, "cronce verify --job "+j.Name
	case Overdue:
		l := j.Overdue[0]
		n.Tick, n.cause = l.Tick, l.Cause
		n.Text = fmt.Sprintf("%s %s; its time was over %s ago: %s", subject(l.Tick, now), l.Stands(), Short(l.Age()), l.Cause)
		if l.Ticks > 1 {
			n.Text = fmt.Sprintf("%d ticks since %s were due and have no verdict; the time of the first was over %s ago: %s", l.Ticks, Clock(l.Tick, now), Short(l.Age()), l.Cause)
		}
		n.Next = "cronce status overdue --job " + j.Name
	case Failing, Lost, Missed:
		bad := j.bad()
		n.Tick, n.Next = bad.Tick.Time(), fmt.Sprintf("cronce why %s %s", j.Name, TickText(bad.Tick.Time()))
		n.Text = failure(bad, now)
		n.cause = bad.Outcome + bad.Error + bad.Reason
		if j.State == Lost {
			n.cause = bad.Node
		}
		switch count, first, all := j.FailingSince(); {
		case count == 0:
			n.Text += fmt.Sprintf("; later ones ended ok: it is listed until %d have, or for %d hours", mendedBy, int(mendedFor.Hours()))
		case !all:
			n.Text += fmt.Sprintf("; not ok since %s at least (%s or more)", TickClock(first.Tick.Time(), now), plural(count, "tick"))
		case count > 1:
			n.Text += fmt.Sprintf("; not ok since %s (%d ticks)", TickClock(first.Tick.Time(), now), count)
		}
	case Stuck, Starved:
		n = j.Stall.Need(j.Name, now)
	case Paused:
		n.cause = j.Series.Pause.Who + "\x00" + j.Series.Pause.Reason
		n.Text, n.Next = pauseText(&j.Series.Pause, now), "cronce resume "+j.Name
	default:
		return n, false
	}
	if !j.current() && j.State != Unknown {
		n.Text += fmt.Sprintf(" (as of %s: the job cannot be read now)", Clock(utc(j.Series.Now), now))
	}
	return n, true
}

// pauseText returns by whom, why and until when a job is paused.
func pauseText(p *series.Pause, now time.Time) string {
	text, end := "Paused", "until it is resumed"
	if p.Who != "" {
		text += " by " + p.Who
	}
	if p.Since != 0 {
		text += " since " + Clock(utc(p.Since), now)
	}
	if p.Until != 0 {
		end = "until " + Clock(utc(p.Until), now)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text + "; nothing starts " + end
}

// failure describes the end of a failed, lost or missed tick.
func failure(r *Run, now time.Time) string {
	switch r.State {
	case Lost:
		return fmt.Sprintf("%s is lost with %s, which did not end it", subject(r.Tick.Time(), now), cmp.Or(r.Node, "its node"))
	case Missed:
		return fmt.Sprintf("%s was missed (%s)", subject(r.Tick.Time(), now), cmp.Or(r.Reason, "no reason is recorded"))
	}
	text := fmt.Sprintf("%s ended as %s on %s", subject(r.Tick.Time(), now), r.Outcome, r.Node)
	if r.Error != "" {
		text += ": " + r.Error
	}
	return text
}

// TickText formats a tick as RFC 3339 in UTC, and the instant of a manual run with its milliseconds.
func TickText(tick time.Time) string {
	if spec.Manual(tick.UnixMilli()) {
		return tick.UTC().Format(tickLayout)
	}
	return tick.UTC().Format(time.RFC3339)
}

// TickClock formats a tick as Clock does, and the instant of a manual run with its milliseconds.
func TickClock(tick, now time.Time) string {
	text := Clock(tick, now)
	if spec.Manual(tick.UnixMilli()) {
		text += tick.UTC().Format(".000")
	}
	return text
}

// subject names a tick, or a manual run, at the beginning of a sentence.
func subject(tick, now time.Time) string {
	if spec.Manual(tick.UnixMilli()) {
		return "The manual run of " + TickClock(tick, now)
	}
	return "The tick of " + Clock(tick, now)
}

// Clock formats an instant in UTC, with its day unless that is today.
func Clock(t, now time.Time) string {
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return t.UTC().Format(time.TimeOnly)
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Short formats a duration for a person, with at most two units.
func Short(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
