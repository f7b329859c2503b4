package node

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	jobexec "github.com/cronce/cronce/jobs/exec"
)

// wardenCommand is the name of the command that a node starts to run the commands of its jobs.
const wardenCommand = "warden"

// WardenCommand is the command of the process that runs the commands of a node.
func WardenCommand() *cobra.Command {
	return &cobra.Command{
		Use: wardenCommand, Hidden: true, Args: cobra.NoArgs,
		Short: "Run the commands of a node, which starts this by itself",
		RunE:  func(*cobra.Command, []string) error { return jobexec.Warden() },
	}
}

func newRunner(log *slog.Logger) (*jobexec.Runner, error) {
	return jobexec.New(jobexec.Config{Warden: []string{wardenCommand}, Logger: log})
}

// commands are the running commands of jobs. Start and stop are not for concurrent use.
type commands struct {
	runner *jobexec.Runner
	log    *slog.Logger
	cancel context.CancelFunc // nil: they were not started
	ended  chan struct{}
}

// start lets commands be run, unless it was called before.
func (c *commands) start() {
	if c.cancel != nil {
		return
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background()) // not that of the node: a drain lets commands go on
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		if err := c.runner.Run(ctx); err != nil {
			c.log.Error("commands not run", slog.String("err", err.Error()))
		}
	}()
}

// stop ends the commands and waits until none is left.
func (c *commands) stop() {
	if c.cancel != nil {
		c.cancel()
		<-c.ended
	}
}
