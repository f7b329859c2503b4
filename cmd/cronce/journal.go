package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/lock"
)

const maxJournal = 100_000

type journalFlags struct {
	n      int
	output string
}

func journalCommand() *cobra.Command {
	var f journalFlags
	cmd := &cobra.Command{
		Use:     "journal <job>",
		Short:   "Print the newest verdicts of a job",
		Example: "  cronce journal sendSms -n 20",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("journal: got %d arguments, allowed is the name of one job", len(args))
			}
			if f.n < 1 || f.n > maxJournal {
				return usagef("journal: -n is %d, allowed is 1 to %d", f.n, maxJournal)
			}
			return withStore(cmd, func(ctx context.Context, s *store) error {
				return s.printJournal(ctx, cmd.OutOrStdout(), args[0], f)
			})
		},
	}
	configFlags(cmd, storeOverrides)
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many lines, the newest")
	outputFlag(cmd, &f.output)
	return cmd
}

func (s *store) printJournal(ctx context.Context, w io.Writer, job string, f journalFlags) error {
	if _, err := s.jobs(ctx, job); err != nil {
		return err
	}
	j, err := s.driver.Journal(ctx, job, f.n)
	if err != nil {
		return s.failed(err)
	}
	if f.output == outputJSON {
		return printJSON(w, journalReportOf(&j))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WRITTEN, UTC\tTICK\tVERDICT\tNODE\tATTEMPT\tFENCE\tREMARK")
	for i := range j.Lines {
		l := &j.Lines[i]
		printRow(table, instant(l.At).Format("2006-01-02 15:04:05.000"), tickOf(l),
			l.Verdict, dash(l.Node), number(int64(l.Attempt)), number(l.Fence), remark(l))
	}
	return table.Flush()
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// tickOf shows a line's tick, with its day if it was written on another.
func tickOf(l *lock.Line) string { return since(instant(l.To), instant(l.At)) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// remark says in words what else a line has.
func remark(l *lock.Line) string {
	var parts []string
	if l.Outcome != "" {
		text := l.Outcome
		if took := l.Ended - l.At; l.Verdict == lock.VerdictRan && l.Ended > 0 && took >= 0 {
			text += " in " + milliseconds(fmt.Sprint(took))
		}
		parts = append(parts, text)
	}
	if l.Reason != "" {
		parts = append(parts, l.Reason)
	}
	from := since(instant(l.From), instant(l.At))
	switch l.Between {
	case "":
	case l.Verdict:
		parts = append(parts, "with all after "+from)
	default:
		parts = append(parts, fmt.Sprintf("those after %s %s", from, l.Between))
	}
	return strings.Join(parts, "; ")
}

// journalReport is a journal for machines: times as the logs write them.
type journalReport struct {
	Job       string            `json:"job"`
	Truncated bool              `json:"truncated"`
	Lines     []journalLine     `json:"lines"`
	Revisions []journalRevision `json:"revisions"`
}

type journalLine struct {
	At       time.Time    `json:"at"`
	Verdict  lock.Verdict `json:"verdict"`
	From     time.Time    `json:"from"`
	Tick     time.Time    `json:"tick"`
	Between  lock.Verdict `json:"between,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Node     string       `json:"node,omitempty"`
	Revision string       `json:"revision,omitempty"`
	Fence    int64        `json:"fence,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Outcome  string       `json:"outcome,omitempty"`
	Ended    time.Time    `json:"ended,omitzero"`
}

type journalRevision struct {
	Revision string    `json:"revision"`
	Spec     string    `json:"spec"`
	Zone     string    `json:"zone"`
	Node     string    `json:"node"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func journalReportOf(j *lock.Journal) journalReport {
	r := journalReport{Job: j.Key, Truncated: j.Truncated, Lines: []journalLine{}, Revisions: []journalRevision{}}
	for _, l := range j.Lines {
		line := journalLine{
			At: instant(l.At), Verdict: l.Verdict, From: instant(l.From), Tick: instant(l.To), Between: l.Between, Reason: l.Reason,
			Node: l.Node, Revision: l.Revision, Fence: l.Fence, Attempt: l.Attempt, Outcome: l.Outcome,
		}
		if l.Ended != 0 {
			line.Ended = instant(l.Ended)
		}
		r.Lines = append(r.Lines, line)
	}
	for _, s := range j.Revisions {
		r.Revisions = append(r.Revisions, journalRevision{s.Revision, s.Spec, s.Zone, s.Node, instant(s.First), instant(s.Last)})
	}
	return r
}
