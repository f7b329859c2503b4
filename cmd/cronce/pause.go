package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/lock/driver"
)

// A reason has as many characters.
const leastReason, mostReason = 3, 500

type pauseFlags struct {
	all         bool
	reason, who string
}

func pauseCommand() *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "pause <job>|--all --reason <text>",
		Short: "Stop the starts of a job, and record its ticks as paused",
		Long: "Stop the starts of a job, takeovers included. What runs goes on. The ticks of the pause are recorded as\n" +
			"paused and are not overdue: a stop that is planned, and a job that was removed from the configuration,\n" +
			"are paused. It works while no node lives.\n\n" +
			"The store keeps that a job is paused. The reason, and the name of the caller, are printed, for the log of whatever\n" +
			"calls this; the store does not keep them.\n\n" +
			"Exit code 3: the job changed at the same time, or the user may not write; 4: the store does not answer, or has no job on record.",
		Example: "  cronce pause sendSms --reason 'gateway is moved until 08:00'\n  cronce pause --all --reason 'maintenance of the database'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := utf8.RuneCountInString(f.reason); n < leastReason || n > mostReason {
				return exit.Usagef("pause: --reason has %d characters, must be %d to %d", n, leastReason, mostReason)
			}
			return f.change(cmd, args, true)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why: 3 to 500 characters")
	return cmd
}

func resumeCommand() *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "resume <job>|--all",
		Short: "End the pause of a job",
		Long: "End the pause of a job. Its ticks up to now are recorded as paused: none of them is run. From the next\n" +
			"tick on it is as before, and overdue if no node runs it.\n\n" +
			"Exit code 3: the job changed at the same time, or the user may not write; 4: the store does not answer, or has no job on record.",
		Example: "  cronce resume sendSms\n  cronce resume --all",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.change(cmd, args, false) },
	}
	f.flags(cmd)
	return cmd
}

func (f *pauseFlags) flags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&f.all, "all", false, "each job of the namespace")
	cmd.Flags().StringVar(&f.who, "who", "", "the name of the caller (default: that of the user of this machine)")
}

// change pauses or resumes the job that is named, or all.
func (f *pauseFlags) change(cmd *cobra.Command, args []string, pause bool) error {
	if len(args) > 1 || f.all == (len(args) == 1) {
		return exit.Usagef("%s: got %d arguments and --all is %v, want the name of one job, or --all", cmd.Name(), len(args), f.all)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		only := ""
		if !f.all {
			only = args[0]
		}
		jobs, err := s.Jobs(ctx, only)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return s.NoRecord()
		}
		var errs []error
		for _, job := range jobs {
			errs = append(errs, setPause(ctx, s, cmd.OutOrStdout(), job, pause, f))
		}
		return errors.Join(errs...)
	})
}

// setPause pauses or resumes a job, unless it is so already.
func setPause(ctx context.Context, s *clients.Store, w io.Writer, job string, pause bool, f *pauseFlags) error {
	old := s.Front().ReadSeries(ctx, []string{job})[0]
	if old.Err != nil {
		return s.Failed(old.Err)
	}
	as := map[bool]string{true: "paused", false: "not paused"}
	if old.Paused == pause {
		fmt.Fprintf(w, "%s is %s already\n", job, as[pause])
		return nil
	}
	set := s.Front().Resume
	if pause {
		set = s.Front().Pause
	}
	now := set(ctx, job, old.PauseChange+1)
	switch {
	case errors.Is(now.Err, driver.ErrNotOpen):
		return exit.With(exit.Refused, fmt.Errorf("%s was never opened by a node: there is nothing to pause", job))
	case now.Err != nil:
		return s.Failed(now.Err)
	case now.Paused != pause:
		return exit.With(exit.Refused, fmt.Errorf("%s is %s: another change came first, see how it stands and ask again", job, as[now.Paused]))
	}
	alive := 0
	for i := range now.Runs {
		if r := &now.Runs[i]; r.State == driver.RunOpen && r.Until > now.Now {
			alive++
		}
	}
	fmt.Fprintf(w, "%s is %s, by %s, from %s on", job, as[pause], command.Caller(f.who), terminal.RFC3339(now.Now))
	if pause {
		fmt.Fprintf(w, ": %s; %d of its runs are alive and go on", f.reason, alive)
	}
	fmt.Fprintln(w)
	return nil
}
