package control

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// longestWait is the longest --wait.
const longestWait = 24 * time.Hour

type cancelFlags struct {
	pauseFlags
	wait time.Duration
}

// CancelCommand returns the command cancel.
func CancelCommand() *cobra.Command {
	var f cancelFlags
	cmd := &cobra.Command{
		Use:   "cancel <run>|<job> --reason <text>",
		Short: "End a run of a job, and let no node run its tick again",
		Long: "End a run of a job. The context of its function ends, and no further attempt of its tick is granted, whatever the job\n" +
			"says about takeovers. On Redis the node is notified at once; on other stores it learns of it with the next renewal\n" +
			"of the lease, within a third of the lease. A function that ignores the end of its context continues: with --wait the\n" +
			"command reports that. A tick that waits, or whose node has died, is settled at once. Later ticks run as usual.\n\n" +
			"The run is given by its id, as in logs and in cronce runs -o name: namespace/job@tick, with or without the namespace.\n" +
			"The name of a job stands for its only run that has not ended. If the reply is lost, the command prints the operation, which\n" +
			"stands for that run: repeat the command with it, and no other run is cancelled.\n\n" +
			"Exit code 1: the run has not ended within --wait; 3: the run is over, or the user may not write; 4: it is not known\n" +
			"whether the run is cancelled, or the store has no job on record.",
		Example: "  cronce cancel report --reason 'it hangs' --wait 30s\n  cronce cancel report@2026-11-23T02:00:00Z --reason 'wrong data'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("cancel: got %s, want the id of one run, or the name of one job", terminal.Plural(len(args), "argument"))
			}
			if err := command.CheckJob("cancel", args[0]); err != nil {
				return err
			}
			if f.reason == "" {
				return exit.Usagef("cancel: --reason is missing")
			}
			if f.wait < 0 || f.wait > longestWait {
				return exit.Usagef("cancel: --wait is %v, must be 0 to %v", f.wait, longestWait)
			}
			return f.cancel(cmd, args[0])
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	f.intent(cmd)
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "how long to wait for the end of the run, at most 24h (default: not at all)")
	return cmd
}

// cancel cancels the run that an argument names.
func (f *cancelFlags) cancel(cmd *cobra.Command, name string) error {
	c := f.request(series.ActionCancel)
	c.Seen, c.Number = series.AnySeen, 1 // the number is read below
	if err := c.Check(); err != nil {
		return invalid(cmd, err)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		job, number, err := f.named(name, s.Config.Namespace)
		if err == nil {
			err = command.CheckJob("cancel", job)
		}
		if err != nil {
			return err
		}
		if _, err := s.Jobs(ctx, job); err != nil {
			return f.unread(err)
		}
		is := s.Front().ReadSeries(ctx, []string{job})[0]
		if number == 0 && is.Err == nil {
			if number, err = onlyRun(&is); err != nil {
				return err
			}
		}
		c.Key, c.Number = job, number
		a, done, err := f.requestChange(ctx, s, cmd.OutOrStdout(), &is, &c)
		if err != nil {
			return err
		}
		if !done {
			report(cmd.OutOrStdout(), &c, &is, &a)
		}
		if f.wait == 0 || !unsettled(&a.Series, c.Number) {
			return nil
		}
		return f.await(cmd.Context(), s, cmd.OutOrStdout(), &c)
	})
}

// named returns the job and the number of the run that the argument and the operation name. The number
// is 0 if neither does.
func (f *cancelFlags) named(name, namespace string) (job string, number int64, err error) {
	if run, shard := command.TickOf(name); shard {
		return "", 0, exit.Usagef("cancel: %s is a shard, and a cancel ends all shards of a tick: give %s", strictyaml.Quote(name), run)
	}
	job, tick, named := command.ParseRun(name, namespace)
	if named {
		number = tick.UnixMilli()
	} else if _, at, has := strings.Cut(name, "@"); has { // the name of no job has an @
		return "", 0, exit.Usagef("cancel: the tick of %s is %s, must be RFC 3339 (2026-03-29T01:00:00Z), as cronce runs --alive -o name prints it", strictyaml.Quote(name), strictyaml.Quote(at))
	}
	op, _ := readOp(f.op)
	switch {
	case op.at == 0 && !named && f.op != "":
		return "", 0, exit.Usagef("cancel: --op is %s, which names no run: give the id of the run in place of its job", f.op)
	case op.at != 0 && named && op.at != number:
		return "", 0, exit.Usagef("cancel: --op is %s, an operation on the run %s", f.op, strictyaml.Quote(ops.RunName(job, op.at)))
	}
	return job, cmp.Or(number, op.at), nil
}

// onlyRun returns the number of the only run of a job that is not settled.
func onlyRun(is *series.Series) (int64, error) {
	switch len(is.Runs) {
	case 0:
		return 0, exit.With(exit.Refused, fmt.Errorf("%s has no run that has not ended: see cronce runs %s", is.Key, is.Key))
	case 1:
		return is.Runs[0].Number, nil
	}
	ids := make([]string, len(is.Runs))
	for i := range is.Runs {
		ids[i] = ops.RunName(is.Key, is.Runs[i].Number)
	}
	return 0, exit.Usagef("cancel: %s has %d runs that have not ended, name one: %s", strictyaml.Quote(is.Key), len(ids), strings.Join(ids, ", "))
}

// report prints the effect of the cancel.
func report(w io.Writer, c *series.Control, was *series.Series, a *ops.Change) {
	fmt.Fprintf(w, "%s is cancelled, by %s, at %s%s\n", terminal.Printable(ops.RunName(c.Key, c.Number)), terminal.Printable(c.Who), terminal.RFC3339(a.Latest.At), because(c.Reason))
	if !unsettled(&a.Series, c.Number) {
		fmt.Fprintln(w, "  no node runs it")
		return
	}
	for i := range was.Runs {
		if r := &was.Runs[i]; r.Number == c.Number {
			fmt.Fprintf(w, "  %s runs it as attempt %d, fence %d, and learns of the cancel with its next renewal at the latest\n", terminal.Printable(nodeOf(r.Owner)), r.Attempt, r.Fence)
		}
	}
}

func nodeOf(owner string) string { return owner[:max(0, strings.LastIndexByte(owner, '/'))] }

func unsettled(is *series.Series, number int64) bool {
	return slices.ContainsFunc(is.Runs, func(r series.Run) bool { return r.Number == number })
}

// betweenReads is the pause between two readings of a run that is expected to end.
const betweenReads = 100 * time.Millisecond

// await waits for the end of a cancelled run, and prints it.
func (f *cancelFlags) await(ctx context.Context, s *clients.Store, w io.Writer, c *series.Control) error {
	end, err := settled(ctx, s, c, f.wait)
	switch {
	case err != nil:
		return err
	case end == nil:
		return exit.With(exit.Failed, fmt.Errorf("%s has not ended within %v: its function ignores the end of its context, or its node does not answer", ops.RunName(c.Key, c.Number), f.wait))
	}
	fmt.Fprintf(w, "  it ended %s\n", endText(end))
	return nil
}

// settled waits until the run of a request is settled, and returns the line of its end: nil if it is not
// settled within patience, and a line without a verdict if the journal has none.
func settled(ctx context.Context, s *clients.Store, c *series.Control, patience time.Duration) (*series.Line, error) {
	began := time.Now()
	ctx, stop := context.WithTimeout(ctx, patience+clients.Timeout)
	defer stop()
	for {
		is := s.Front().ReadSeries(ctx, []string{c.Key})[0]
		if is.Err != nil {
			return nil, s.Failed(fmt.Errorf("whether the run has ended is not known: %w", is.Err))
		}
		if !unsettled(&is, c.Number) {
			return endOf(ctx, s, c)
		}
		if time.Since(began) >= patience {
			return nil, nil
		}
		if err := wait.Sleep(ctx, betweenReads); err != nil {
			return nil, err
		}
	}
}

// endOf returns the line of the end of a run, or a line without a verdict if the journal has none.
func endOf(ctx context.Context, s *clients.Store, c *series.Control) (*series.Line, error) {
	j, err := s.Front().Journal(ctx, c.Key, 50)
	if err != nil {
		return nil, s.Failed(fmt.Errorf("how the run has ended is not known: %w", err))
	}
	for _, l := range slices.Backward(j.Lines) {
		if l.To == c.Number && l.Verdict != series.VerdictControl && l.Verdict != series.VerdictWaiting {
			return &l, nil
		}
	}
	return &series.Line{}, nil
}

// endText returns how a run ended.
func endText(l *series.Line) string {
	switch {
	case l.Outcome != "":
		return "as " + l.Outcome + " at " + terminal.RFC3339(l.Ended)
	case l.Verdict == series.VerdictLost:
		return "without a result: its node did not answer, and the tick is lost"
	case l.Verdict == "":
		return "(the journal has no line of it any more)"
	}
	return "before it started: " + string(l.Verdict)
}
