// Command shop sells limited stock, sends text messages, and compares the ways to guard stock. It is an
// example that runs as a node of a cluster of cronce. See cmd/shop/README.md.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/childprocess"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/salecommands"
	"github.com/cronce/cronce/cmd/shop/internal/smscommands"
)

func main() {
	if code, ran := childprocess.Init(); ran {
		os.Exit(code)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program: it prints to stdout and stderr, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Execute(ctx, rootCommand, args, stdin, stdout, stderr)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "shop",
		Short: "Sell limited stock from any number of processes",
		Long: "shop sells products over HTTP, and never more of them than there are, from as many processes as are\n" +
			"started; it sends text messages; and it shows which ways to guard stock oversell.\n\n" +
			"Start with:  shop oversell\n\n" + exit.Table,
	}
	root.AddCommand(salecommands.ServeCommand(), salecommands.RestoreCommand(), salecommands.ReconcileCommand(), smscommands.Command(), oversellCommand())
	return root
}
