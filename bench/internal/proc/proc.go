// Package proc runs measurements in processes of their own, so that one
// contender's heap, goroutines and CPU time are not counted as another's.
//
// The program starts itself again with the name of a [Case] and its argument as
// JSON, and reads the result as JSON from the child's standard output.
package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"
)

// mark is the first argument of a process that is a child.
const mark = "-case"

// A Case is a measurement that runs in a process of its own. A and R must survive encoding as JSON.
// Create a Case with Define.
type Case[A, R any] struct{ name string }

var cases = map[string]func(ctx context.Context, argument []byte) (any, error){}

// Define names a measurement. Use it for package-level variables: the child must know all cases
// before [Main].
func Define[A, R any](name string, run func(context.Context, A) (R, error)) Case[A, R] {
	if cases[name] != nil {
		panic("proc: two cases are named " + name)
	}
	cases[name] = func(ctx context.Context, argument []byte) (any, error) {
		var a A
		if err := json.Unmarshal(argument, &a); err != nil {
			return nil, err
		}
		return run(ctx, a)
	}
	return Case[A, R]{name}
}

// Main runs the case for which this process was started, and exits. In a process that is not a
// child it does nothing.
func Main() {
	if len(os.Args) != 4 || os.Args[1] != mark {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(ctx context.Context, name, argument string) error {
	run := cases[name]
	if run == nil {
		return fmt.Errorf("no such case")
	}
	end, err := profile(name)
	if err != nil {
		return err
	}
	defer end()
	result, err := run(ctx, []byte(argument))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// Profiles is the environment variable with the name of a folder in which each case leaves a
// profile of its CPU time and of its allocations.
const Profiles = "CRONCE_BENCH_PROFILES"

// profile begins the profiles if they are requested, and returns a function that ends them.
func profile(name string) (end func(), err error) {
	dir := os.Getenv(Profiles)
	if dir == "" {
		return func() {}, nil
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d", name, os.Getpid()))
	cpu, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	allocs, err := os.Create(path + ".allocs")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() { // a broken profile is noticed when it is used
		pprof.StopCPUProfile()
		_ = cpu.Close()
		_ = pprof.Lookup("allocs").WriteTo(allocs, 0)
		_ = allocs.Close()
	}, nil
}

// Command returns the child that runs the case; the caller may redirect its output. When ctx ends,
// the child is signalled to end, and killed five seconds later.
func (c Case[A, R]) Command(ctx context.Context, argument A) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	text, err := json.Marshal(argument)
	if err != nil {
		return nil, fmt.Errorf("proc: %s: %w", c.name, err)
	}
	cmd := exec.CommandContext(ctx, path, mark, c.name, string(text))
	cmd.SysProcAttr = DieWithParent()
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// Run runs the case in a child and returns its result.
func (c Case[A, R]) Run(ctx context.Context, argument A) (R, error) {
	var result R
	cmd, err := c.Command(ctx, argument)
	if err != nil {
		return result, err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("proc: %s: %w", c.name, err)
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return result, fmt.Errorf("proc: %s: its result: %w", c.name, err)
	}
	return result, nil
}
