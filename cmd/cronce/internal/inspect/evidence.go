package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A shownLine is a line with facts from later lines.
type shownLine struct {
	*series.Line
	killed string // the fate of an attempt that has no end
}

// evidenceOf returns the lines of a journal with these indexes.
func evidenceOf(j *series.Journal, state *series.Series, indexes []int) (lines []shownLine) {
	all := j.All()
	killed := killedAttempts(all, state)
	for _, i := range indexes {
		lines = append(lines, shownLine{&all[i], killed[i]})
	}
	return lines
}

// printLines writes lines of a journal as a table for a person.
func printLines(w io.Writer, lines []shownLine) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WRITTEN, UTC\tTICK, UTC\tLATE\tVERDICT\tNODE\tATTEMPT\tFENCE\tREMARK")
	for i := range lines {
		l := &lines[i]
		if l.Verdict == series.VerdictUnreadable {
			terminal.PrintRow(table, "-", "-", "-", l.Verdict, "-", "-", "-", l.Error)
			continue
		}
		terminal.PrintRow(table, terminal.UTC(l.At).Format("2006-01-02 15:04:05.000"), tickOf(l.Line), lateOf(l.Line),
			l.Verdict, terminal.Dash(l.Node), terminal.Number(int64(l.Attempt)), terminal.Number(l.Fence), remark(l))
	}
	return table.Flush()
}

// tickOf formats a line's tick, with its day if the line was written on another day.
func tickOf(l *series.Line) string {
	if l.Verdict == series.VerdictControl {
		return "-"
	}
	return ops.TickClock(terminal.UTC(l.To), terminal.UTC(l.At))
}

// remark describes the remaining facts of a line in words.
func remark(l *shownLine) string {
	var parts []string
	if l.killed != "" {
		parts = append(parts, l.killed)
	}
	if l.Outcome != "" {
		text := l.Outcome
		if took := l.Ended - l.At; l.Verdict == series.VerdictRan && took >= 0 {
			text += " in " + terminal.Milliseconds(fmt.Sprint(took))
		}
		parts = append(parts, text)
	}
	if l.Error != "" {
		parts = append(parts, l.Error)
	}
	if l.Audit != 0 {
		parts = append(parts, fmt.Sprintf("change %d, number %d of the audit", l.Change, l.Audit))
	}
	if l.Reason != "" {
		parts = append(parts, l.Reason)
	}
	if l.For != 0 {
		parts = append(parts, "for the tick of "+ops.TickClock(terminal.UTC(l.For), terminal.UTC(l.At))+"Z")
	}
	if l.Blocker != 0 {
		parts = append(parts, fmt.Sprintf("because of the run of %sZ with fence %d", ops.TickClock(terminal.UTC(l.Blocker), terminal.UTC(l.At)), l.BlockerFence))
	}
	from := terminal.ShortTime(terminal.UTC(l.From), terminal.UTC(l.At)) + "Z"
	switch l.Between {
	case "":
	case l.Verdict:
		parts = append(parts, "with all ticks after "+from)
	default:
		parts = append(parts, fmt.Sprintf("ticks after %s: %s", from, l.Between))
	}
	return strings.Join(parts, "; ")
}

// A journalLine is a line for machines, with times as in the logs.
type journalLine struct {
	At       time.Time      `json:"at"`
	Verdict  series.Verdict `json:"verdict"`
	From     time.Time      `json:"from"`
	Tick     time.Time      `json:"tick"`
	Between  series.Verdict `json:"between,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Node     string         `json:"node,omitempty"`
	Revision string         `json:"revision,omitempty"`
	Fence    int64          `json:"fence,omitempty"`
	Attempt  int            `json:"attempt,omitempty"`
	Outcome  string         `json:"outcome,omitempty"`
	Ended    time.Time      `json:"ended,omitzero"`
	Error    string         `json:"error,omitempty"`
	Killed   string         `json:"killed,omitempty"`  // the fate of an attempt without an end
	LateMs   *int64         `json:"late_ms,omitempty"` // for a grant: how long after its tick

	Blocker      time.Time `json:"blocker,omitzero"` // the tick of the run that blocked this one
	BlockerFence int64     `json:"blocker_fence,omitempty"`

	For time.Time `json:"for,omitzero"` // of a run of a backfill: the tick whose work it does

	Change int64 `json:"change,omitempty"` // for control: its number in the job
	Audit  int64 `json:"audit,omitempty"`  // for control: the number of its record in the audit
}

func journalLines(lines []shownLine) []journalLine {
	all := []journalLine{}
	for _, l := range lines {
		line := journalLine{
			At: terminal.UTC(l.At), Verdict: l.Verdict, From: terminal.UTC(l.From), Tick: terminal.UTC(l.To), Between: l.Between, Reason: l.Reason,
			Node: l.Node, Revision: l.Revision, Fence: l.Fence, Attempt: l.Attempt, Outcome: l.Outcome,
		}
		if l.Ended != 0 {
			line.Ended = terminal.UTC(l.Ended)
		}
		line.Change, line.Audit = l.Change, l.Audit
		line.Error, line.BlockerFence, line.Killed = l.Error, l.BlockerFence, l.killed
		if l.Blocker != 0 {
			line.Blocker = terminal.UTC(l.Blocker)
		}
		if l.For != 0 {
			line.For = terminal.UTC(l.For)
		}
		if l.Verdict == series.VerdictRan {
			line.LateMs = new(lateMs(l.Line))
		}
		all = append(all, line)
	}
	return all
}
