package control

import (
	"cmp"
	"context"
	"fmt"
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

type runFlags struct {
	pauseFlags
	queue, anyway, dry bool
	within, wait       time.Duration
}

// RunCommand returns the command run.
func RunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run <job> --reason <text>",
		Short: "Run a job once now, on one of its nodes",
		Long: "Run a job once now, on one of the nodes that have it. The run is a manual run: its tick is the instant of the request, with\n" +
			"a part of a second, which no spec can have. It has a fence and attempts as every run, and a node that dies is replaced if\n" +
			"the job says so. No tick of the spec is decided by it, and a tick that is due goes first.\n\n" +
			"The job's own overlap decides while another run is alive: skip refuses the request, unless --queue is given; queue waits\n" +
			"for the end of that run; allow runs beside it; replace requests its end first. A tick that is due during the manual run\n" +
			"is judged by the same policy. A paused job runs only with --while-paused, and the pause goes on. A run that has not\n" +
			"started within --start-within is recorded as missed.\n\n" +
			"Exit code 1: with --wait, the run did not end ok in that time; 3: a run is alive, the job is paused, no live node has\n" +
			"the job, or the user may not write; 4: it is not known whether the run was requested, or the store has no job on record.",
		Example: "  cronce run report --reason 'the data was late' --wait 10m\n  cronce run report --reason 'try it' --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("run: got %s, want the name of one job", terminal.Plural(len(args), "argument"))
			}
			if err := command.CheckJob("run", args[0]); err != nil {
				return err
			}
			switch {
			case f.reason == "":
				return exit.Usagef("run: --reason is missing")
			case f.within < time.Second || f.within > ops.MostStartWithin:
				return exit.Usagef("run: --start-within is %v, must be 1s to %v", f.within, ops.MostStartWithin)
			case f.wait < 0 || f.wait > longestWait:
				return exit.Usagef("run: --wait is %v, must be 0 to %v", f.wait, longestWait)
			case f.dry && f.wait != 0:
				return exit.Usagef("run: --dry-run starts nothing that --wait could wait for: give one of them")
			}
			return f.run(cmd, args[0])
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	f.intent(cmd)
	cmd.Flags().BoolVar(&f.queue, "queue", false, "wait for a run in progress to end, even if the job's overlap policy is skip")
	cmd.Flags().BoolVar(&f.anyway, "while-paused", false, "run the job although it is paused")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print the answer that the request would get, and request nothing")
	cmd.Flags().DurationVar(&f.within, "start-within", ops.StartWithin, "how long the run may wait for its start, at most 1h")
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "how long to wait for the end of the run, at most 24h (default: not at all)")
	return cmd
}

// run requests one run of a job.
func (f *runFlags) run(cmd *cobra.Command, job string) error {
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		c := f.request(series.ActionRun)
		c.Key, c.Anyway, c.Seen = job, f.anyway, series.AnySeen
		if _, err := s.Jobs(ctx, job); err != nil {
			return f.unread(err)
		}
		old := s.Front().ReadSeries(ctx, []string{job})[0]
		op, _ := readOp(f.op)
		c.Until = cmp.Or(op.at, old.Now+f.within.Milliseconds())
		if err := c.Check(); err != nil {
			return invalid(cmd, err)
		}
		w := cmd.OutOrStdout()
		a, done, err := f.send(ctx, s, w, &old, &ops.Request{Control: c, Queue: f.queue, Dry: f.dry})
		if err != nil || done {
			return err
		}
		c.Number = a.Number
		fmt.Fprintf(w, "%s is requested, by %s%s\n", terminal.Printable(ops.RunName(job, c.Number)), terminal.Printable(c.Who), because(c.Reason))
		if a.Text != "" {
			fmt.Fprintf(w, "  %s\n", terminal.Printable(a.Text))
		}
		if f.wait == 0 {
			fmt.Fprintf(w, "  it starts by %s on a node that has the job: see cronce runs %s\n", terminal.RFC3339(c.Until), terminal.Printable(job))
			return nil
		}
		end, err := settled(cmd.Context(), s, &c, f.wait)
		switch {
		case err != nil:
			return err
		case end == nil:
			return exit.With(exit.Failed, fmt.Errorf("%s has not ended within %v", ops.RunName(job, c.Number), f.wait))
		}
		fmt.Fprintf(w, "  it ended %s\n", endText(end))
		if end.Outcome != series.OutcomeOK && end.Outcome != series.OutcomeSkipped {
			return exit.With(exit.Failed, fmt.Errorf("%s did not end ok", ops.RunName(job, c.Number)))
		}
		return nil
	})
}

type skipFlags struct {
	pauseFlags
	undo bool
}

// SkipCommand returns the command skip.
func SkipCommand() *cobra.Command {
	var f skipFlags
	cmd := &cobra.Command{
		Use:   "skip <job> [tick] --reason <text>",
		Short: "Let a job skip its next tick",
		Long: "Let a job skip one tick: the next one, or the one that is given. The tick is recorded as skipped when it is due, and the\n" +
			"ticks before and after it run as usual. A job skips one tick at a time: a second skip takes the place of the first.\n\n" +
			"Exit code 3: the tick is decided, or is no tick of the spec, the job changed at the same time, or the user may not\n" +
			"write; 4: it is not known whether the tick is to be skipped, or the store has no job on record.",
		Example: "  cronce skip report --reason 'a holiday'\n  cronce skip report 2026-12-25T02:00:00Z --reason 'a holiday'\n  cronce skip report --undo --reason 'it is needed'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || f.undo && len(args) == 2 {
				return exit.Usagef("skip: got %s and --undo is %v, want the name of one job, and a tick unless --undo is given", terminal.Plural(len(args), "argument"), f.undo)
			}
			if err := command.CheckJob("skip", args[0]); err != nil {
				return err
			}
			if f.reason == "" {
				return exit.Usagef("skip: --reason is missing")
			}
			return f.skip(cmd, args)
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	f.intent(cmd)
	cmd.Flags().BoolVar(&f.undo, "undo", false, "let the tick run after all")
	return cmd
}

// skip lets a job skip a tick.
func (f *skipFlags) skip(cmd *cobra.Command, args []string) error {
	c := f.request(series.ActionSkip)
	c.Key = args[0]
	if op, carries := readOp(f.op); carries {
		c.Number = op.at
	}
	if len(args) == 2 {
		tick, err := command.ParseTime(args[1], time.UTC)
		if err != nil {
			return exit.Usagef("skip: the tick %w", err)
		}
		c.Number = tick.UnixMilli()
	}
	if err := c.Check(); err != nil {
		return invalid(cmd, err)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		if _, err := s.Jobs(ctx, c.Key); err != nil {
			return f.unread(err)
		}
		w := cmd.OutOrStdout()
		old := s.Front().ReadSeries(ctx, []string{c.Key})[0]
		if t := readTicks(ctx, s, c.Key); c.Number == 0 && !f.undo && t.schedule != nil {
			c.Number = t.schedule.NextMilli(max(old.Now, old.Mark))
		}
		a, done, err := f.send(ctx, s, w, &old, &ops.Request{Control: c, Back: f.undo})
		if err != nil || done {
			return err
		}
		if job := terminal.Printable(c.Key); f.undo {
			fmt.Fprintf(w, "no tick of %s is to be skipped, by %s%s\n", job, terminal.Printable(c.Who), because(c.Reason))
		} else {
			fmt.Fprintf(w, "%s is to be skipped, by %s%s\n", terminal.Printable(ops.RunName(c.Key, a.Request.Number)), terminal.Printable(c.Who), because(c.Reason))
		}
		return nil
	})
}
