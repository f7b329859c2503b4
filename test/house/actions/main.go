// Command actions does one thing after everything that it needs was built and used once, and writes the coverage counters of
// that thing alone. It must be built with -cover -covermode=atomic. The command house runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"time"
)

// Actions by name. Each calls measure once.
var actions = map[string]func(ctx context.Context, measure measure) error{"tick": tick, "acquire": acquire, "order": order}

// A measure calls f between the reset of the counters and the moment at which they are written.
type measure func(f func() error) error

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "actions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 || actions[args[0]] == nil {
		return errors.New("usage: actions NAME FOLDER")
	}
	measured := 0
	err := actions[args[0]](ctx, func(f func() error) error {
		measured++
		return covered(args[1], f)
	})
	if err == nil && measured != 1 {
		err = fmt.Errorf("%s: measured %d times, want once", args[0], measured)
	}
	return err
}

func covered(folder string, f func() error) error {
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return errors.Join(coverage.WriteCountersDir(folder), coverage.WriteMetaDir(folder))
}
