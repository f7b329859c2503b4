package control

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

type backfillFlags struct {
	pauseFlags
	from, to, only    string
	room              time.Duration
	anyway, dry, stop bool
}

// BackfillCommand returns the command backfill.
func BackfillCommand() *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill <job> --from <instant> --to <instant> --reason <text>",
		Short: "Repeat the work of ticks that never ran, one after another",
		Long: "Repeat the work of ticks of a job that never ran, in an interval, both ends included. The command prints the plan: the ticks\n" +
			"with their verdicts, and how long they may take. It asks on a terminal, and needs --yes without one. The backfill is made\n" +
			"only if the plan has not changed by then.\n\n" +
			"For each tick the job has a manual run with that tick, one after another. No earlier verdict is changed, and no tick of\n" +
			"the spec is decided by it. Ticks that are due go first: no run of a backfill starts when less than the room is left until\n" +
			"the next tick, unless the job allows runs to overlap.\n\n" +
			"--only never-ran, the default, has ticks that were missed, lost, paused, skipped or superseded; failed has also those that\n" +
			"ran and did not end ok; all has every tick. A tick whose work an earlier backfill has done is left out, except with all.\n\n" +
			"A job has one backfill at a time. A pause of the job ends it, as --stop does: the run that is alive goes on.\n\n" +
			"Exit code 3: the plan has changed, a backfill goes on, the job is paused, no live node has it, there are too many ticks,\n" +
			"or the user may not write; 4: it is not known whether the backfill was made, or the store has no job on record.",
		Example: "  cronce backfill report --from 2026-11-23T02:00:00Z --to 2026-11-23T06:00:00Z --reason 'the outage' --dry-run\n" +
			"  cronce backfill report --from 2026-11-23T02:00:00Z --to 2026-11-23T06:00:00Z --reason 'the outage' --yes\n" +
			"  cronce backfill report --stop --reason 'the data was there'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return f.backfill(cmd, args[0])
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	f.intent(cmd)
	cmd.Flags().StringVar(&f.from, "from", "", "the first instant of the ticks: RFC 3339, or a local time in UTC")
	cmd.Flags().StringVar(&f.to, "to", "", "the last instant of the ticks")
	cmd.Flags().StringVar(&f.only, "only", string(ops.NeverRan), "which ticks: never-ran, failed or all")
	cmd.Flags().DurationVar(&f.room, "room", 0, "how long a run may take, at most 24h (default: the longest time that 95 of 100 runs take)")
	cmd.Flags().BoolVar(&f.anyway, "while-paused", false, "repeat the ticks although the job is paused")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print the plan, and request nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before the ticks are repeated")
	cmd.Flags().BoolVar(&f.stop, "stop", false, "stop the job's current backfill")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(onlys(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func onlys() (all []string) {
	for _, o := range ops.Onlys {
		all = append(all, string(o))
	}
	return all
}

// check returns an error for arguments and flags that belong to no backfill.
func (f *backfillFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("backfill: got %s, want the name of one job", terminal.Plural(len(args), "argument"))
	}
	if err := command.CheckJob("backfill", args[0]); err != nil {
		return err
	}
	switch {
	case f.reason == "":
		return exit.Usagef("backfill: --reason is missing")
	case !f.stop && f.from == "":
		return exit.Usagef("backfill: --from is missing, or --stop")
	case !f.stop && f.to == "":
		return exit.Usagef("backfill: --to is missing")
	}
	for _, name := range []string{"from", "to", "only", "room", "while-paused", "dry-run"} {
		if f.stop && cmd.Flags().Changed(name) {
			return exit.Usagef("backfill: --stop ends the whole backfill: give it without --%s", name)
		}
	}
	if cmd.Flags().Changed("room") && f.room <= 0 {
		return exit.Usagef("backfill: --room is %v, must be 1ms to %v", f.room, ops.MostRoom)
	}
	return nil
}

// interval returns the ticks that the flags name; nil: the backfill is to be stopped.
func (f *backfillFlags) interval(cmd *cobra.Command) (b *ops.Backfill, err error) {
	if f.stop {
		return nil, nil
	}
	b = &ops.Backfill{Only: ops.Only(f.only), Room: f.room}
	if b.From, err = command.ParseTime(f.from, time.UTC); err != nil {
		return nil, exit.Usagef("backfill: --from %w", err)
	}
	if b.To, err = command.ParseTime(f.to, time.UTC); err != nil {
		return nil, exit.Usagef("backfill: --to %w", err)
	}
	if err := b.Check(); err != nil {
		return nil, invalid(cmd, err)
	}
	return b, nil
}

// backfill makes or stops the backfill of a job.
func (f *backfillFlags) backfill(cmd *cobra.Command, job string) error {
	b, err := f.interval(cmd)
	if err != nil {
		return err
	}
	c := f.request(series.ActionBackfill)
	c.Key, c.Anyway = job, f.anyway
	if err := c.Check(); err != nil {
		return invalid(cmd, err)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		if _, err := s.Jobs(ctx, job); err != nil {
			return f.unread(err)
		}
		w := cmd.OutOrStdout()
		send := func() (ops.Change, bool, error) {
			old := s.Front().ReadSeries(ctx, []string{job})[0]
			return f.send(ctx, s, w, &old, &ops.Request{Control: c, Backfill: b, Dry: f.dry})
		}
		a, done, err := send()
		if err != nil || done {
			return err
		}
		if a.Outcome == ops.ChangePlanned {
			printPlan(w, job, a.Plan)
			if f.dry {
				return nil
			}
			if yes, err := f.confirmed(ctx, cmd, a.Plan.Count); err != nil || !yes {
				return err
			}
			b.Digest, b.Usual = a.Plan.Digest, time.Duration(a.Plan.RoomMs)*time.Millisecond
			if a, done, err = send(); err != nil || done {
				return err
			}
		}
		f.made(w, &a)
		return nil
	})
}

// confirmed asks on a terminal whether the ticks of a plan are to be repeated; see agreed. Without one, --yes says so.
func (f *backfillFlags) confirmed(ctx context.Context, cmd *cobra.Command, n int) (bool, error) {
	switch {
	case f.yes:
		return true, nil
	case !onTerminal(cmd):
		return false, exit.Usagef("backfill: nothing was done: without a terminal to ask on, --yes is needed")
	}
	return agreed(ctx, cmd, fmt.Sprintf("Repeat %s?", terminal.Plural(n, "tick")))
}

// made prints a change that was made.
func (f *backfillFlags) made(w io.Writer, a *ops.Change) {
	job, by := terminal.Printable(a.Request.Key), terminal.Printable(a.Request.Who)+because(a.Request.Reason)
	if f.stop {
		fmt.Fprintf(w, "the backfill of %s is stopped, by %s; runs that are alive and go on: %d\n", job, by, alive(&a.Series))
		return
	}
	fmt.Fprintf(w, "the backfill of %s is made, by %s\n  to see it: cronce status jobs show %s; to stop it: cronce backfill %s --stop --reason …\n", job, by, job, job)
}

// shownTicks is the number of first and of last ticks of a plan that are printed for each verdict.
const shownTicks = 3

// printPlan prints the ticks of a plan by verdict, the time that they may take, and its notes.
func printPlan(w io.Writer, job string, p *ops.Plan) {
	fmt.Fprintf(w, "%s\n", terminal.Printable(p.Text(job)))
	for _, c := range p.Counts() {
		var ticks []string
		for i := range p.Ticks {
			if string(p.Ticks[i].Verdict) == c.Verdict {
				ticks = append(ticks, ops.TickText(p.Ticks[i].Tick))
			}
		}
		if n := len(ticks); n > 2*shownTicks {
			ticks = append(append(ticks[:shownTicks:shownTicks], "…"), ticks[n-shownTicks:]...)
		}
		fmt.Fprintf(w, "  %d %s: %s\n", c.N, c.Verdict, strings.Join(ticks, ", "))
	}
	fmt.Fprintf(w, "  room: no run starts within %v before the next tick\n", time.Duration(p.RoomMs)*time.Millisecond)
	for _, note := range p.Notes() {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(note))
	}
}
