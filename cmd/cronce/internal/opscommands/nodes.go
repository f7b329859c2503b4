package opscommands

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/ops"
)

func nodesCommand() *cobra.Command {
	var f shown
	var gone bool
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the live nodes, and the nodes that left in the last 24 hours",
		Long: "List the live nodes, with their runs, and those that went in the last 24 hours, the latest 200: a node is draining, and\n" +
			"drained once it has no run any more, or it is silent (killed, or cut off from the store). CLOCK OFF is how far a node's clock was\n" +
			"off the store's at its last heartbeat.\n\n" +
			"Exit code 1: no node is alive; 4: the store does not answer, or the list of nodes cannot be read.",
		Example: "  cronce status nodes\n  cronce status nodes --gone -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context, s *clients.Store, now *ops.Snapshot) (listing, error) {
				return nodesListing(ctx, s, now, gone)
			})
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&gone, "gone", false, "only the nodes that left or fell silent")
	return cmd
}

func nodesListing(ctx context.Context, s *clients.Store, now *ops.Snapshot, gone bool) (listing, error) {
	if err := unreached(ctx, s, now); err != nil {
		return listing{}, err
	}
	if err := now.Nodes.Err(); err != nil {
		return listing{}, s.Failed(err)
	}
	nodes := []ops.NodeView{}
	l := listing{}
	for _, n := range now.NodeViews() {
		if !gone || n.State != "alive" {
			nodes = append(nodes, n)
			l.names = append(l.names, n.Name)
			l.key = append(l.key, n.Name, n.State)
		}
	}
	l.value = map[string]any{"items": nodes, "as_of": now.AsOf}
	l.table = func(bool) row {
		rows := row{{"STATE", "NODE", "RUNS", "CLOCK OFF", "LAST SEEN, UTC"}}
		for _, n := range nodes {
			rows = append(rows, []any{n.State, n.Name, len(n.Alive), n.Clock(), ops.Clock(n.Seen, now.AsOf)})
		}
		return rows
	}
	if now.Nodes.Alive() == 0 {
		l.fault = exit.Printed(exit.Failed, "no node lives")
	}
	return l, nil
}
