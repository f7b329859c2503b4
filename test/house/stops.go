package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// module is the path of the library, and the beginning of the paths of all its packages.
const module = "github.com/cronce/cronce/"

// aims are the most functions that each action should run. They are printed and not enforced.
var aims = []struct {
	action string
	most   int
	does   string
}{
	{"tick", 180, "one tick, granted, run and ended, on the store in memory"},
	{"acquire", 60, "one uncontended acquisition and its release, on the store in memory"},
	{"order", 60, "one order, accepted by a simulated Redis and settled into SQLite"},
}

// stops prints how many functions, files and packages of this project run for each action, without tests and function
// literals. Each action runs once before the counters are reset, so that lazy construction is not counted.
func stops(ctx context.Context, w io.Writer, root string) error {
	folder, err := os.MkdirTemp("", "stops-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "actions")
	if _, err := output(ctx, root, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"...", "-o", binary, "./house/actions"); err != nil {
		return err
	}
	fmt.Fprintf(w, "%-8s %9s %5s %6s %8s\n", "action", "functions", "aim", "files", "packages")
	for _, a := range aims {
		counters := filepath.Join(folder, a.action)
		if err := os.Mkdir(counters, 0o700); err != nil {
			return err
		}
		if _, err := output(ctx, root, binary, a.action, counters); err != nil {
			return err
		}
		table, err := output(ctx, root, "go", "tool", "covdata", "func", "-i="+counters)
		if err != nil {
			return err
		}
		functions, files, packages := count(table)
		fmt.Fprintf(w, "%-8s %9d %5d %6d %8d  %s\n", a.action, functions, a.most, files, packages, a.does)
	}
	return nil
}

// count counts the functions of the library that ran, their files and packages, in a table of lines FILE:LINE: FUNCTION SHARE%. A
// function with a literal inside has several lines.
func count(table string) (functions, files, packages int) {
	ran, in, of := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for row := range strings.Lines(table) {
		fields := strings.Fields(row)
		if len(fields) != 3 || fields[2] == "0.0%" || !strings.HasPrefix(fields[0], module) || strings.HasPrefix(fields[0], module+"test/") {
			continue
		}
		file, _, _ := strings.Cut(fields[0], ":")
		ran[file+" "+fields[1]], in[file], of[path.Dir(file)] = true, true, true
	}
	return len(ran), len(in), len(of)
}

// output runs a program in the test module and returns its output. The error contains the output.
func output(ctx context.Context, root, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = filepath.Join(root, "test")
	var printed strings.Builder
	command.Stderr = &printed
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, &printed)
	}
	return string(out), nil
}
