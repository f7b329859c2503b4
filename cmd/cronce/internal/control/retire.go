package control

import (
	"context"
	"fmt"
	"io"
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

// RetireCommand returns the command retire.
func RetireCommand() *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "retire <job> --reason <text>",
		Short: "Remove a job that no node has any more from the lists",
		Long: "Remove a job that was deleted or renamed from the lists. None of its ticks is overdue any more, and its journal is kept.\n" +
			"Runs that their nodes left are settled as lost, and ticks that no node has decided are recorded as missed. cronce status\n" +
			"jobs --state retired lists the job. If a node opens the job again, it begins at that time, and an earlier pause has ended.\n" +
			"The command works without a live node.\n\n" +
			"Exit code 3: a live node has opened the job within 15 minutes, a run is alive, the job changed at the same time, or\n" +
			"the user may not write; 4: it is not known whether the job is retired, or the store has no job on record.",
		Example: "  cronce retire sendSms --reason 'replaced by sendMessages'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("retire: got %s, want the name of one job", terminal.Plural(len(args), "argument"))
			}
			if f.reason == "" {
				return exit.Usagef("retire: --reason is missing")
			}
			return f.run(cmd, args, series.ActionRetire)
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	f.intent(cmd)
	return cmd
}

// retire retires a job that no node has.
func (f *pauseFlags) retire(ctx context.Context, s *clients.Store, w io.Writer, c series.Control) error {
	old := s.Front().ReadSeries(ctx, []string{c.Key})[0]
	if old.Retired() && f.op == "" {
		fmt.Fprintf(w, "%s is retired already%s\n", terminal.Printable(c.Key), terminal.Printable(ops.PauseText(&old.Pause)))
		return nil
	}
	if err := unused(ctx, s, c.Key); err != nil {
		return f.unread(err)
	}
	a, done, err := f.requestChange(ctx, s, w, &old, &c)
	if err != nil || done {
		return err
	}
	fmt.Fprintf(w, "%s is retired, by %s, from %s on%s\n", terminal.Printable(c.Key), terminal.Printable(c.Who), terminal.RFC3339(a.Latest.At), because(c.Reason))
	readTicks(ctx, s, c.Key).missed(w, &c, &old, &a.Series)
	return nil
}

// unused returns an error if a live node has opened the job recently.
func unused(ctx context.Context, s *clients.Store, job string) error {
	members, err := s.Driver.Members(ctx)
	if err != nil {
		return s.Failed(err)
	}
	journal, err := s.Front().Journal(ctx, job, 1)
	if err != nil {
		return s.Failed(err)
	}
	if node, at := ops.Holder(&members, &journal); node != "" {
		return exit.With(exit.Refused, fmt.Errorf("%s: the node %s lives, and has opened it at %s: remove the job from each node first; if a reload has removed it there, cronce retire works from %s on",
			job, node, terminal.RFC3339(at), ops.HadUntil(at).Format(time.RFC3339)))
	}
	return nil
}
