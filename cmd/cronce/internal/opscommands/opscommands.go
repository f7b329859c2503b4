// Package opscommands has the commands that show the state of a namespace: status and runs,
// directly from the store, and ops, which serves the same data as API and pages. None of them
// changes the store, but for the lock of the replica of ops that sends alerts.
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
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/ops"
)

// A listing is the part of a snapshot that a command shows.
type listing struct {
	value any                 // for machines
	key   []any               // the parts of the value whose changes are shown
	items []item              // if not nil, the changes are shown item by item, the oldest first,
	most  int                 // and of more changes only the newest
	table func(wide bool) row // for a person: its rows, the first is the header
	names []string            // the names of the listed items, for -o name
	text  string              // printed instead of a table; empty: the table
	foot  string              // printed below the table
	fault error               // sets the exit code
}

// An item of a list has a key, which changes with the value.
type item struct {
	key   string
	value any
}

// shown has the flags of each command that lists.
type shown struct {
	output string
	watch  bool
}

func (f *shown) flags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.StoreOverrides)
	command.FormatFlag(cmd, &f.output)
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "continue: redraw on a terminal, or else print each change as a line of JSON")
}

// projection returns the projection of a namespace.
func projection(s *clients.Store) *ops.Projection {
	return ops.New(ops.Options{Store: s.Driver, Namespace: s.Config.Namespace, Explain: s.Driver.Explain})
}

// run prints the listing that list makes of the namespace, once or until the command ends.
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

// settled reads the namespace once, and again if a tick looks overdue while nodes are alive.
func settled(ctx context.Context, s *clients.Store) (*ops.Snapshot, error) {
	p := projection(s)
	now := p.Refresh(ctx)
	if now.Suspects() {
		if err := wait.Sleep(ctx, ops.SecondProbe); err != nil {
			return nil, exit.Doubt(err)
		}
		now = p.Refresh(ctx)
	}
	return now, ctx.Err()
}

// askedAgain bounds the second question to a store that has not answered the first one in time.
const askedAgain = 5 * time.Second

// unreached returns the doubt of a command that needs a store that answers.
func unreached(ctx context.Context, s *clients.Store, now *ops.Snapshot) error {
	if now.Known() {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, askedAgain)
	defer stop()
	if _, err := s.Now(ctx); err != nil {
		return err
	}
	keys, err := s.Jobs(ctx, "")
	if err != nil {
		return err
	}
	for _, state := range s.Front().ReadSeries(ctx, keys) { // the snapshot only has the text: a refusal has an exit code of its own
		if state.Err != nil {
			return s.Failed(state.Err)
		}
	}
	return exit.Doubt(errors.New(now.Down)) // it answers again, or the user may only read the clock
}

// jobNames completes the names of jobs. It completes none if the store does not answer at once.
func jobNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := keys(cmd)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completionTime bounds the wait of a shell prompt for the store.
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

// CompleteJobs makes commands complete the name of a job as their first argument.
func CompleteJobs(commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.ValidArgsFunction = jobNames
	}
}
