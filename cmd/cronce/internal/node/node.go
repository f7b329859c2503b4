// Package node has the command node. It makes the jobs of a configuration, runs a node of the
// cluster with them, and serves the health of the node. [DryRun] checks a
// configuration without a connection.
package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/health"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/metrics"
)

// Flags are the flags of the command node besides the settings of the file. The zero value is for a
// node without flags.
type Flags struct {
	check       bool
	clockOffset time.Duration
	demo        bool
	again       *again // nil: the configuration is read once
}

// Command returns the command node.
func Command() *cobra.Command {
	var f Flags
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run a node: start N of them, and each tick runs on one",
		Long: "Run a node of the cluster until SIGTERM or SIGINT, then drain: running jobs have\n" +
			"scheduler.grace to end. A second signal, 0.1 s or more after the first, ends the process at once.\n\n" +
			"On SIGHUP, or when the configuration's files change, the node applies added, changed and removed\n" +
			"jobs; other settings need a restart. A file with a fault changes nothing. SIGHUP\n" +
			"drains a node whose standard input is a terminal, or whose configuration is a pipe. Under nohup it\n" +
			"does nothing.\n\n" +
			"Flags override the environment, and the environment overrides the file. Secrets come from\n" +
			"$" + config.PasswordEnv + ", or from the variables and files that the file names; --check\n" +
			"reads neither secrets nor certificates, so it does not check them.",
		Example: "  cronce node --config config.yaml\n  cronce node --config config.yaml --check",
		Args:    command.NoneBelow,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	command.ConfigFlags(cmd, config.NodeOverrides)
	cmd.Flags().BoolVar(&f.check, "check", false, "check the configuration and print the next ticks, without connecting")
	cmd.Flags().DurationVar(&f.clockOffset, "clock-offset", 0, "for tests: shift the time that this node reads from its machine; changes only a warning")
	cmd.Flags().BoolVar(&f.demo, "demo", false, "run the jobs of the demo, and drain when standard input ends")
	_ = cmd.Flags().MarkHidden("demo") // only for demo, whose nodes end with it
	return cmd
}

func (f Flags) run(cmd *cobra.Command) error {
	c, err := f.load(cmd)
	if err != nil {
		return err
	}
	if f.check {
		command.WarnOfVariables(cmd, c)
		return checkConfig(cmd.OutOrStdout(), c, time.Now())
	}
	ctx, stop := f.signals(cmd, c)
	defer stop()
	if f.demo {
		ctx, stop = endWith(ctx, cmd.InOrStdin())
		defer stop()
	}
	return Run(ctx, c, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// endWith returns a context that also ends when r does.
func endWith(ctx context.Context, r io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() { // ends with the process: a Read of standard input cannot be interrupted
		_, _ = io.Copy(io.Discard, r)
		stop()
	}()
	return ctx, stop
}

// Run runs a node until ctx ends. It serves its health from the beginning.
func Run(ctx context.Context, c *config.Config, f Flags, stdout, stderr io.Writer) error {
	command.OutlivePipes()
	log, flush := terminal.NewLogger(c.Log.Level, c.Log.Format, stderr)
	defer flush()
	c.OnPlaintext(func(path, text string) {
		log.Warn("secret in plain text", slog.String("setting", path), slog.String("text", text))
	})
	c.OnStale(func(err error) { log.Warn("secret not read again", slog.String("err", err.Error())) })
	if !f.demo { // in a demo the environment is meant for other nodes
		command.LogVariables(c, log)
	}
	store, err := clients.OpenForNode(ctx, c)
	if err != nil {
		return err
	}
	defer store.Close()
	if a := c.Address(); a.Default {
		log.Warn("store risk", slog.String("topic", "one host"), slog.String("text", "no store is configured: ticks are kept in "+a.File+", which other hosts cannot use"))
	}
	runner, err := newRunner(log)
	if err != nil {
		return err
	}
	with := resources{client: store.Client, out: stdout, demo: f.demo, runner: runner}
	node, measured, err := newNode(c, store, with, f, log)
	if err != nil {
		return err
	}
	log = log.With(slog.String("node", node.ID()))
	stale := newStale()
	served, err := health.Serve("http", c.HTTP, health.Handler(node.Ready, node.Remarks, metricsHandler(measured, stale)), "health served", log)
	if err != nil {
		return err
	}
	defer served.Stop()
	commands := &commands{runner: runner, log: log}
	defer commands.stop()
	if c.HasExec() {
		commands.start()
	}
	if f.again != nil {
		r := &reloader{again: *f.again, node: node, store: store.ForScheduler(), with: with, commands: commands.start, stale: stale, log: log, running: c, last: c}
		defer r.start(ctx)()
	}
	return node.Run(ctx)
}

// newNode returns a node of the configuration, and its metrics.
func newNode(c *config.Config, store *clients.Store, p resources, f Flags, log *slog.Logger) (*scheduler.Node, *metrics.Metrics, error) {
	measured := metrics.New()
	settings, faults := schedulerConfig(c, p)
	settings.Store, settings.Logger, settings.Observers, settings.ClockOffset = store.ForScheduler(), log, []scheduler.Observer{measured}, f.clockOffset
	node, err := scheduler.New(settings)
	if err = errors.Join(faults, err); err == nil {
		err = node.Remove(disabled(c, settings.Jobs)...)
	}
	if err != nil {
		return nil, nil, command.ConfigError(c.Locate(err))
	}
	return node, measured, nil
}
