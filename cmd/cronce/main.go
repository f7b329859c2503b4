// Command cronce runs cron jobs on N identical nodes, every tick on one of them, and proves it
// afterwards.
//
// Exit codes: 0 fine, 1 failed, overdue, or an invariant is broken, 2 wrong usage or configuration,
// 3 refused by state or right, 4 not known. The command lock exits with the code of the command
// that it ran.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/childprocess"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

func main() {
	if code, ran := childprocess.Init(); ran {
		os.Exit(code)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program: it prints to stdout and stderr, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	started := false
	root := rootCommand(&started)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	addCompletion(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.Fine
	}
	code, text := exit.Code(err, started), err.Error()
	if code == exit.WrongUsage {
		text = command.WithoutCredentials(text, args)
	}
	if !exit.IsPrinted(err) {
		printError(stderr, fmt.Sprintf("cronce: %s\n", terminal.PrintableText(bounded(text))))
	}
	return code
}

// errorTime is how long the process waits at its end for the reader of its error output.
const errorTime = 2 * time.Second

// printError writes a text, and waits at most errorTime, because w may be a pipe that is not read.
func printError(w io.Writer, text string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(w, text)
	}()
	select {
	case <-done:
	case <-time.After(errorTime):
	}
}

// maxErrorLine bounds one line of an error, in bytes: a parser may quote an argument of any length.
const maxErrorLine = 1000

// bounded cuts the long lines of a text.
func bounded(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > maxErrorLine {
			lines[i] = strings.ToValidUTF8(line[:maxErrorLine], "") + " …"
		}
	}
	return strings.Join(lines, "\n")
}
