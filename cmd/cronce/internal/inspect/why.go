package inspect

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/why"
)

// WhyCommand returns the command why.
func WhyCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "why <job> <time> | <run>",
		Short: "Explain one tick of a job: whether it ran, and why",
		Long: "Explain one tick of a job in a sentence: its verdict, or the next event. The lines of the journal from which this follows\n" +
			"are printed too, and the last lines of its output if the store has it; -o json has all of it.\n\n" +
			"The time is RFC 3339, a local time in the zone of the job's spec (\"2026-11-23 03:00\", or \"03:00\" or \"03:00:20\" for the latest one),\n" +
			"\"last\" or \"next\", or a duration before now (2h: the latest tick by then). Instead of job and time, give the id of a run, as in logs and\n" +
			"in cronce runs -o name: namespace/job@tick, with or without the namespace. The tick may be any such time.\n\n" +
			"Exit code 1: the tick is overdue; 4: the store does not answer, or the journal does not reach back far enough.",
		Example: "  cronce why sendSms last\n  cronce why report 03:00\n  cronce why report 2026-11-23T02:00:00Z -o json\n  cronce why report@2026-11-23T02:00:00Z\n  cronce why report@03:00",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, _ := command.TickOf(strings.Join(args, " "))
			job, at, named := strings.Cut(id, "@")
			named = named && len(args) == 1 && job != "" && at != ""
			if len(args) != 2 && !named {
				return exit.Usagef("why: got %s, want the name of one job and a time, or the id of a run: job@time", terminal.Plural(len(args), "argument"))
			}
			if err := command.CheckJob("why", args[0]); err != nil {
				return err
			}
			return inspect(cmd, func(ctx context.Context, s inspector) error {
				if !named {
					return s.why(ctx, cmd.OutOrStdout(), args[0], args[1], output)
				}
				job := strings.TrimPrefix(job, s.Config.Namespace+"/")
				if err := command.CheckJob("why", job); err != nil {
					return err
				}
				return s.why(ctx, cmd.OutOrStdout(), job, at, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	command.OutputFlag(cmd, &output)
	return cmd
}

func (s inspector) why(ctx context.Context, w io.Writer, job, at, output string) error {
	if _, err := s.Jobs(ctx, job); err != nil {
		return err
	}
	audit, err := s.Front().Audit(ctx, job, 0)
	if err != nil {
		return s.Failed(err)
	}
	j, err := s.Front().Journal(ctx, job, 0)
	if err != nil {
		return s.Failed(err)
	}
	state := s.Front().ReadSeries(ctx, []string{job})[0]
	if state.Err != nil {
		return s.Failed(state.Err)
	}
	tick, note, err := ParseTick(at, why.InForce(j.Revisions), terminal.UTC(state.Now))
	if err != nil {
		return exit.Usagef("why: time %w", err)
	}
	nodes, _ := s.readNodes(ctx) // an unknown list reports its error itself
	answer := ops.Why(why.Question{Tick: tick, Journal: j, State: state, Audit: audit, Places: ops.Places(ctx, s.Front(), &j)}, nodes)
	report := whyReport{Answer: answer, Note: note}
	kept, err := s.Front().Output(ctx, job, tick.UnixMilli())
	report.OutputOf = ops.GrantedWith(kept.Fence, ops.Shards(&j, &state, tick.UnixMilli()))
	if report.Output = kept.Text; err != nil {
		report.OutputUnknown = s.Failed(err).Error()
	}
	if err := printWhy(w, &j, &state, report, output); err != nil {
		return err
	}
	switch answer.State {
	case why.Overdue:
		return exit.Printed(exit.Failed, "the tick is overdue")
	case why.NotKnown:
		return exit.Printed(exit.NotKnown, "the verdict of the tick is not known")
	}
	return nil
}

// A whyReport is the answer for machines.
type whyReport struct {
	why.Answer
	Note          string        `json:"note,omitempty"`
	Evidence      []journalLine `json:"evidence"`
	Output        string        `json:"output,omitempty"`         // the end of the output, if the store keeps it
	OutputOf      *ops.ShardRun `json:"output_of,omitempty"`      // the shard whose output it is, of a tick with shards
	OutputUnknown string        `json:"output_unknown,omitempty"` // why it could not be read
}

func printWhy(w io.Writer, j *series.Journal, state *series.Series, r whyReport, output string) error {
	a, note := &r.Answer, r.Note
	evidence := evidenceOf(j, state, a.Evidence)
	if output == command.OutputJSON {
		r.Evidence = journalLines(evidence)
		return terminal.PrintJSON(w, r)
	}
	fmt.Fprintf(w, "%s, tick %s%s: %s\n", a.Job, a.Tick.Format("2006-01-02T15:04:05.000Z07:00"), localOf(a), terminal.Printable(a.Word()))
	if note != "" {
		fmt.Fprintln(w, terminal.Printable(note))
	}
	fmt.Fprintln(w, terminal.Printable(a.Sentence))
	if a.Next != "" {
		fmt.Fprintf(w, "See: %s\n", a.Next)
	}
	if len(evidence) > 0 {
		fmt.Fprintln(w)
		if err := printLines(w, evidence); err != nil {
			return err
		}
	}
	printOutput(w, &r)
	return nil
}

// shownLines is the number of lines of an output that are printed as text.
const shownLines = 20

// printOutput prints the last lines of an output.
func printOutput(w io.Writer, r *whyReport) {
	switch {
	case r.OutputUnknown != "":
		fmt.Fprintf(w, "\nIts output is not known: %s\n", terminal.Printable(r.OutputUnknown))
		return
	case r.Output == "":
		return
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(r.Output, "\t", "    "), "\n"), "\n")
	head := "Output"
	if r.OutputOf != nil {
		head += " of " + terminal.Printable(r.OutputOf.String())
	}
	if more := len(lines) - shownLines; more > 0 {
		head += fmt.Sprintf(", the last %d lines; -o json has %d more", shownLines, more)
		lines = lines[more:]
	}
	fmt.Fprintf(w, "\n%s:\n", head)
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(line))
	}
}

// localOf formats the tick in the zone of the spec.
func localOf(a *why.Answer) string {
	zone, err := time.LoadLocation(a.Zone)
	if err != nil || zone == time.UTC {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", a.Tick.In(zone).Format("15:04:05"), a.Zone)
}
