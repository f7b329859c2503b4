package inspect

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/ops"
)

// OverdueCommand returns the command status overdue.
func OverdueCommand() *cobra.Command {
	var job, output string
	cmd := &cobra.Command{
		Use:   "overdue",
		Short: "List the ticks that no node has decided in time",
		Long: "List the ticks that are due by the recorded specs, past their deadline and 10 seconds, and without a verdict, and the\n" +
			"runs that their nodes have left: each with its age and the cause. It needs no live node, so it can be an alarm on a\n" +
			"timer outside of the cluster. It judges as verify does, and reports no broken invariant.\n\n" +
			"Exit code 1: a tick is overdue; 3: the user may not read a part of the store; 4: that is not known, because the store\n" +
			"does not answer, a part of it cannot be read, or no job is on record.",
		Example: "  cronce status overdue\n  cronce status overdue --job sendSms -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inspect(cmd, func(ctx context.Context, s inspector) error {
				return s.listOverdue(ctx, cmd.OutOrStdout(), job, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().StringVar(&job, "job", "", "only this job")
	command.OutputFlag(cmd, &output)
	return cmd
}

// An overdueReport lists the overdue ticks, for machines.
type overdueReport struct {
	OK        bool              `json:"ok"`
	Namespace string            `json:"namespace"`
	Now       time.Time         `json:"now"` // the store's clock
	Jobs      int               `json:"jobs"`
	Nodes     int               `json:"nodes"` // live nodes; 0 too if they are not known, as Faults report
	Overdue   []ops.OverdueTick `json:"overdue"`
	Faults    []string          `json:"faults,omitempty"` // missing knowledge
}

func (s inspector) listOverdue(ctx context.Context, w io.Writer, job, output string) error {
	p, err := s.prove(ctx, verifyFlags{job: job})
	if err != nil {
		return err
	}
	if len(p.Overdue) > 0 {
		p.risk(s.risks(ctx))
	}
	r := p.overdueReport()
	fault := p.overdueFault(r.Faults)
	r.OK = fault == nil
	if err := r.print(w, output); err != nil {
		return err
	}
	return fault
}

func (p *Proof) overdueReport() *overdueReport {
	r := &overdueReport{Namespace: p.Namespace, Now: p.Now, Jobs: len(p.Jobs), Nodes: p.Living, Overdue: []ops.OverdueTick{}, Faults: p.Faults}
	r.Overdue = append(r.Overdue, p.Overdue...)
	for i := range p.Jobs {
		for _, fault := range p.Jobs[i].Faults {
			r.Faults = append(r.Faults, p.Jobs[i].Job+": "+fault)
		}
	}
	return r
}

// overdueFault returns nil if every job is known to have no overdue tick. Broken invariants are
// left to verify.
func (p *Proof) overdueFault(faults []string) error {
	switch {
	case len(p.Overdue) > 0:
		return exit.Printed(exit.Failed, "a tick is overdue")
	case len(p.Jobs) == 0:
		return exit.Doubt(fmt.Errorf("overdue: %s", p.Remarks[len(p.Remarks)-1]))
	case p.denied() != nil:
		return exit.Printed(exit.Refused, "the user may not read a part of the store")
	case len(faults) > 0:
		return exit.Printed(exit.NotKnown, "a part of the store cannot be read")
	}
	return nil
}

func (r *overdueReport) print(w io.Writer, output string) error {
	if output == command.OutputJSON {
		return terminal.PrintJSON(w, r)
	}
	for i := range r.Overdue {
		fmt.Fprintln(w, terminal.Printable(r.Overdue[i].String()))
	}
	for _, fault := range r.Faults {
		fmt.Fprintln(w, terminal.Printable("NOT KNOWN "+fault))
	}
	if r.OK {
		fmt.Fprintf(w, "Nothing is overdue: %s, %s live.\n", terminal.Plural(r.Jobs, "job"), terminal.Plural(r.Nodes, "node"))
	}
	return nil
}
