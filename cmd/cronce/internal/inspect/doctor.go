package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// DoctorCommand returns the command doctor.
func DoctorCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store for faults, and suggest repairs",
		Long: "Check the store (on Redis: version, role, eviction, memory, persistence, and the namespaces in use), its\n" +
			"latency and clock, the nodes (which are alive; which left in the last 24 hours, and how), jobs whose marks are in the\n" +
			"future, and overdue ticks.\n\n" +
			"Exit code 1: a finding needs repair. 3: the server refuses this user, or a part of the requests, and no\n" +
			"finding needs repair. 4: the server does not answer. A namespace in which no job is on record is a warning,\n" +
			"so that doctor can be used before the first node starts.",
		Example: "  cronce doctor --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inspect(cmd, func(ctx context.Context, s inspector) error {
				d, unanswered := s.examine(ctx)
				if err := d.report(cmd.OutOrStdout(), output); err != nil {
					return err
				}
				if unanswered != nil { // a second answer shows whether the server refuses the user
					again := cmp.Or(s.probeRights(ctx), unanswered)
					return exit.Silently(exit.Code(exit.Doubt(again), true), again)
				}
				return d.fault()
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	command.OutputFlag(cmd, &output)
	return cmd
}

// A diagnosis has the findings of doctor.
type diagnosis struct {
	findings []redislock.Finding
	failed   bool  // a finding must be repaired
	denied   error // why a request was refused: the user has no right; nil if none was
}

func (d *diagnosis) add(findings ...redislock.Finding) {
	d.findings = append(d.findings, findings...)
	d.failed = d.failed || slices.ContainsFunc(findings, func(f redislock.Finding) bool { return f.Level == redislock.LevelRefuse })
}

// cannot adds a check that could not be made, with the reason; err may be nil.
func (d *diagnosis) cannot(f redislock.Finding, err error) {
	f.Level = redislock.LevelRefuse
	d.findings = append(d.findings, f)
	d.without(err)
}

// without counts a check that could not be made.
func (d *diagnosis) without(err error) {
	if err != nil && exit.RefusedByStore(err) {
		d.denied = err
	} else {
		d.failed = true
	}
}

// fault returns nil if no finding needs repair.
func (d *diagnosis) fault() error {
	switch {
	case d.failed:
		return exit.Printed(exit.Failed, "something must not stay as it is")
	case d.denied != nil:
		return exit.Printed(exit.Refused, "the user may not ask for a part of it")
	}
	return nil
}

// examine collects all findings. If the server does not answer, this is the only finding.
func (s inspector) examine(ctx context.Context) (*diagnosis, error) {
	d := &diagnosis{}
	findings, err := s.check(ctx)
	d.add(findings...)
	refuses := s.Client == nil && s.Driver.Refuses(err) // a Redis that is not fit counts as one that refuses
	if err != nil && (refuses || !errors.Is(err, lock.ErrUnfit)) {
		return d, err
	}
	answers := func(f redislock.Finding) bool {
		return f.Topic == redislock.TopicConnection && f.Level == redislock.LevelOK
	}
	if !slices.ContainsFunc(findings, answers) { // the server is of another kind, or accepts no scripts
		return d, nil
	}
	d.add(s.latency(ctx)...)
	if s.Client != nil {
		d.add(s.namespaces(ctx))
	}
	s.nodes(ctx, d)
	s.marks(ctx, d)
	s.overdue(ctx, d)
	return d, nil
}

const checkTimeout = 5 * time.Second

func (s inspector) check(ctx context.Context) ([]redislock.Finding, error) {
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	if s.Client != nil {
		return s.ExamineRedis(ctx)
	}
	return s.checkOther(ctx)
}

// report prints the findings.
func (d *diagnosis) report(w io.Writer, output string) error {
	if output == command.OutputJSON {
		return printFindingsJSON(w, d.findings)
	}
	return printFindings(w, d.findings)
}

func printFindings(w io.Writer, findings []redislock.Finding) error {
	p := terminal.NewStyle(w)
	// The first column is padded here, because tabwriter would count the colour codes as part of
	// its width.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s%s\t%s\n", p.Level(levelOf(f.Level), fmt.Sprintf("%-8s", f.Level)), f.Topic, terminal.Printable(f.Text))
		if f.Fix != "" {
			fmt.Fprintf(table, "%s\t  %s\n", p.Level(levelOf(f.Level), fmt.Sprintf("%-8s", "")), terminal.Printable(f.Fix))
		}
	}
	return table.Flush()
}

// levelOf returns the level of the log that is as urgent.
func levelOf(l redislock.Level) string {
	return map[redislock.Level]string{redislock.LevelOK: "info", redislock.LevelWarn: "warn", redislock.LevelRefuse: "error"}[l]
}

// A Finding is a finding of doctor, for machines.
type Finding struct {
	Level  string `json:"level"`
	Topic  string `json:"topic"`
	Server string `json:"server,omitempty"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

func printFindingsJSON(w io.Writer, findings []redislock.Finding) error {
	reports := make([]Finding, 0, len(findings))
	for _, f := range findings {
		reports = append(reports, Finding{f.Level.String(), f.Topic, f.Server, f.Text, f.Fix})
	}
	return terminal.PrintJSON(w, reports)
}
