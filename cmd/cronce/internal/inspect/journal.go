package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/lock/series"
)

const maxJournal = 100_000

type journalFlags struct {
	n                     int
	since, until, verdict string
	output                string
}

// JournalCommand is the command journal.
func JournalCommand() *cobra.Command {
	var f journalFlags
	cmd := &cobra.Command{
		Use:   "journal <job>",
		Short: "Print the newest verdicts of a job",
		Long: "Print the newest verdicts of a job: when each was written, how late a grant was, the error of a run\n" +
			"that failed, which run a skipped or waiting tick gave way to, and which attempts were killed.\n\n" +
			"Exit code 4: the store does not answer, or a line cannot be read.",
		Example: "  cronce journal sendSms -n 20\n  cronce journal sendSms --since 1h --verdict missed",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("journal: got %d arguments, want the name of one job", len(args))
			}
			if f.n < 1 || f.n > maxJournal {
				return exit.Usagef("journal: -n is %d, must be 1 to %d", f.n, maxJournal)
			}
			if _, err := f.filter(time.Now()); unreadable(err) != nil {
				return err
			}
			return inspect(cmd, func(ctx context.Context, s inspector) error {
				return s.printJournal(ctx, cmd.OutOrStdout(), args[0], f)
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many lines, the newest")
	cmd.Flags().StringVar(&f.since, "since", "", "only lines of ticks from here on: how long ago (1h), or RFC 3339")
	cmd.Flags().StringVar(&f.until, "until", "", "only lines of ticks up to here")
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "only lines of this verdict, such as ran, skipped, missed, lost")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (s inspector) printJournal(ctx context.Context, w io.Writer, job string, f journalFlags) error {
	if _, err := s.Jobs(ctx, job); err != nil {
		return err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return err
	}
	filter, err := f.filter(now)
	if err != nil {
		return err
	}
	n := f.n
	if !filter.all() {
		n = 0 // the newest of what is let through may be old
	}
	j, err := s.Front().Journal(ctx, job, n)
	if err != nil {
		return s.Failed(err)
	}
	// Without a state, as where it cannot be read, no attempt is remarked on that no line speaks of.
	lines := filter.shown(&j, &s.Front().ReadSeries(ctx, []string{job})[0], f.n)
	if err := printLines(w, &j, lines, f.output); err != nil {
		return err
	}
	if slices.ContainsFunc(lines, func(l shownLine) bool { return l.Verdict == series.VerdictUnreadable }) {
		return exit.Printed(exit.NotKnown, "a line of the journal cannot be read")
	}
	return nil
}

func printLines(w io.Writer, j *series.Journal, lines []shownLine, output string) error {
	if output == command.OutputJSON {
		return terminal.PrintJSON(w, journalReportOf(j, lines))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WRITTEN, UTC\tTICK\tLATE\tVERDICT\tNODE\tATTEMPT\tFENCE\tREMARK")
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

// tickOf shows a line's tick, with its day if it was written on another.
func tickOf(l *series.Line) string {
	if l.Verdict == series.VerdictControl {
		return "-"
	}
	return terminal.ShortTime(terminal.UTC(l.To), terminal.UTC(l.At))
}

// remark says in words what else a line has.
func remark(l *shownLine) string {
	var parts []string
	if l.killed != "" {
		parts = append(parts, l.killed)
	}
	if l.Outcome != "" {
		text := l.Outcome
		if took := l.Ended - l.At; l.Verdict == series.VerdictRan && l.Ended > 0 && took >= 0 {
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
	if l.Blocker != 0 {
		parts = append(parts, fmt.Sprintf("because of the run of %s with fence %d", terminal.ShortTime(terminal.UTC(l.Blocker), terminal.UTC(l.At)), l.BlockerFence))
	}
	from := terminal.ShortTime(terminal.UTC(l.From), terminal.UTC(l.At))
	switch l.Between {
	case "":
	case l.Verdict:
		parts = append(parts, "with all after "+from)
	default:
		parts = append(parts, fmt.Sprintf("those after %s %s", from, l.Between))
	}
	return strings.Join(parts, "; ")
}

// JournalReport is a journal for machines: times as the logs write them.
type JournalReport struct {
	Job       string            `json:"job"`
	Truncated bool              `json:"truncated"`
	Lines     []journalLine     `json:"lines"`
	Revisions []journalRevision `json:"revisions"`
}

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
	Killed   string         `json:"killed,omitempty"`  // what became of an attempt without an end
	LateMs   *int64         `json:"late_ms,omitempty"` // of a grant: how long after its tick

	Blocker      time.Time `json:"blocker,omitzero"` // the tick of the run in the way
	BlockerFence int64     `json:"blocker_fence,omitempty"`

	Change int64 `json:"change,omitempty"` // of control: its number in the job
	Audit  int64 `json:"audit,omitempty"`  // of control: the number of its record in the audit
}

type journalRevision struct {
	Revision string    `json:"revision"`
	Spec     string    `json:"spec"`
	Zone     string    `json:"zone"`
	Node     string    `json:"node"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func journalReportOf(j *series.Journal, lines []shownLine) JournalReport {
	r := JournalReport{Job: j.Key, Truncated: j.Truncated, Lines: []journalLine{}, Revisions: []journalRevision{}}
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
		if l.Verdict == series.VerdictRan {
			line.LateMs = new(l.At - l.To)
		}
		r.Lines = append(r.Lines, line)
	}
	for _, s := range j.Revisions {
		r.Revisions = append(r.Revisions, journalRevision{s.Revision, s.Spec, s.Zone, s.Node, terminal.UTC(s.First), terminal.UTC(s.Last)})
	}
	return r
}
