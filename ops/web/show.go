package web

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// shows are the functions that templates use to format values.
var shows = template.FuncMap{
	"clock":    func(t, now time.Time) string { return ops.Clock(t, now) },
	"instant":  func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
	"until":    until,
	"zoned":    zoned,
	"ms":       milliseconds,
	"lateness": lateness,
	"plain":    plain,
	"lines":    lines,
	"word":     word,
	"verdict":  verdict,
	"jobPath":  func(name string) string { return "/jobs/" + url.PathEscape(name) },
	"tickPath": tickPath,
	"count": func(n int, noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return thousands(n) + " " + noun + "s"
	},
	"thousands":  thousands,
	"strip":      stripOf,
	"markOf":     markOf,
	"markOfRun":  func(r ops.Run) ops.State { return markOfRun(&r) },
	"stateWord":  func(r ops.Run) string { return stateWord(&r) },
	"lineAt":     func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") },
	"legend":     func() []ops.State { return append(slices.Clone(tickStates), "takeover") },
	"dict":       dict,
	"stateText":  ops.StateText,
	"ends":       func() []end { return ends },
	"selections": func() []end { return selections },
	"tickText":   ops.TickText,
	"room":       func(p *ops.Plan) *int64 { return &p.RoomMs },
	"planRows":   planRows,
	"dead":       dead,
}

// oldAfter is the age from which on a reading is old, as in live.js.
const oldAfter = 10 * time.Second

// dead returns why nothing on a page may look healthy; "": it may.
func dead(s *ops.Snapshot) string {
	switch {
	case !s.Known():
		return "the store does not answer"
	case s.LagMs() > oldAfter.Milliseconds():
		return "the view is old"
	case s.Dead():
		return "no node is alive"
	}
	return ""
}

// An end is a proposed end of a pause.
type end struct{ Value, Word string }

var ends = []end{{"", "someone resumes it"}, {"+1h", "1 hour from now"}, {"+4h", "4 hours from now"}, {"+8h", "8 hours from now"}, {"+24h", "1 day from now"}, {"+168h", "7 days from now"}}

// selections are the ticks that a backfill may have.
var selections = []end{{string(ops.NeverRan), "never ran"}, {string(ops.NotOK), "never ran or failed"}, {string(ops.AllTicks), "are in it, all of them"}}

// The numbers of the first and of the last ticks of a plan that its page has.
const (
	firstPlanned = 20
	lastPlanned  = 5
)

// A planRow is a tick of a plan, or the number of ticks that its page leaves out between two rows.
type planRow struct {
	ops.PlannedTick
	More int // 0: the row is a tick
}

// planRows returns the rows of a plan on its page.
func planRows(p *ops.Plan) (rows []planRow) {
	more := len(p.Ticks) - firstPlanned - lastPlanned
	for i := range p.Ticks {
		switch {
		case more <= 0 || i < firstPlanned || i >= firstPlanned+more:
			rows = append(rows, planRow{PlannedTick: p.Ticks[i]})
		case i == firstPlanned:
			rows = append(rows, planRow{More: more})
		}
	}
	return rows
}

// tickPath returns the address of the page of a tick.
func tickPath(job string, tick time.Time) string {
	return "/jobs/" + url.PathEscape(job) + "/ticks/" + ops.TickText(tick)
}

// zoned formats an instant in the zone of a spec.
func zoned(t time.Time, zone *time.Location) string {
	if zone.String() == time.UTC.String() {
		return t.In(zone).Format("Mon 2006-01-02 15:04:05")
	}
	return t.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00")
}

// dict makes a map of names and values, for a template that takes several values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict has %d arguments", len(pairs))
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// A fact is a policy of a job.
type fact struct{ Name, Value string }

// factsOf returns the policies of a job that the store has on record. The store does not have the ones
// that only matter to the nodes, such as takeover and retries.
func factsOf(j *ops.Job) (facts []fact) {
	p := j.Policies
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	length := func(d time.Duration) string {
		if d <= 0 {
			return ""
		}
		return ops.Short(d)
	}
	add("Overlap", p.Overlap)
	add("Misfire", p.Misfire)
	add("Deadline", length(p.Deadline))
	if next := j.Next(time.UnixMilli(j.Series.Now)); p.Deadline == 0 && p.Misfire != "" && !next.IsZero() {
		add("Deadline", length(p.Within(j.Schedule.Interval(next.UnixMilli()))-p.Jitter))
	}
	add("Jitter", length(p.Jitter))
	add("Timeout", length(p.Timeout))
	add("Limit", p.Limit.String())
	if p.Broadcast {
		add("Runs on", "each node")
	}
	if p.Crontab {
		add("Claimed by", "crontabs")
	}
	return facts
}

// lateness returns how late a run was granted, without its jitter; nil: it is not known.
func lateness(r ops.Run) *int64 {
	if r.LateMs == nil || r.JitterMs == nil {
		return r.LateMs
	}
	return new(*r.LateMs - *r.JitterMs)
}

// milliseconds formats a duration that may not be known.
func milliseconds(n *int64) string {
	if n == nil {
		return "–"
	}
	return ops.Short(time.Duration(*n) * time.Millisecond)
}

// plain returns a text of a job, an error or a name in a form that is safe to show: characters that
// are not printable or that change the text direction are escaped. The template escapes HTML.
func plain(text string) string {
	const most = 2000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return printable(text)
}

// lines applies plain to each line of a text.
func lines(text string) string {
	all := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i := range all {
		all[i] = printable(all[i])
	}
	return strings.Join(all, "\n")
}

// printable escapes characters that are not printable or that change the direction of the following
// text.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// tickStates are the states of ticks that have a mark, the worst last.
var tickStates = []ops.State{ops.OK, ops.Running, ops.Waiting, ops.Skipped, ops.Superseded, ops.Paused, ops.Unknown, ops.Missed, ops.Overdue, ops.Failing, ops.Lost}

// word is the word of a state.
func word(s ops.State) string { return string(s) }

// markOfRun returns the state whose mark a run gets, as markOf does for its outcome.
func markOfRun(r *ops.Run) ops.State {
	if r.Ordered() {
		return ops.Skipped
	}
	return r.State
}

// stateWord returns the word for the state of a run. A run that an operator or a newer tick ended has its outcome as its word.
func stateWord(r *ops.Run) string {
	if r.Ordered() {
		return r.Outcome
	}
	return string(r.State)
}

// A strip shows the newest ticks of a job, with a mark for each.
type strip struct {
	W     int
	Label string
	Marks template.HTML // a template would take most of the time of a list of jobs for them
}

// stripOf returns the strip of a job with at most so many ticks, the newest first.
func stripOf(j *ops.Job, most int) strip {
	const step = 13
	s := strip{W: most * step}
	counts := map[string]int{}
	var marks strings.Builder
	for i := range j.Runs[:min(len(j.Runs), most)] {
		r := &j.Runs[i]
		fmt.Fprintf(&marks, `<use href="#m-%s" class="s-%[1]s" x="%d" width="11" height="16"/>`, markOfRun(r), i*step)
		counts[stateWord(r)]++
	}
	s.Marks = template.HTML(marks.String()) //nolint:gosec // it has the words of states and numbers alone
	for _, state := range append(slices.Clone(tickStates), series.OutcomeCancelled, series.OutcomeReplaced) {
		if n := counts[string(state)]; n > 0 {
			s.Label += fmt.Sprintf("%d %s ", n, state)
		}
	}
	return s
}

// verdict returns the verdict of a tick in words.
func verdict(r ops.Run) string {
	switch {
	case r.Cancelled:
		return "cancelled, has not ended"
	case r.Verdict == "ran" && r.Outcome != "":
		return r.Outcome
	case r.Verdict == "ran":
		return string(r.State)
	case r.Reason != "" && r.Reason != r.Verdict:
		return r.Verdict + ": " + r.Reason
	}
	return r.Verdict
}

// thousands groups the digits of a number.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
