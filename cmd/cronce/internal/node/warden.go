package node

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	jobexec "github.com/cronce/cronce/jobs/exec"
)

// wardenCommand is the name of the command with which a node starts the process that runs its jobs'
// commands.
const wardenCommand = "warden"

// WardenCommand returns the hidden command of the process that runs the commands of a node.
func WardenCommand() *cobra.Command {
	return &cobra.Command{
		Use: wardenCommand, Hidden: true, Args: cobra.NoArgs,
		Short: "Run the commands of a node; only the node starts this",
		RunE:  func(*cobra.Command, []string) error { return jobexec.Warden() },
	}
}

func newRunner(log *slog.Logger) (*jobexec.Runner, error) {
	return jobexec.New(jobexec.Config{Warden: []string{wardenCommand}, Logger: log})
}

// A commands runs the commands of jobs. Start and stop are not safe for concurrent use.
type commands struct {
	runner *jobexec.Runner
	log    *slog.Logger
	cancel context.CancelFunc // nil: not started
	ended  chan struct{}
}

// start starts the runner, unless it is started already.
func (c *commands) start() {
	if c.cancel != nil {
		return
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background()) // not the context of the node: commands continue during a drain
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
