package main

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/control"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/importcommand"
	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/cronce/internal/lockcommand"
	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/cronce/internal/opscommands"
	"github.com/cronce/cronce/cmd/cronce/internal/shopcommands"
	"github.com/cronce/cronce/cmd/cronce/internal/smscommands"
)

// rootCommand builds the tree of commands. It sets started once the flags and arguments of a
// command are accepted: an error before that is wrong usage.
func rootCommand(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:     "cronce",
		Version: version(),
		Short:   "Run cron jobs on N identical nodes, every tick on one of them",
		Long: "cronce runs cron jobs on N identical nodes, every tick on one of them, and proves it.\n\n" +
			"Start with:  cronce demo\n\n" + exit.Table,
		Args:                       cobra.ArbitraryArgs, // so that RunE names an unknown command
		RunE:                       command.UnknownBelow,
		SuggestionsMinimumDistance: 2,
		SilenceErrors:              true,
		SilenceUsage:               true,
		PersistentPreRun:           func(*cobra.Command, []string) { *started = true },
	}
	root.SetVersionTemplate("cronce {{.Version}}\n")
	why, pause, resume, retire := inspect.WhyCommand(), control.PauseCommand(), control.ResumeCommand(), control.RetireCommand()
	opscommands.CompleteJobs(why, pause, resume, retire)
	nodes, status := node.Command(), opscommands.StatusCommand()
	nodes.AddCommand(healthCommand())
	status.AddCommand(inspect.OverdueCommand())
	root.AddCommand(demoCommand(), configCommand(), importcommand.Command(), nextCommand(), nodes, lockcommand.Command(), control.MigrateCommand(), inspect.DoctorCommand(),
		status, opscommands.RunsCommand(), why, inspect.VerifyCommand(), pause, resume, retire, control.AuditCommand(), opscommands.OpsCommand(),
		smscommands.Command(), shopcommands.Command(), oversellCommand(), node.WardenCommand())
	return root
}

// addCompletion adds the completion command that root would add itself once its output is set. The
// default command prints its help for an unknown shell and exits with 0; this one fails.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = command.UnknownBelow
	}
}
