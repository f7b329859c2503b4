package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/control"
	"github.com/cronce/cronce/cmd/cronce/internal/inspect"
	"github.com/cronce/cronce/cmd/cronce/internal/lockcommand"
	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/cronce/internal/opscommands"
	"github.com/cronce/cronce/cmd/internal/exit"
)

// rootCommand builds the tree of commands.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cronce",
		Short: "Run cron jobs on N identical nodes, every tick on one of them",
		Long: "cronce runs cron jobs on N identical nodes, every tick on one of them, and proves it.\n\n" +
			"Start with:  cronce demo\n\n" + exit.Table,
	}
	root.RunE = versionOrHelp
	root.Flags().BoolP("version", "v", false, "print the version")
	why, pause, resume, retire := inspect.WhyCommand(), control.PauseCommand(), control.ResumeCommand(), control.RetireCommand()
	run, cancel, skip, backfill := control.RunCommand(), control.CancelCommand(), control.SkipCommand(), control.BackfillCommand()
	opscommands.CompleteJobs(why, pause, resume, run, cancel, skip, backfill, retire)
	nodes, status := node.Command(), opscommands.StatusCommand()
	nodes.AddCommand(healthCommand())
	status.AddCommand(inspect.OverdueCommand())
	group(root, "Start:", configCommand(), demoCommand(), lockcommand.Command(), nextCommand(), nodes, opscommands.OpsCommand())
	group(root, "See:", control.AuditCommand(), opscommands.RunsCommand(), status, why)
	group(root, "Steer:", backfill, cancel, pause, resume, retire, run, skip)
	group(root, "Check:", inspect.DoctorCommand(), control.MigrateCommand(), inspect.VerifyCommand())
	root.AddCommand(node.WardenCommand())
	return root
}

// versionOrHelp runs the program without a command. The version is no field of the command: cobra would print it for an unknown command, too.
func versionOrHelp(cmd *cobra.Command, _ []string) error {
	if asked, err := cmd.Flags().GetBool("version"); err != nil || !asked {
		return cmd.Help()
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "cronce %s\n", version())
	return err
}

// group adds commands below a title of the help.
func group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}
