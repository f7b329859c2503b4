package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

type verifyFlags struct {
	since  string
	job    string
	failOn string
	output string
}

// VerifyCommand returns the command verify.
func VerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove from the journal that every tick has one verdict",
		Long: "Read the journal of each job, compute from the recorded specs which ticks were due,\n" +
			"and account for each. With --config, check that runs of a job that must not overlap do not.\n\n" +
			"A tick that ran again on another node, because its node had died, counts as ran once, and as taken\n" +
			"over; ran more counts ticks that were granted again without permission. Manual runs, which operators request, are no\n" +
			"ticks: they are counted by their states, and each follows the request for it and never moves the mark.\n\n" +
			"A tick is overdue when it was due by the recorded specs, is past its deadline and 10 seconds, and has\n" +
			"no verdict; so is a run that its node has left. It is named with its age and the cause, even if all\n" +
			"nodes are dead, and with the risk of a store that may have lost it. Announce a planned stop with cronce pause.\n\n" +
			"Exit code 1: an invariant is broken, a tick is overdue, or, with --fail-on failed, a tick has failed.\n" +
			"A job is stuck if ticks are skipped because of a run that is too old, and starved if no tick has ended ok for too long.\n" +
			"3: the user may not read a part of the store. 4: the store does not answer, a part of it cannot be read,\n" +
			"lines from the requested time are gone from the journal, or no job is on record at all: none was opened\n" +
			"in the namespace, or the store lost its data. A job that was opened after --since has no older lines that could be gone:\n" +
			"it is proven from its opening on, and a note reports this.",
		Example: "  cronce verify --since 1h\n  cronce verify --job sendSms -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := f.begin(time.Now()); unreadable(err) != nil {
				return err
			}
			return inspect(cmd, func(ctx context.Context, s inspector) error { return f.run(ctx, cmd.OutOrStdout(), s) })
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().StringVar(&f.since, "since", "", "count ticks from here on: a duration before now (1h), or RFC 3339 (default: the beginning of the proof)")
	cmd.Flags().StringVar(&f.job, "job", "", "only this job")
	cmd.Flags().Var((*failOnValue)(&f.failOn), "fail-on", "failed: exit with 1 too if the last attempt of a tick has failed, or a job is stuck or starved")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

// A failOnValue selects outcomes that make verify fail, besides violations.
type failOnValue string

const failOnFailed = "failed"

func (v *failOnValue) String() string { return string(*v) }
func (v *failOnValue) Type() string   { return "outcome" }

func (v *failOnValue) Set(s string) error {
	if s != failOnFailed {
		return fmt.Errorf("is %s, must be %s", strictyaml.Quote(s), failOnFailed)
	}
	*v = failOnValue(s)
	return nil
}

// begin returns the instant from which on ticks are counted; zero: from the beginning of the proof.
func (f verifyFlags) begin(now time.Time) (time.Time, error) {
	since, err := sinceWhen(f.since, now)
	if err != nil {
		return since, exit.Usagef("verify: --since %w", err)
	}
	return since, nil
}

func (f verifyFlags) run(ctx context.Context, w io.Writer, s inspector) error {
	p, err := s.prove(ctx, f)
	if err != nil {
		return err
	}
	fault := p.fault(f.failOn)
	p.OK = fault == nil // readers of the JSON need not know the exit code
	if len(p.Overdue) > 0 {
		p.risk(s.risks(ctx))
	}
	if f.output == command.OutputJSON {
		err = terminal.PrintJSON(w, p)
	} else {
		err = printProof(w, p)
	}
	if err != nil {
		return err
	}
	return fault
}

// A Proof is the result of verify.
type Proof struct {
	OK        bool              `json:"ok"`
	Namespace string            `json:"namespace"`
	Since     time.Time         `json:"since,omitzero"`
	Now       time.Time         `json:"now"` // the store's clock
	Remarks   []string          `json:"remarks,omitempty"`
	Overdue   []ops.OverdueTick `json:"overdue,omitempty"`
	Stalled   []ops.Need        `json:"stalled,omitempty"` // jobs that are stuck or starved
	Living    int               `json:"nodes"`             // live nodes; 0 too if they are not known, as Faults report
	Faults    []string          `json:"faults,omitempty"`
	verify.Summary

	// Audit has the faults in the numbers of the audit of operators' changes.
	Audit []verify.Violation `json:"audit,omitempty"`

	unread map[string]error // jobs that were not read completely, with the reason
	absent map[string]bool  // jobs of the configuration that the store does not have
	doubts []error          // the errors in Faults
}

// doubt adds the reason why the proof does not reach every job.
func (p *Proof) doubt(text string, err error) {
	p.Faults, p.doubts = append(p.Faults, text+err.Error()), append(p.doubts, err)
}

// prove checks the journals of the namespace.
func (s inspector) prove(ctx context.Context, f verifyFlags) (*Proof, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	since, err := f.begin(now)
	if err != nil {
		return nil, err
	}
	nodes, err := s.readNodes(ctx)
	p := &Proof{Namespace: s.Config.Namespace, Since: since, Now: now.UTC(), Living: nodes.Alive()}
	if err != nil {
		p.doubt("which nodes live is not known: ", err)
	}
	if err := s.proveJobs(ctx, f.job, p, nodes); err != nil {
		return nil, err
	}
	p.Remarks = append(p.Remarks, openedSince(p.Jobs, since)...)
	if len(p.Jobs) == 0 {
		p.Remarks = append(p.Remarks, s.NoRecord().Error())
	}
	return p, nil
}

// proveJobs checks all jobs, or only one. While nodes are alive, it reads a job with an overdue
// tick a second time.
func (s inspector) proveJobs(ctx context.Context, only string, p *Proof, f *ops.NodeList) error {
	jobs, err := s.Jobs(ctx, only)
	missing := missingJobs(s.Config, jobs, only)
	switch {
	case err == nil:
	case only != "" && len(missing) > 0 && len(jobs) == 0 && exit.Code(err, true) == exit.WrongUsage: // the configuration has the job
	case len(jobs) == 0:
		return err
	default:
		p.doubt("not all jobs are known: ", err)
		missing = nil
	}
	audit, err := s.Front().Audit(ctx, "", 0) // read before the journals, which then have a line for each record
	if err != nil {
		p.doubt("the changes by operators are not known: ", err)
	}
	p.Audit = verify.Gaps(audit)
	exclusive := exclusiveJobs(s.Config)
	seen := make([]jobProof, len(jobs))
	look := func(i int) {
		o := verify.Options{Since: p.Since, Audit: audit, Exclusive: exclusive[jobs[i]]}
		seen[i] = s.proveJob(ctx, jobs[i], o, f)
	}
	again := false
	for i := range jobs {
		look(i)
		again = again || len(seen[i].late) > 0
	}
	if again && f.MayDecide() && wait.Sleep(ctx, ops.SecondProbe) == nil {
		for i := range jobs {
			if len(seen[i].late) > 0 {
				look(i)
			}
		}
	}
	p.absent = map[string]bool{}
	for _, job := range missing {
		p.absent[job] = true
		jobs, seen = append(jobs, job), append(seen, jobProof{report: verify.Report{Job: job, Faults: []string{neverOpened}}})
	}
	p.sum(jobs, seen)
	return nil
}

// neverOpened is the fault of a job of the configuration that the store does not have.
const neverOpened = "it is in the configuration, and not on record: no node has opened it, or the store lost it"

// missingJobs returns the jobs of the configuration, or the requested one, that the store does not
// have. If the store has no job at all, it returns none.
func missingJobs(c *config.Config, jobs []string, only string) (names []string) {
	if len(c.Jobs) == 0 {
		return nil
	}
	settings, _, _ := node.DryRun(c) // nodes report its faults
	for i := range settings.Jobs {
		name := settings.Jobs[i].Name
		if len(jobs) > 0 && only == "" && !slices.Contains(jobs, name) || only == name && len(jobs) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// sum adds the results of the jobs up.
func (p *Proof) sum(jobs []string, seen []jobProof) {
	reports := make([]verify.Report, len(seen))
	p.unread = map[string]error{}
	for i, job := range jobs {
		reports[i] = seen[i].report
		p.Overdue = append(p.Overdue, seen[i].late...)
		if n := seen[i].stalled; n.Job != "" {
			p.Stalled = append(p.Stalled, n)
		}
		switch {
		case seen[i].removed:
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s: was removed from every node that had it, and is not overdue: a node retires it within half an hour", job))
		case seen[i].retired:
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s: is retired, so that no tick of it is overdue", job))
		case seen[i].paused:
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s: is paused, so that no tick of it is overdue; cronce resume %s ends that", job, job))
		}
		if seen[i].err != nil {
			p.unread[job] = seen[i].err
		}
	}
	p.Summary = verify.Sum(reports...)
}

// A jobProof is the result for one job.
type jobProof struct {
	report  verify.Report
	late    []ops.OverdueTick
	stalled ops.Need // without a job: it is not stalled
	paused  bool
	retired bool
	removed bool
	err     error // why the journal or the state could not be read
}

// proveJob judges a journal by the state, and the store's time, that were read after it. Data that
// cannot be read is a fault of this job alone.
func (s inspector) proveJob(ctx context.Context, job string, o verify.Options, f *ops.NodeList) jobProof {
	journal, err := s.Front().Journal(ctx, job, 0)
	if err == nil {
		o.State = &s.Front().ReadSeries(ctx, []string{job})[0]
		err = o.State.Err
	}
	if err != nil {
		return jobProof{report: verify.Report{Job: job, Faults: []string{err.Error()}}, err: err}
	}
	r, late := ops.Judge(journal, o.State, o, f)
	proof := jobProof{report: r, late: late, retired: o.State.Retired(), paused: o.State.Paused && o.State.Mark != 0}
	if proof.removed = !o.State.Paused && f.Removed(&journal, o.State); !proof.removed {
		proof.stalled = ops.StallOf(&journal, o.State).Need(job, time.UnixMilli(o.State.Now))
	}
	return proof
}

// denied returns the refusal of the store to read a part of it, or nil if there was none.
func (p *Proof) denied() error {
	for _, err := range slices.Concat(p.doubts, slices.Collect(maps.Values(p.unread))) {
		if exit.RefusedByStore(err) {
			return err
		}
	}
	return nil
}

// known reports whether all data could be read.
func (p *Proof) known() bool { return p.Summary.OK() && len(p.Faults) == 0 }

// openedSince reports the jobs that were opened after since. That is normal after a deployment, so
// it is no fault. But a job that was opened again because the store lost all its data looks the
// same, so verify mentions it.
func openedSince(reports []verify.Report, since time.Time) (remarks []string) {
	for i := range reports {
		r := &reports[i]
		if !since.IsZero() && r.Complete && r.Begins.After(since) {
			remarks = append(remarks, fmt.Sprintf("%s: proven since %s, when it was opened; nothing is known before",
				r.Job, r.Begins.Format(time.RFC3339)))
		}
	}
	return remarks
}

// sinceWhen parses a duration before now, or an instant.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, _ := time.ParseDuration(text); d > 0 {
		return now.Add(-d).UTC(), nil
	}
	t, err := command.ParseTime(text, time.UTC)
	if err == nil && t.After(now) {
		err = errNotPassed
	}
	if err != nil {
		return time.Time{}, exit.Usage(&whenError{text: text, now: now, err: err})
	}
	return t.UTC(), nil
}

// errNotPassed is the error of a time that only the clock of the store can judge.
var errNotPassed = errors.New("has not passed")

// A whenError is the error of a text that is not a past time.
type whenError struct {
	text string
	now  time.Time
	err  error
}

func (e *whenError) Error() string {
	return fmt.Sprintf("is %s, must be a duration such as 1h, or a time that has passed, such as %s",
		strictyaml.Quote(e.text), e.now.Add(-time.Hour).UTC().Format(time.RFC3339))
}

func (e *whenError) Unwrap() error { return e.err }

// unreadable returns the error of a flag, unless the clock of the store must judge it.
func unreadable(err error) error {
	if errors.Is(err, errNotPassed) {
		return nil
	}
	return err
}

// exclusiveJobs returns the jobs of the file whose runs must not overlap. Without a file there are
// none.
func exclusiveJobs(c *config.Config) map[string]bool {
	jobs := map[string]bool{}
	if len(c.Jobs) == 0 {
		return jobs
	}
	settings, _, _ := node.DryRun(c) // nodes report its faults
	for i := range settings.Jobs {
		j := &settings.Jobs[i]
		jobs[j.Name] = j.Overlap != scheduler.OverlapAllow
	}
	return jobs
}

// fault returns nil if every invariant holds, back to the requested time, and no tick is overdue.
func (p *Proof) fault(failOn string) error {
	switch {
	case !p.Sound() || len(p.Audit) > 0:
		return exit.Printed(exit.Failed, "an invariant is broken, or a tick is overdue")
	case failOn == failOnFailed && p.Total.Failed > 0:
		return exit.Printed(exit.Failed, "ticks have failed")
	case failOn == failOnFailed && len(p.Stalled) > 0:
		return exit.Printed(exit.Failed, "a job is stuck or starved")
	case len(p.Jobs) == 0:
		return exit.Doubt(fmt.Errorf("verify: %s", p.Remarks[len(p.Remarks)-1]))
	case p.denied() != nil:
		return exit.Printed(exit.Refused, "the user may not read a part of the store")
	case !p.known():
		return exit.Printed(exit.NotKnown, "a part of the store cannot be read")
	case p.Total.TooEarly:
		return exit.Doubt(fmt.Errorf("verify: asked for ticks since %s, but older lines of the journal are gone and the proof begins later: --since %s",
			p.Since.Format(time.RFC3339), p.Total.Begins.Add(time.Second).Format(time.RFC3339)))
	}
	return nil
}
