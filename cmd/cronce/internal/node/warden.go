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

// runCommands runs the commands of jobs until the returned function is called, which waits until
// none is left.
func runCommands(r *jobexec.Runner, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background()) // not that of the node: a drain lets commands go on
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Run(ctx); err != nil {
			log.Error("commands not run", slog.String("err", err.Error()))
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
