package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

func doctorCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the store, and say what to do",
		Long: "Look at the Redis server (version, role, eviction, persistence, latency, clock), at the\n" +
			"namespaces that are in use, at the nodes (which live; which left within a day, and how), at jobs whose\n" +
			"marks lie in the future, and at what is overdue.\n\n" +
			"Exit code 1: something must not stay as it is. 3: the server refuses this user. 4: it does not answer.",
		Example: "  cronce doctor --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, s *store) error {
				findings, unanswered := s.examine(ctx)
				err := report(cmd.OutOrStdout(), findings, output)
				if unanswered != nil { // a second answer shows whether the server refuses the user
					again := cmp.Or(s.client.Ping(ctx).Err(), unanswered)
					return &codedError{err: again, code: exitCode(&doubtError{again}, true), silent: true}
				}
				return err
			})
		},
	}
	configFlags(cmd, storeOverrides)
	outputFlag(cmd, &output)
	return cmd
}

// examine gathers all findings. If nobody answers, that is the finding.
func (s *store) examine(ctx context.Context) ([]redislock.Finding, error) {
	findings, err := s.check(ctx)
	if err != nil && !errors.Is(err, lock.ErrUnfit) {
		return findings, err
	}
	findings = append(findings, s.latency(ctx)...)
	findings = append(findings, s.namespaces(ctx))
	findings = append(findings, s.nodes(ctx)...)
	findings = append(findings, s.marks(ctx)...)
	return append(findings, s.overdue(ctx)...), nil
}

const checkTimeout = 5 * time.Second

func (s *store) check(ctx context.Context) ([]redislock.Finding, error) {
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	return redislock.Check(ctx, s.client, s.config.checkOptions())
}

// report prints findings, and fails if one refuses.
func report(w io.Writer, findings []redislock.Finding, output string) error {
	refused := 0
	for _, f := range findings {
		if f.Level == redislock.Refuse {
			refused++
		}
	}
	show := printFindings
	if output == outputJSON {
		show = printFindingsJSON
	}
	if err := show(w, findings); err != nil {
		return err
	}
	if refused > 0 {
		return told(exitFailed, "something must not stay as it is")
	}
	return nil
}

func printFindings(w io.Writer, findings []redislock.Finding) error {
	p := newPainter(w)
	// The first column is padded here: what paints is no part of its width.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s%s\t%s\n", p.level(levelOf(f.Level), fmt.Sprintf("%-8s", f.Level)), f.Topic, printable(f.Text))
		if f.Fix != "" {
			fmt.Fprintf(table, "%s\t  %s\n", p.level(levelOf(f.Level), fmt.Sprintf("%-8s", "")), printable(f.Fix))
		}
	}
	return table.Flush()
}

// levelOf names the level of a log that looks as urgent.
func levelOf(l redislock.Level) string {
	return map[redislock.Level]string{redislock.OK: "info", redislock.Warn: "warn", redislock.Refuse: "error"}[l]
}

type findingReport struct {
	Level  string `json:"level"`
	Topic  string `json:"topic"`
	Server string `json:"server,omitempty"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

func printFindingsJSON(w io.Writer, findings []redislock.Finding) error {
	reports := make([]findingReport, 0, len(findings))
	for _, f := range findings {
		reports = append(reports, findingReport{f.Level.String(), f.Topic, f.Server, f.Text, f.Fix})
	}
	return printJSON(w, reports)
}
