// Command cronce runs cron jobs on N identical nodes, every tick on one of them, and proves it
// afterwards.
//
// Exit codes: 0 fine, 1 failed, overdue, or an invariant is broken, 2 wrong usage or configuration,
// 3 refused by state or right, 4 not known. The command lock exits with the code of the command
// that it ran.
package main

import (
	"context"
	"io"
	"os"

	"github.com/cronce/cronce/cmd/internal/childprocess"
	"github.com/cronce/cronce/cmd/internal/command"
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
