package opscommands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

const maxRuns = 100_000

// runFlags select the listed runs.
type runFlags struct {
	shown
	verdict, node, since, until string
	alive                       bool
	n                           int
}

// RunsCommand returns the command runs.
func RunsCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "runs [job | job@tick]",
		Short: "List the newest ticks with their verdicts, of one job or of all",
		Long: "List the newest ticks with their verdicts, the newest first: which node ran each, how late, for how long, or why it did not\n" +
			"run. The whole journals are searched, and the last line has the time from which on they are on record. Exceptions, which\n" +
			"are ticks that failed, were lost, missed, paused or taken over, as a whole or in a shard, are on record longer than\n" +
			"others. With --watch only the newest lines of each job are searched, on a terminal all lines of a job that is named.\n" +
			"Where the output is no terminal, each run that begins or changes is a line of JSON. cronce why explains one tick.\n\n" +
			"LATE is how late the tick first began, whichever attempt the line shows; NODE and TOOK are of the latest attempt.\n\n" +
			"job@tick lists the run of one tick, with its shards if it is divided into them; the tick is a time as cronce why reads it.\n\n" +
			"Exit code 4: the store does not answer, a line of a journal cannot be read, or no job is on record.",
		Example: "  cronce runs --alive\n  cronce runs sendSms --verdict missed --since 1h\n  cronce runs report@03:00\n  cronce runs --since 2h --until 1h -o json\n  cronce runs --watch >> runs.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			if f.watch && !terminal.IsTerminal(cmd.OutOrStdout()) {
				return f.stream(cmd, args)
			}
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return f.listing(ctx, s, now, args)
			})
		},
		ValidArgsFunction: jobNames,
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "only this verdict or outcome: "+strings.Join(ops.Verdicts, ", "))
	cmd.Flags().StringVar(&f.node, "node", "", "only runs of nodes whose id begins with this")
	cmd.Flags().StringVar(&f.since, "since", "", "only ticks from here on: a duration before now (1h), or RFC 3339")
	cmd.Flags().StringVar(&f.until, "until", "", "only ticks up to here: a duration before now, or RFC 3339")
	cmd.Flags().BoolVar(&f.alive, "alive", false, "only runs that are alive")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, fmt.Sprintf("number of runs, the newest, 1 to %d", maxRuns))
	_ = cmd.RegisterFlagCompletionFunc("verdict", cobra.FixedCompletions(ops.Verdicts, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *runFlags) check(args []string) error {
	name, _, named := strings.Cut(strings.Join(args, ""), "@")
	switch {
	case named && name == "":
		return exit.Usagef("runs: %s has no job, must be JOB@TICK", strictyaml.Quote(args[0]))
	case named && (f.since != "" || f.until != ""):
		return exit.Usagef("runs: %s names one tick: leave out --since and --until", strictyaml.Quote(args[0]))
	}
	if f.verdict != "" && !slices.Contains(ops.Verdicts, f.verdict) {
		return exit.Usagef("runs: --verdict is %s, must be one of %s", strictyaml.Quote(f.verdict), strings.Join(ops.Verdicts, ", "))
	}
	if f.n < 1 || f.n > maxRuns {
		return exit.Usagef("runs: -n is %d, must be 1 to %d", f.n, maxRuns)
	}
	if len(args) > 0 {
		if err := command.CheckJob("runs", name); err != nil {
			return err
		}
	}
	_, err := f.filter(time.Now())
	return err
}

// filter returns the filter of the listed runs. Now is the store's clock.
func (f *runFlags) filter(now time.Time) (filter ops.RunFilter, err error) {
	filter = ops.RunFilter{Verdict: f.verdict, Node: f.node}
	if f.alive {
		filter.State = "alive"
	}
	if filter.From, err = instant(f.since, now); err != nil {
		return filter, exit.Usagef("runs: --since %w", err)
	}
	if filter.To, err = instant(f.until, now); err != nil {
		return filter, exit.Usagef("runs: --until %w", err)
	}
	if !filter.From.IsZero() && !filter.To.IsZero() && filter.To.Before(filter.From) {
		return filter, exit.Usagef("runs: --until %s is before --since %s", strictyaml.Quote(f.until), strictyaml.Quote(f.since))
	}
	return filter, nil
}

// instant parses a duration before now, or a time. An empty text is the zero time.
func instant(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, _ := time.ParseDuration(text); d > 0 {
		return now.Add(-d), nil
	}
	at, err := command.ParseTime(text, time.UTC)
	if err != nil {
		err = fmt.Errorf("is %s, must be how long ago, more than 0 (1h), RFC 3339 (2026-03-29T01:00:00Z), or a time in UTC (2026-03-29 01:00)", strictyaml.Quote(text))
	}
	return at, err
}

func (f *runFlags) listing(ctx context.Context, s *clients.Store, now *ops.Snapshot, args []string) (listing, error) {
	if err := unreached(ctx, s, now); err != nil {
		return listing{}, err
	}
	j, filter, err := f.target(ctx, s, now, args)
	if err != nil {
		return listing{}, err
	}
	var found search
	if j == nil {
		found, err = f.ofAll(ctx, s, now, &filter)
	} else {
		found, err = f.ofJob(ctx, s, now.Nodes, j, &filter)
	}
	if err != nil {
		return listing{}, err
	}
	runs := found.runs
	value := map[string]any{"items": append([]ops.Run{}, runs...), "as_of": now.AsOf}
	l := listing{value: value, foot: "All that was ever recorded was searched."}
	if !found.from.IsZero() {
		value["searched_from"] = found.from
		l.foot = fmt.Sprintf("Searched: the verdicts from %s on. Of some jobs older ones were not searched, or are not on record.", found.from.Format(time.RFC3339))
		if found.whole {
			value["exceptions_from"] = found.exceptions
			l.foot = fmt.Sprintf("Searched: the verdicts from %s on, and the exceptions from %s on.",
				found.from.Format(time.RFC3339), found.exceptions.Format(time.RFC3339))
		}
	}
	if j != nil && j.Series.Skip != 0 {
		l.foot = skips(j) + " " + l.foot
	}
	if j != nil && found.none != "" {
		value["no_node"], l.foot = found.none, found.none+" "+l.foot
	}
	if len(runs) == f.n {
		l.foot = fmt.Sprintf("The newest %d are listed: there may be more. %s", f.n, l.foot)
	}
	if found.unreadable > 0 {
		value["unreadable"] = found.unreadable
		l.foot = fmt.Sprintf("%d lines cannot be read: each may be any verdict. %s", found.unreadable, l.foot)
		l.fault = exit.Printed(exit.NotKnown, "a line of a journal cannot be read")
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
	if len(found.shards) > 0 && len(runs) == 1 {
		l.shards(&runs[0], found.shards)
		value["shards"] = found.shards
	}
	return l, nil
}

// A search has the runs that were found in journals.
type search struct {
	runs       []ops.Run
	from       time.Time // from when on every verdict is found; zero: from the first one on
	exceptions time.Time // from when on every exception is found, if whole journals were searched
	whole      bool
	unreadable int            // lines that cannot be read
	shards     []ops.ShardRun // of the tick of the search, if it is for one tick
	none       string         // that no live node has the job of the search, if it is for one job and that is known
}

// add records that a journal was searched.
func (r *search) add(j *series.Journal) {
	if from := ops.Searched(j); from.After(r.from) {
		r.from = from
	}
	for _, l := range j.All() {
		if l.Verdict == series.VerdictUnreadable {
			r.unreadable++
		}
	}
}

// read searches the whole journal of a job, and adds the runs that the filter selects. It returns the journal, and the state that it read after it.
func (r *search) read(ctx context.Context, s *clients.Store, j *ops.Job, filter *ops.RunFilter) (journal series.Journal, state series.Series, err error) {
	if journal, err = s.Front().Journal(ctx, j.Name, 0); err != nil {
		return journal, state, s.Failed(err)
	}
	if state = s.Front().ReadSeries(ctx, []string{j.Name})[0]; state.Err != nil {
		return journal, state, s.Failed(state.Err)
	}
	runs := ops.Runs(s.Config.Namespace, &journal, &state)
	j.Pace.Count(runs, time.UnixMilli(state.Now))
	r.add(&journal)
	r.whole = true
	if from := ops.SearchedExceptions(&journal); from.After(r.exceptions) {
		r.exceptions = from
	}
	for i := range runs {
		if filter.Lets(&runs[i]) {
			r.runs = append(r.runs, runs[i])
		}
	}
	return journal, state, nil
}

// ofJob searches the whole journal of a job.
func (f *runFlags) ofJob(ctx context.Context, s *clients.Store, nodes *ops.NodeList, j *ops.Job, filter *ops.RunFilter) (r search, err error) {
	journal, state, err := r.read(ctx, s, j, filter)
	if err != nil {
		return r, err
	}
	r.none = nodes.NoneHas(&journal, &state)
	r.runs = r.runs[:min(f.n, len(r.runs))]
	if tick := filter.From; !tick.IsZero() && tick.Equal(filter.To) {
		r.shards = ops.Shards(&journal, &state, tick.UnixMilli())
	}
	return r, nil
}

// ofAll searches the lines of all jobs in the snapshot. If these have too few runs, it searches the
// whole journals. All runs that are alive are in the snapshot.
func (f *runFlags) ofAll(ctx context.Context, s *clients.Store, now *ops.Snapshot, filter *ops.RunFilter) (search, error) {
	r := search{runs: now.Recent(f.n, filter.Lets)}
	for _, j := range now.Jobs {
		r.add(&j.Journal)
	}
	if len(r.runs) == f.n || r.from.IsZero() || f.alive || f.watch || !filter.From.IsZero() && !filter.From.Before(r.from) {
		return r, nil
	}
	r = search{}
	for _, j := range now.Jobs {
		if _, _, err := r.read(ctx, s, j, filter); err != nil {
			return r, err
		}
	}
	slices.SortFunc(r.runs, ops.Newer)
	r.runs = r.runs[:min(f.n, len(r.runs))]
	return r, nil
}

// changing is how long after its verdict or its end a run can still change.
const changing = time.Minute

// stream prints the newest runs, and then each run when it begins, changes or ends, as a line of JSON.
func (f *runFlags) stream(cmd *cobra.Command, args []string) error {
	read := map[string]int64{} // of each job, the store's time of its latest reading; empty: nothing is printed yet
	return f.follow(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
		if err := unreached(ctx, s, now); err != nil {
			return listing{}, err
		}
		j, filter, err := f.target(ctx, s, now, args)
		if err != nil {
			return listing{}, err
		}
		l := listing{items: []item{}, most: maxRuns}
		if len(read) == 0 {
			l.most = f.n
		}
		runs := now.Recent(maxRuns, func(r *ops.Run) bool {
			at := r.Recorded
			if r.Ended.Time().After(at.Time()) {
				at = r.Ended
			}
			return (j == nil || r.Job == j.Name) && filter.Lets(r) && !at.Time().Before(time.UnixMilli(read[r.Job]).Add(-changing))
		})
		for _, j := range now.Jobs {
			if j.Series.Err == nil {
				read[j.Name] = max(read[j.Name], j.Series.Now)
			}
		}
		for _, r := range slices.Backward(runs) {
			l.items = append(l.items, item{fmt.Sprint(r.ID, r.State, r.Attempt, r.Outcome, r.Tick), r})
		}
		return l, nil
	})
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
		cells := []any{string(r.State), tickOf(r, now), verdictOf(r), dash(r.Node), number(int64(r.Attempt)), ms(r.LateMs), ms(r.TookMs), remark(r, now)}
		if named {
			cells = append([]any{r.Job}, cells...)
		}
		if wide {
			cells = append(cells, number(r.Fence), r.Recorded.Time().Format(time.RFC3339))
		}
		rows = append(rows, cells)
	}
	return rows
}

// tickOf formats a tick, and marks the instant of a manual run. A run of a backfill has the tick whose work
// it does.
func tickOf(r *ops.Run, now time.Time) string {
	text := ops.TickClock(r.Tick.Time(), now)
	switch {
	case !r.For.IsZero():
		text += " for " + ops.TickClock(r.For.Time(), now)
	case r.Manual:
		text += " manual"
	}
	return text
}

func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// remark describes the remaining recorded facts of a tick.
func remark(r *ops.Run, now time.Time) string {
	var parts []string
	if r.Shards != nil {
		parts = append(parts, r.Shards.String())
	}
	if r.LeftMs != nil && r.Outcome == "" {
		if r.Shards == nil && *r.LeftMs > 0 {
			parts = append(parts, fmt.Sprintf("lease for %d ms more", *r.LeftMs))
		} else if r.Shards == nil {
			parts = append(parts, "its lease ended")
		}
		if r.Alive() {
			began := max(r.Granted, r.Tick).Time() // a store may grant a tick early, but its run does not start early
			parts = append(parts, fmt.Sprintf("alive since %s (%s)", ops.Clock(began, now), ops.Short(max(0, now.Sub(began)))))
		}
		if r.Behind != nil && *r.Behind > 0 {
			parts = append(parts, terminal.Plural(*r.Behind, "tick")+" went by")
		}
	}
	if r.Error != "" {
		parts = append(parts, r.Error)
	}
	if !r.Blocker.IsZero() {
		parts = append(parts, "because of the run of "+ops.TickClock(r.Blocker.Time(), now))
	}
	switch from := ops.Clock(r.From.Time(), now); r.Between {
	case "":
	case r.Verdict:
		parts = append(parts, "with all ticks after "+from)
	default:
		parts = append(parts, fmt.Sprintf("ticks after %s: %s", from, r.Between))
	}
	return strings.Join(parts, "; ")
}
