// Package control has the commands with which an operator controls the jobs of a namespace, pause,
// resume, retire and migrate, and the audit of these changes.
package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A pauseFlags holds the flags of pause, resume and retire.
type pauseFlags struct {
	many        bool // several jobs may be named
	all, yes    bool
	replace     bool
	reason, who string
	until, op   string
}

// PauseCommand returns the command pause.
func PauseCommand() *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "pause <job or pattern>|--all --reason <text>",
		Short: "Stop the starts of a job, and record its ticks as paused",
		Long: "Stop a job from starting, takeovers included. Runs in progress continue. The ticks of the pause are recorded as\n" +
			"paused and are not overdue. The pause begins when it is made: ticks that were due before, and that no node has\n" +
			"decided, are recorded as missed. Pause a job before a planned stop. The command works without a live node.\n\n" +
			"With --until the pause ends by itself: a tick up to that instant is paused however late a node claims it, and a\n" +
			"later one runs as usual. No node has to be alive at that instant.\n\n" +
			"The store keeps the reason, the name of the caller and the time: see cronce audit, and cronce why. If the reply is\n" +
			"lost, the command prints the operation. Repeat the command with it: the pause is then made once, with the end of the\n" +
			"first request, and not at all if another change of the job was made since.\n\n" +
			several +
			"Exit code 3: the job changed at the same time, or is paused for a shorter time, or the user may not write; 4: it is not\n" +
			"known whether the job is paused, or the store has no job on record.",
		Example: "  cronce pause sendSms --reason 'gateway is moved' --until +8h\n  cronce pause 'report.*' --reason 'wrong data'\n  cronce pause --all --reason 'maintenance of the database' --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.reason == "" {
				return exit.Usagef("pause: --reason is missing")
			}
			return f.run(cmd, args, series.ActionPause)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.until, "until", "", "the last instant that is paused: +8h from now, RFC 3339, or a local time in UTC (default: until cronce resume)")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a pause that ends earlier")
	return cmd
}

// ResumeCommand returns the command resume.
func ResumeCommand() *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "resume <job or pattern>|--all",
		Short: "End the pause of a job",
		Long: "End the pause, or the retirement, of a job. Its ticks up to now are recorded as paused: none of them runs. Later\n" +
			"ticks run as usual, and are overdue if no node runs them. The command says so if no live node has the job, and does not\n" +
			"end the retirement of such a job: a node that opens it does.\n\n" +
			several +
			"Exit code 3: the job changed at the same time, or is retired and no live node has it, or the user may not write; 4: it\n" +
			"is not known whether the pause has ended, or the store has no job on record.",
		Example: "  cronce resume sendSms\n  cronce resume --all --reason 'the database is back'",
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, series.ActionResume) },
	}
	f.flags(cmd)
	return cmd
}

func (f *pauseFlags) flags(cmd *cobra.Command) {
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&f.all, "all", false, "all jobs of the namespace")
	f.many = true
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "on a terminal, do not ask before several jobs are changed")
	f.intent(cmd)
}

// intent adds the flags of each change: the name of the caller, and the reason.
func (f *pauseFlags) intent(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "the reason: 3 to 500 characters")
	cmd.Flags().StringVar(&f.who, "who", "", "the name of the caller (default: the user of this machine)")
	cmd.Flags().StringVar(&f.op, "op", "", "the operation that an earlier request printed: it is not done twice (default: a new one)")
}

// invalid returns the error of a command whose request no store accepts. It names the flag with the value.
func invalid(cmd *cobra.Command, err error) error {
	bad, ok := errors.AsType[*driver.ArgumentError](err)
	if !ok {
		return exit.Usagef("%s: %w", cmd.Name(), err)
	}
	name := bad.Argument
	if cmd.Flags().Lookup(name) != nil {
		name = "--" + name
	}
	return exit.Usagef("%s: %s is %s, must be %s", cmd.Name(), name, bad.Value, bad.Allowed)
}

// run pauses, resumes or retires the named job, or all jobs.
func (f *pauseFlags) run(cmd *cobra.Command, args []string, action series.Action) error {
	if len(args) > 1 || f.all == (len(args) == 1) {
		return exit.Usagef("%s: got %s and --all is %v, want the name of one job, a pattern, or --all", cmd.Name(), terminal.Plural(len(args), "argument"), f.all)
	}
	if !f.all {
		if err := command.CheckJob(cmd.Name(), args[0]); err != nil {
			return err
		}
	}
	c := f.request(action)
	if err := c.Check(); err != nil {
		return invalid(cmd, err)
	}
	if _, err := untilWhen(f.until, time.Now()); err != nil {
		return err
	}
	if _, carries := readOp(f.op); carries && (f.all || f.many && isPattern(args[0])) {
		return exit.Usagef("%s: --op is %s, an operation on one job: name the job in place of --all or a pattern", cmd.Name(), f.op)
	}
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		jobs, err := f.selected(ctx, s, args)
		if err != nil {
			return f.unread(err)
		}
		if err := f.end(ctx, s, &c); err != nil {
			return f.unread(err)
		}
		if yes, err := f.confirmed(ctx, cmd, jobs); err != nil || !yes {
			return err
		}
		var errs []error
		for _, job := range jobs {
			c.Key = job
			if action == series.ActionRetire {
				errs = append(errs, f.retire(ctx, s, cmd.OutOrStdout(), c))
				continue
			}
			errs = append(errs, f.change(ctx, s, cmd.OutOrStdout(), c))
		}
		return errors.Join(errs...)
	})
}

// request returns the request without its job and without the end of a pause.
func (f *pauseFlags) request(action series.Action) series.Control {
	return series.Control{Key: "job", Action: action, Op: cmp.Or(f.op, newOp()), Who: command.Caller(f.who), Reason: f.reason}
}

// end sets the end of a pause in its request.
func (f *pauseFlags) end(ctx context.Context, s *clients.Store, c *series.Control) error {
	if op, carries := readOp(f.op); carries {
		c.Until = op.at
	} else if f.until != "" {
		now, err := s.Now(ctx)
		if err != nil {
			return err
		}
		until, err := untilWhen(f.until, now)
		if err != nil {
			return err
		}
		c.Until = until.UnixMilli()
	}
	return exit.Usage(c.Check())
}

// untilWhen parses a duration from now, or an instant in the future.
func untilWhen(text string, now time.Time) (until time.Time, err error) {
	if text == "" {
		return until, nil
	}
	if d := relative(text); d > 0 {
		return now.Add(d).UTC(), nil
	}
	until, err = command.ParseTime(text, time.UTC)
	if err != nil {
		return until, exit.Usagef("--until %w, or how long from now (+8h), up to 2562047h", err)
	}
	if !until.After(now) {
		return until, exit.Usagef("--until is %s, must be to come: it is %s", until.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return until.UTC(), nil
}

// relative returns the duration from now that gives an end; 0 or less: none does.
func relative(until string) time.Duration {
	d, _ := time.ParseDuration(strings.TrimPrefix(until, "+"))
	return d
}

// change pauses or resumes a job, unless that is its state already. A repeated operation stands for
// the first request, with the end and the state on which that was decided.
func (f *pauseFlags) change(ctx context.Context, s *clients.Store, w io.Writer, c series.Control) error {
	old := s.Front().ReadSeries(ctx, []string{c.Key})[0]
	a, done, err := f.requestChange(ctx, s, w, &old, &c)
	if err != nil || done {
		return err
	}
	f.print(ctx, s, w, &c, &old, &a)
	return nil
}

// unread returns the error of a store that was not read. An earlier request with --op may have been done.
func (f *pauseFlags) unread(err error) error {
	if f.op == "" || exit.Code(err, true) != exit.NotKnown {
		return err
	}
	return fmt.Errorf("whether it was done is not known: repeat the command with --op %s: %w", f.op, err)
}

// requestChange requests a change that was decided on the state of a job, or on the state in the operation.
// Done reports that there is nothing more to print: the job is in that state already, or the
// operation was done before, and another change was made since.
func (f *pauseFlags) requestChange(ctx context.Context, s *clients.Store, w io.Writer, old *series.Series, c *series.Control) (a ops.Change, done bool, err error) {
	r := ops.Request{Control: *c, Relative: relative(f.until) > 0, Replace: f.replace}
	a, done, err = f.send(ctx, s, w, old, &r)
	*c = a.Request
	return a, done, err
}

// send sends a request as the operation that the command names, or as a new one.
func (f *pauseFlags) send(ctx context.Context, s *clients.Store, w io.Writer, old *series.Series, r *ops.Request) (a ops.Change, done bool, err error) {
	r.Seen, r.Named = series.AnySeen, f.op != ""
	if op, carries := readOp(f.op); carries {
		r.Seen, r.Decided = op.seen, true
	} else if f.op == "" {
		r.Op = operation{r.Op, old.Change, cmp.Or(r.Number, r.Until)}.String()
	}
	a = ops.NewController(s.Front()).Make(ctx, old, *r)
	switch a.Outcome {
	case ops.ChangeFailed:
		return a, false, s.Failed(a.Err)
	case ops.ChangeDoubt:
		return a, false, s.Failed(fmt.Errorf("%s: repeat the command for this job with --op %s: %w", a.Text, a.Request.Op, a.Err))
	case ops.ChangeRefused:
		return a, false, exit.With(exit.Refused, errors.New(a.Text+hint(&a)))
	case ops.ChangeStands, ops.ChangeDated:
		fmt.Fprintln(w, terminal.Printable(a.Text))
		return a, true, nil
	}
	return a, false, nil
}

// hint returns the flag with which a refused request is made.
func hint(a *ops.Change) string {
	switch a.Refusal {
	case series.RefusedPaused:
		return ": to run it in the pause give --while-paused"
	case series.RefusedAlive:
		if a.Request.Action == series.ActionRun {
			return ": to wait for its end give --queue"
		}
	case ops.RefusedRetired:
		return ": to take the place of that give --replace"
	case ops.RefusedShorter:
		return ": to take the place of that pause give --replace"
	}
	return ""
}

// print prints the change, and its effect on the ticks.
func (f *pauseFlags) print(ctx context.Context, s *clients.Store, w io.Writer, c *series.Control, old *series.Series, a *ops.Change) {
	now, job := &a.Series, terminal.Printable(c.Key)
	ticks := readTicks(ctx, s, c.Key)
	if c.Action == series.ActionResume {
		ended := "pause"
		if old.Retired() {
			ended = "retirement"
		}
		fmt.Fprintf(w, "%s is resumed: its %s ends, by %s, at %s%s\n", job, ended, terminal.Printable(c.Who), terminal.RFC3339(now.Now), because(c.Reason))
		ticks.print(w, "were", old.Mark, now.Mark)
		if a.Text != "" {
			fmt.Fprintf(w, "  %s\n", terminal.Printable(a.Text))
		}
		return
	}
	until := "on"
	if c.Until != 0 {
		until = "until " + terminal.RFC3339(c.Until)
	}
	fmt.Fprintf(w, "%s is paused, by %s, from %s %s: %s; runs that are alive and go on: %d\n",
		job, terminal.Printable(c.Who), terminal.RFC3339(now.Pause.Since), until, terminal.Printable(c.Reason), alive(now))
	ticks.missed(w, c, old, now)
	ticks.print(w, "will be", now.Mark, c.Until)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + terminal.Printable(reason)
}

// alive returns the number of runs that continue.
func alive(s *series.Series) (n int) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.State == series.RunOpen && s.Until(r) > s.Now {
			n++
		}
	}
	return n
}
