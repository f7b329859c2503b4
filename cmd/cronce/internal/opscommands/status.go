package opscommands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/ops"
)

// StatusCommand returns the command status, with its subcommands.
func StatusCommand() *cobra.Command {
	var f shown
	var each bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Report problems, the worst first",
		Long: "Report problems, the worst first, each with the next step: overdue ticks, jobs that are stuck because of a run that is too\n" +
			"old, jobs whose newest tick failed, was lost or was missed, jobs without a success for too long, and a namespace without a\n" +
			"live node. It needs no live node. Jobs with one cause are one line.\n\n" +
			"Exit code 1: there is a problem; 3: that is not known, because the user may not read a job; 4: it is not known, because the\n" +
			"store does not answer, a part of it cannot be read, or no job is on record. A paused job is named, and is no problem.",
		Example: "  cronce status\n  cronce status --watch\n  cronce status -o json",
		Args:    command.NoneBelow,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return statusListing(ctx, s, now, each), nil
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&each, "all", false, "a line for each job")
	cmd.AddCommand(jobsCommand(), nodesCommand())
	return cmd
}

// mostCauses bounds the lines of a status.
const mostCauses = 50

func statusListing(ctx context.Context, s *clients.Store, now *ops.Snapshot, each bool) listing {
	st := now.Status()
	l := listing{value: st, text: st.Sentence}
	if !now.Known() {
		l.text += " (" + s.Config.StoreName() + ")"
	}
	l.key = []any{st.State, st.Jobs, st.Nodes}
	for _, n := range st.Needs {
		l.key = append(l.key, n.State, n.Job, n.Tick)
		if n.Job != "" {
			l.names = append(l.names, n.Job)
		}
	}
	if jobs := now.Disagreed(); len(jobs) > 0 && now.Known() {
		l.text += "\n" + disagree(jobs)
		l.key = append(l.key, len(jobs))
	}
	causes, left := ops.Causes(st.Needs, mostCauses)
	if each {
		causes, left = nil, 0
		for _, n := range st.Needs {
			causes = append(causes, ops.Cause{Need: n})
		}
	}
	if left > 0 {
		l.foot = fmt.Sprintf("%d more: cronce status --all lists each.", left)
	}
	if len(st.Needs) > 0 && now.Known() && len(now.Jobs) > 0 {
		l.table = func(wide bool) row {
			rows := row{{"STATE", "JOB", "WHY", "SEE"}}
			for _, n := range causes {
				text := n.Text
				if !wide {
					text = cut(text, 100)
				}
				rows = append(rows, []any{strings.ToUpper(string(n.State)), dash(n.Job), text, dash(n.Next)})
			}
			return rows
		}
	}
	switch st.State {
	case ops.OK:
	case ops.Unknown:
		l.fault = exit.Printed(unknownCode(ctx, s, now), "not known")
	default:
		l.fault = exit.Printed(exit.Failed, "something is wrong")
	}
	return l
}

// disagree is the sentence about jobs on whose specs nodes disagree, as in a rolling deployment or while two configurations share the
// namespace.
func disagree(jobs []string) string {
	of := jobs[0]
	if len(jobs) > 1 {
		of = fmt.Sprintf("%d jobs, such as %s", len(jobs), of)
	}
	return fmt.Sprintf("Nodes disagree on the spec of %s: each one claims the ticks of its own. See cronce status jobs show %s.", of, jobs[0])
}

// unknownCode returns the exit code for a namespace whose state is not known: that the user may not read a job, or else doubt.
func unknownCode(ctx context.Context, s *clients.Store, now *ops.Snapshot) int {
	refused := func(err error) bool { return err != nil && exit.Code(err, true) == exit.Refused }
	unread := func(j *ops.Job) bool { return j.Series.Err != nil && refused(s.Failed(j.Series.Err)) }
	if refused(unreached(ctx, s, now)) || now.Known() && slices.ContainsFunc(now.Jobs, unread) {
		return exit.Refused
	}
	return exit.NotKnown
}

// cut shortens a text to at most n characters.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// ms formats milliseconds that may not be known.
func ms(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("%d ms", *n)
}
