package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

type verifyFlags struct {
	since  string
	job    string
	output string
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove from the journal that every tick has one verdict",
		Long: "Read the journal of each job, compute from the recorded specs which ticks were due,\n" +
			"and account for each. With --config, runs of a job that may not overlap are held to that.\n\n" +
			"A tick that ran again elsewhere, since its node had died, counts as ran once, and as taken\n" +
			"over; ran more are ticks that were granted again without a right to it.\n\n" +
			"Exit code 1: an invariant is broken. 2: asked for a time whose lines are gone from the\n" +
			"journal. A job that was opened after --since has no older lines that could be gone: it is\n" +
			"proven since then, and a note says so.",
		Example: "  cronce verify --since 1h\n  cronce verify --job sendSms -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, s *store) error { return f.run(ctx, cmd.OutOrStdout(), s) })
		},
	}
	configFlags(cmd, storeOverrides)
	cmd.Flags().StringVar(&f.since, "since", "", "count ticks from here on: how long ago (1h), or RFC 3339 (default: where the proof begins)")
	cmd.Flags().StringVar(&f.job, "job", "", "only this job")
	outputFlag(cmd, &f.output)
	return cmd
}

func (f verifyFlags) run(ctx context.Context, w io.Writer, s *store) error {
	p, err := s.prove(ctx, f)
	if err != nil {
		return err
	}
	if f.output == outputJSON {
		err = printJSON(w, p)
	} else {
		err = printProof(w, p)
	}
	if err != nil {
		return err
	}
	return p.fault()
}

// A proof is what verify found out.
type proof struct {
	OK        bool      `json:"ok"`
	Namespace string    `json:"namespace"`
	Since     time.Time `json:"since,omitzero"`
	Now       time.Time `json:"now"` // the store's
	Remarks   []string  `json:"remarks,omitempty"`
	verify.Summary
}

// prove checks the journals of the namespace.
func (s *store) prove(ctx context.Context, f verifyFlags) (*proof, error) {
	now, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	since, err := sinceWhen(f.since, now)
	if err != nil {
		return nil, usagef("verify: --since %w", err)
	}
	reports, err := s.proveJobs(ctx, f.job, since)
	if err != nil {
		return nil, err
	}
	p := &proof{Namespace: s.config.Namespace, Since: since, Now: now.UTC(), Summary: verify.Sum(reports...)}
	p.OK, p.Remarks = p.Summary.OK(), younger(reports, since)
	return p, nil
}

// proveJobs checks all jobs, or only one.
func (s *store) proveJobs(ctx context.Context, only string, since time.Time) ([]verify.Report, error) {
	jobs, err := s.jobs(ctx, only)
	if err != nil {
		return nil, err
	}
	exclusive := s.config.exclusive()
	var reports []verify.Report
	for _, job := range jobs {
		r, err := s.proveJob(ctx, job, verify.Options{Since: since, Exclusive: exclusive[job]})
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// proveJob judges a journal by the store's time after it was read.
func (s *store) proveJob(ctx context.Context, job string, o verify.Options) (verify.Report, error) {
	journal, err := s.driver.Journal(ctx, job, 0)
	if err != nil {
		return verify.Report{}, s.failed(err)
	}
	o.Now, err = s.now(ctx)
	return verify.Job(journal, o), err
}

// younger tells of the jobs that were opened after since. That is normal after a
// deployment, and so is no fault. But a job that was opened again because the store
// lost everything looks the same, so it is said.
func younger(reports []verify.Report, since time.Time) (remarks []string) {
	for i := range reports {
		r := &reports[i]
		if !since.IsZero() && r.Complete && r.Begins.After(since) {
			remarks = append(remarks, fmt.Sprintf("%s: proven since %s, when it was opened; nothing is known before",
				r.Job, r.Begins.Format(time.RFC3339)))
		}
	}
	return remarks
}

// sinceWhen reads how long ago, or an instant.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d).UTC(), nil
	}
	t, err := parseInstant(text, time.UTC)
	if err != nil || t.After(now) {
		return time.Time{}, usagef("is %s, allowed is a duration such as 1h, or a time that has passed, such as %s",
			shorten(text), now.Add(-time.Hour).UTC().Format(time.RFC3339))
	}
	return t.UTC(), nil
}

// exclusive are the jobs of the file whose runs must not overlap. Without a file
// nobody says so.
func (c *config) exclusive() map[string]bool {
	jobs := map[string]bool{}
	if len(c.Jobs) == 0 {
		return jobs
	}
	settings, _ := c.dryRun() // its faults are the nodes' concern
	for i := range settings.Jobs {
		j := &settings.Jobs[i]
		jobs[j.Name] = j.Overlap != scheduler.OverlapAllow
	}
	return jobs
}

// fault is nil if every invariant holds as far back as was asked for.
func (p *proof) fault() error {
	switch {
	case !p.OK:
		return &brokenError{"an invariant is broken"}
	case len(p.Jobs) == 0:
		return usagef("verify: namespace %q has no jobs", p.Namespace)
	case p.Total.TooEarly:
		return usagef("verify: asked for ticks since %s, but older lines of the journal are gone and the proof begins later: --since %s",
			p.Since.Format(time.RFC3339), p.Total.Begins.Add(time.Second).Format(time.RFC3339))
	}
	return nil
}
