package opscommands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/ops"
)

const maxRuns = 1000

// runFlags say which runs are listed.
type runFlags struct {
	shown
	verdict, node, since string
	alive                bool
	n                    int
}

// RunsCommand is the command runs.
func RunsCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "runs [job]",
		Short: "List what became of the newest ticks, of one job or of all",
		Long: "List what became of the newest ticks, the newest first: which node ran each, how late, for how long, or why it did not\n" +
			"run. The whole journals are searched, and the last line says from when on they are on record. With --watch\n" +
			"only the newest lines of each job are searched, unless a job is named.\n\n" +
			"Exit code 4: the store does not answer, or no job is on record.",
		Example: "  cronce runs --alive\n  cronce runs sendSms --verdict missed --since 1h\n  cronce runs show sendSms@2026-11-23T02:00:00Z",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return f.listing(ctx, s, now, args)
			})
		},
		ValidArgsFunction: jobNames,
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "only this verdict or outcome: "+strings.Join(ops.Verdicts, ", "))
	cmd.Flags().StringVar(&f.node, "node", "", "only runs of nodes whose id begins so")
	cmd.Flags().StringVar(&f.since, "since", "", "only ticks from here on: how long ago (1h), or RFC 3339")
	cmd.Flags().BoolVar(&f.alive, "alive", false, "only runs that are alive")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many, the newest")
	_ = cmd.RegisterFlagCompletionFunc("verdict", cobra.FixedCompletions(ops.Verdicts, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(runCommand())
	return cmd
}

func (f *runFlags) check() error {
	if f.verdict != "" && !slices.Contains(ops.Verdicts, f.verdict) {
		return exit.Usagef("runs: --verdict is %s, must be one of %s", strictyaml.Quote(f.verdict), strings.Join(ops.Verdicts, ", "))
	}
	if f.n < 1 || f.n > maxRuns {
		return exit.Usagef("runs: -n is %d, must be 1 to %d", f.n, maxRuns)
	}
	_, err := f.begin(time.Now())
	return err
}

// begin is the first instant whose ticks are listed.
func (f *runFlags) begin(now time.Time) (time.Time, error) {
	if f.since == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(f.since); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	t, err := command.ParseTime(f.since, time.UTC)
	if err != nil {
		return t, exit.Usagef("runs: --since %w", err)
	}
	return t, nil
}

func (f *runFlags) listing(ctx context.Context, s *clients.Store, now *ops.Snapshot, args []string) (listing, error) {
	if err := unreached(ctx, s, now); err != nil {
		return listing{}, err
	}
	since, err := f.begin(now.AsOf)
	if err != nil {
		return listing{}, err
	}
	filter := ops.RunFilter{Verdict: f.verdict, Node: f.node, From: since}
	if f.alive {
		filter.State = "alive"
	}
	var runs []ops.Run
	var from time.Time
	if len(args) == 0 {
		runs, from, err = f.ofAll(ctx, s, now, &filter)
	} else {
		runs, from, err = f.ofJob(ctx, s, now, args[0], &filter)
	}
	if err != nil {
		return listing{}, err
	}
	value := map[string]any{"items": append([]ops.Run{}, runs...), "as_of": now.AsOf}
	l := listing{value: value, foot: "All that was ever recorded was searched."}
	if !from.IsZero() {
		value["searched_from"] = from
		l.foot = fmt.Sprintf("Searched: the verdicts from %s on. Of some jobs older ones were not searched, or are not on record.", from.Format(time.RFC3339))
	}
	if len(runs) == f.n {
		l.foot = fmt.Sprintf("The newest %d are listed: there may be more. %s", f.n, l.foot)
	}
	for i := range runs {
		l.names = append(l.names, runs[i].ID)
		l.key = append(l.key, runs[i].ID, runs[i].State, runs[i].Attempt)
	}
	if len(now.Jobs) == 0 {
		l.text, l.fault = s.NoRecord().Error(), exit.Printed(exit.NotKnown, "no job is on record")
		return l, nil
	}
	l.table = func(wide bool) row { return runRows(runs, now.AsOf, wide, true) }
	return l, nil
}

// ofJob searches the whole journal of a job.
func (f *runFlags) ofJob(ctx context.Context, s *clients.Store, now *ops.Snapshot, name string, filter *ops.RunFilter) ([]ops.Run, time.Time, error) {
	j, err := known(ctx, s, now, name)
	if err != nil {
		return nil, time.Time{}, err
	}
	all, from, err := wholeJournal(ctx, s, j)
	if err != nil {
		return nil, from, err
	}
	all = slices.DeleteFunc(all, func(r ops.Run) bool { return !filter.Lets(&r) })
	return all[:min(f.n, len(all))], from, nil
}

// ofAll searches the lines of all jobs that the snapshot has, and if those are too few for what is asked for, the whole
// journals. Runs that are alive are all in the snapshot.
func (f *runFlags) ofAll(ctx context.Context, s *clients.Store, now *ops.Snapshot, filter *ops.RunFilter) ([]ops.Run, time.Time, error) {
	runs, from := now.Recent(f.n, filter.Lets), now.Searched()
	if len(runs) == f.n || from.IsZero() || f.alive || f.watch || !filter.From.IsZero() && !filter.From.Before(from) {
		return runs, from, nil
	}
	var all []ops.Run
	from = time.Time{}
	for _, j := range now.Jobs {
		own, begins, err := wholeJournal(ctx, s, j)
		if err != nil {
			return nil, from, err
		}
		for i := range own {
			if filter.Lets(&own[i]) {
				all = append(all, own[i])
			}
		}
		if begins.After(from) {
			from = begins
		}
	}
	slices.SortFunc(all, ops.Newer)
	return all[:min(f.n, len(all))], from, nil
}

// wholeJournal are all ticks that the journal of a job has, and from when on it has them.
func wholeJournal(ctx context.Context, s *clients.Store, j *ops.Job) ([]ops.Run, time.Time, error) {
	journal, err := s.Front().Journal(ctx, j.Name, 0)
	if err != nil {
		return nil, time.Time{}, s.Failed(err)
	}
	state := s.Front().ReadSeries(ctx, []string{j.Name})[0]
	if state.Err != nil {
		return nil, time.Time{}, s.Failed(state.Err)
	}
	runs := ops.Runs(s.Config.Namespace, &journal, &state)
	j.Pace.Count(runs, time.UnixMilli(state.Now))
	return runs, ops.Searched(&journal), nil
}

func runRows(runs []ops.Run, now time.Time, wide, named bool) row {
	head := []any{"STATE", "TICK", "VERDICT", "NODE", "ATTEMPT", "LATE", "TOOK", "REMARK"}
	if named {
		head = append([]any{"JOB"}, head...)
	}
	if wide {
		head = append(head, "FENCE", "RECORDED")
	}
	rows := row{head}
	for i := range runs {
		r := &runs[i]
		cells := []any{string(r.State), ops.Clock(r.Tick, now), verdictOf(r), dash(r.Node), number(int64(r.Attempt)), ms(r.LateMs), ms(r.TookMs), remark(r, now)}
		if named {
			cells = append([]any{r.Job}, cells...)
		}
		if wide {
			cells = append(cells, number(r.Fence), r.Recorded.Format(time.RFC3339))
		}
		rows = append(rows, cells)
	}
	return rows
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// remark says what else is recorded of a tick.
func remark(r *ops.Run, now time.Time) string {
	var parts []string
	if r.LeftMs != nil && r.Outcome == "" {
		parts = append(parts, fmt.Sprintf("lease for %d ms more", *r.LeftMs))
		if r.Alive() {
			parts = append(parts, fmt.Sprintf("alive since %s (%s)", ops.Clock(r.Granted, now), ops.Short(now.Sub(r.Granted))))
		}
		if r.Behind != nil && *r.Behind > 0 {
			parts = append(parts, fmt.Sprintf("%d ticks went by", *r.Behind))
		}
	}
	if r.Error != "" {
		parts = append(parts, r.Error)
	}
	if !r.Blocker.IsZero() {
		parts = append(parts, "because of the run of "+ops.Clock(r.Blocker, now))
	}
	if r.Between != "" {
		parts = append(parts, fmt.Sprintf("those after %s %s", ops.Clock(r.From, now), r.Between))
	}
	return strings.Join(parts, "; ")
}

func runCommand() *cobra.Command {
	var f shown
	cmd := &cobra.Command{
		Use:   "show <run>",
		Short: "Show one run: its attempts, how it ended, and its error",
		Long: "Show the run of one tick. Its id is that in the logs, namespace/job@tick, with or without the namespace.\n\n" +
			"Exit code 4: the store does not answer, or the journal has no such run: cronce why says what became of any tick.",
		Example: "  cronce runs show sendSms@2026-11-23T02:00:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("runs show: got %d arguments, want the id of one run", len(args))
			}
			job, tick, err := parseRun(args[0])
			if err != nil {
				return err
			}
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return runListing(ctx, s, now, job, tick)
			})
		},
	}
	f.flags(cmd)
	return cmd
}

// parseRun reads the id of a run.
func parseRun(id string) (job string, tick time.Time, err error) {
	_, rest, found := strings.Cut(id, "/")
	if !found {
		rest = id
	}
	job, at, found := strings.Cut(rest, "@")
	tick, err = time.Parse(time.RFC3339, at)
	if !found || job == "" || err != nil {
		return "", tick, exit.Usagef("runs show: %s is no id of a run, must be as sendSms@2026-11-23T02:00:00Z", strictyaml.Quote(id))
	}
	return job, tick, nil
}

func runListing(ctx context.Context, s *clients.Store, now *ops.Snapshot, name string, tick time.Time) (listing, error) {
	j, err := known(ctx, s, now, name)
	if err != nil {
		return listing{}, err
	}
	all, _, err := wholeJournal(ctx, s, j)
	if err != nil {
		return listing{}, err
	}
	i := slices.IndexFunc(all, func(r ops.Run) bool { return r.Tick.Equal(tick) })
	if i < 0 {
		return listing{}, exit.Doubt(fmt.Errorf("the journal of %s has no run of %s: cronce why %s %s", name, tick.Format(time.RFC3339), name, tick.Format(time.RFC3339)))
	}
	r := all[i]
	l := listing{value: r, names: []string{r.ID}, key: []any{r.State, r.Attempt}, table: func(wide bool) row { return runRows(all[i:i+1], now.AsOf, true, true) }}
	if r.Error != "" {
		l.text = "Error: " + r.Error
	}
	return l, nil
}
