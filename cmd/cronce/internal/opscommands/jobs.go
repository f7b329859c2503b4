package opscommands

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/ops"
)

func jobsCommand() *cobra.Command {
	var f shown
	var state, sort string
	cmd := &cobra.Command{
		Use:   "jobs [name or pattern]",
		Short: "List the jobs: their states, last verdicts and next ticks",
		Long: "List the jobs of the namespace, each with its state, the verdict of its last tick, and its next tick. A pattern has\n" +
			"*, ? or [a-z]; any other text is a part of the name.\n\n" +
			"Exit code 4: the store does not answer, a part of it cannot be read, or no job is on record.",
		Example: "  cronce status jobs\n  cronce status jobs 'report.*' --sort next\n  cronce status jobs --state overdue -o name\n  cronce status jobs show sendSms",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter := ops.JobFilter{State: ops.State(state), Sort: sort}
			if len(args) > 0 {
				filter.Name = args[0]
				if err := command.CheckJob("status jobs", filter.Name); err != nil {
					return err
				}
			}
			if err := checkFilter(&filter); err != nil {
				return err
			}
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return jobsListing(ctx, s, now, filter)
			})
		},
		ValidArgsFunction: jobNames,
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&state, "state", "", "only jobs of this state: "+words(ops.JobStates))
	cmd.Flags().StringVar(&sort, "sort", "name", "by "+strings.Join(ops.JobSorts, ", ")+"; state: the worst first")
	cmd.AddCommand(jobCommand())
	return cmd
}

func words(states []ops.State) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

func checkFilter(f *ops.JobFilter) error {
	if f.State != "" && !slices.Contains(ops.JobStates, f.State) {
		return exit.Usagef("status jobs: --state is %s, must be %s", strictyaml.Quote(string(f.State)), words(ops.JobStates))
	}
	if !slices.Contains(ops.JobSorts, f.Sort) {
		return exit.Usagef("status jobs: --sort is %s, must be %s", strictyaml.Quote(f.Sort), strings.Join(ops.JobSorts, ", "))
	}
	if _, err := path.Match(f.Name, ""); err != nil {
		return exit.Usagef("status jobs: %s is no pattern: %w", strictyaml.Quote(f.Name), err)
	}
	return nil
}

func jobsListing(ctx context.Context, s *clients.Store, now *ops.Snapshot, filter ops.JobFilter) (listing, error) {
	if err := unreached(ctx, s, now); err != nil {
		return listing{}, err
	}
	found := now.Find(filter)
	views := make([]ops.JobView, len(found))
	l := listing{}
	for i, j := range found {
		views[i] = now.View(j, false)
		l.names = append(l.names, j.Name)
		l.key = append(l.key, j.Name, j.State, j.Series.Mark, j.Series.Fence, j.Series.Last)
		if j.State == ops.Unknown {
			l.fault = exit.Printed(exit.NotKnown, "a job cannot be read")
		}
	}
	l.value = map[string]any{"items": views, "as_of": now.AsOf}
	if len(now.Jobs) == 0 {
		l.text, l.fault = s.NoRecord().Error(), exit.Printed(exit.NotKnown, "no job is on record")
		return l, nil
	}
	l.table = func(wide bool) row {
		head := []any{"STATE", "NAME", "SPEC", "NEXT", "LAST TICK", "LAST", "NODE"}
		if wide {
			head = append(head, "ZONE", "LATE", "TOOK", "OVERLAP", "MISFIRE")
		}
		rows := row{head}
		for i := range views {
			rows = append(rows, jobRow(&views[i], now.AsOf, wide))
		}
		return rows
	}
	return l, nil
}

func jobRow(v *ops.JobView, now time.Time, wide bool) []any {
	tick, last, node, late, took := "-", "-", "-", "-", "-"
	if r := v.Last; r != nil {
		tick, last, node = tickOf(r, now), verdictOf(r), dash(r.Node)
		late, took = ms(r.LateMs), ms(r.TookMs)
	}
	cells := []any{string(v.State), v.Name, dash(v.Spec), nextOf(v, now), tick, last, node}
	if wide {
		cells = append(cells, dash(v.Zone), late, took, dash(v.Policies.Overlap), dash(v.Policies.Misfire))
	}
	return cells
}

// nextOf formats the time until the next tick of a job.
func nextOf(v *ops.JobView, now time.Time) string {
	if v.Next.IsZero() {
		return "-"
	}
	text := "in " + ops.Short(v.Next.Sub(now))
	if v.Next.Equal(v.Skip) {
		text += ", skipped"
	}
	return text
}

// skips is the sentence about the tick that an operator let a job skip. A later spec may not have that tick.
func skips(j *ops.Job) string {
	tick := j.Series.Skip
	if j.Schedule != nil && j.Schedule.PrevMilli(tick) != tick {
		return "An operator requested to skip the tick of " + terminal.RFC3339(tick) + ", which the spec in force does not have: no tick is skipped."
	}
	return "The tick of " + terminal.RFC3339(tick) + " will be skipped, as an operator requested."
}

// verdictOf describes the verdict of a tick in a few words.
func verdictOf(r *ops.Run) string {
	switch {
	case r.Outcome != "" && r.Verdict == "ran":
		return r.Outcome
	case r.Verdict == "ran":
		return string(r.State)
	case r.Reason != "":
		return r.Verdict + " (" + r.Reason + ")"
	}
	return r.Verdict
}

func jobCommand() *cobra.Command {
	var f shown
	cmd := &cobra.Command{
		Use:     "show <job>",
		Short:   "Show a job: its spec and policies, state and newest verdicts",
		Long:    "Show a job: its spec and policies as they are recorded, its state, its next ticks and its newest verdicts.\n\nExit code 4: the store does not answer, or the job cannot be read.",
		Example: "  cronce status jobs show sendSms",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("status jobs show: got %s, want the name of one job", terminal.Plural(len(args), "argument"))
			}
			if err := command.CheckJob("status jobs show", args[0]); err != nil {
				return err
			}
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return jobListing(ctx, s, now, args[0])
			})
		},
		ValidArgsFunction: jobNames,
	}
	f.flags(cmd)
	return cmd
}

// known returns the job with a name, or the reason why there is none.
func known(ctx context.Context, s *clients.Store, now *ops.Snapshot, name string) (*ops.Job, error) {
	if err := unreached(ctx, s, now); err != nil {
		return nil, err
	}
	if j := now.Job(name); j != nil {
		return j, nil
	}
	_, err := s.Jobs(ctx, name)
	if err == nil { // the job was opened just now
		err = exit.Doubt(fmt.Errorf("job %s was not read", strictyaml.Quote(name)))
	}
	return nil, err
}

func jobListing(ctx context.Context, s *clients.Store, now *ops.Snapshot, name string) (listing, error) {
	j, err := known(ctx, s, now, name)
	if err != nil {
		return listing{}, err
	}
	v := now.View(j, true)
	l := listing{value: v, names: []string{j.Name}, key: []any{j.State, j.Series.Mark, j.Series.Fence, j.Series.Last}}
	if j.State == ops.Unknown {
		l.fault = exit.Printed(exit.NotKnown, "the job cannot be read")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Name, v.State)
	if v.Fault != "" {
		fmt.Fprintf(&b, "Not known: %s\n", v.Fault)
	}
	for i := range v.Overdue {
		fmt.Fprintln(&b, v.Overdue[i].String())
	}
	fmt.Fprintf(&b, "Spec: %s (%s)\n", dash(v.Spec), dash(v.Zone))
	fmt.Fprintf(&b, "Overlap: %s. Misfire: %s.\n", dash(v.Policies.Overlap), dash(v.Policies.Misfire))
	if j.Schedule != nil {
		var next []string
		for at := now.AsOf; len(next) < 5; {
			if at = j.Schedule.Next(at); at.IsZero() {
				break
			}
			next = append(next, at.Format("2006-01-02 15:04:05 -07:00"))
		}
		fmt.Fprintf(&b, "Next: %s\n", strings.Join(next, ", "))
	}
	if j.Series.Skip != 0 {
		fmt.Fprintln(&b, skips(j))
	}
	if v.Backfill != nil {
		fmt.Fprintln(&b, v.Backfill)
	}
	for _, r := range v.Revisions {
		fmt.Fprintf(&b, "Revision %s: %q, seen last on %s at %s\n", r.Revision, r.Spec, r.Node, r.Last.Format(time.RFC3339))
	}
	l.text = b.String()
	l.table = func(wide bool) row { return runRows(j.Runs[:min(len(j.Runs), 20)], now.AsOf, wide, false) }
	return l, nil
}
