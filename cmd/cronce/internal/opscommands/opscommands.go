// Package opscommands has the commands that show what a namespace does: status and runs, straight from
// the store, and ops, which serves the same as API and pages. None of them changes the store.
package opscommands

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/ops"
)

// A listing is what a command shows of a snapshot.
type listing struct {
	value any                 // for machines
	key   []any               // of the value what is news when it changes
	table func(wide bool) row // for a person: its rows, the first is the header
	names []string            // of what is listed, for -o name
	text  string              // instead of a table; empty: the table
	foot  string              // below the table
	fault error               // the exit code that it means
}

// shown are the flags of each command that lists.
type shown struct {
	output string
	watch  bool
}

func (f *shown) flags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.StoreOverrides)
	command.FormatFlag(cmd, &f.output)
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on: redraw on a terminal, else print each change as a line of JSON")
}

// projection is that of a namespace.
func projection(s *clients.Store) *ops.Projection {
	return ops.New(ops.Options{Store: s.Driver, Namespace: s.Config.Namespace, Explain: s.Driver.Explain})
}

// run shows what list makes of the namespace, once or until the command ends.
func (f *shown) run(cmd *cobra.Command, list func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error)) error {
	if f.watch {
		return f.follow(cmd, list)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		now, err := settled(ctx, s)
		if err != nil {
			return err
		}
		l, err := list(ctx, s, now)
		if err != nil {
			return err
		}
		if err := l.print(cmd.OutOrStdout(), f.output); err != nil {
			return err
		}
		return l.fault
	})
}

// settled reads the namespace once, and again where something looks overdue while nodes live.
func settled(ctx context.Context, s *clients.Store) (*ops.Snapshot, error) {
	p := projection(s)
	now := p.Refresh(ctx)
	if now.Suspects() {
		select {
		case <-ctx.Done():
			return nil, exit.Doubt(ctx.Err())
		case <-time.After(ops.SecondProbe):
		}
		now = p.Refresh(ctx)
	}
	return now, ctx.Err()
}

// unreached is the doubt of a command that needs more than a silent store can give.
func unreached(ctx context.Context, s *clients.Store, now *ops.Snapshot) error {
	if now.Known() {
		return nil
	}
	if _, err := s.Now(ctx); err != nil {
		return err
	}
	keys, err := s.Jobs(ctx, "")
	if err != nil {
		return err
	}
	for _, state := range s.Front().ReadSeries(ctx, keys) { // the snapshot has the text alone: a refusal has a code of its own
		if state.Err != nil {
			return s.Failed(state.Err)
		}
	}
	return exit.Doubt(errors.New(now.Down)) // it answers again, or the user may read the clock alone
}

// jobNames completes the names of jobs. A store that does not answer at once completes nothing.
func jobNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := keys(cmd)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionTime bounds how long a prompt waits for the store.
const completionTime = 300 * time.Millisecond

func keys(cmd *cobra.Command) ([]string, error) {
	c, err := command.ReadConfig(cmd, config.StoreOverrides)
	if err != nil {
		return nil, err
	}
	s, err := clients.NewStore(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	return s.Driver.Keys(ctx)
}

// CompleteJobs lets commands complete the name of a job as their first argument.
func CompleteJobs(commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.ValidArgsFunction = jobNames
	}
}
