package exec_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/jobs/exec"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
)

// The test binary is also the warden, and a node that can be killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "warden":
		if err := exec.Warden(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) > 1 && os.Args[1] == "forgets the warden":
		if _, err := exec.New(exec.Config{Warden: os.Args[1:]}); err != nil {
			os.Exit(7)
		}
	case len(os.Args) > 2 && os.Args[1] == "node":
		nodeMain(os.Args[2])
	case len(os.Args) > 3 && os.Args[1] == "many":
		manyMain(os.Args[2], os.Args[3])
	default:
		os.Exit(m.Run())
	}
}

// nodeMain is a node whose only job runs a script, each second.
func nodeMain(script string) {
	r, err := exec.New(exec.Config{Warden: []string{"warden"}})
	if err != nil {
		panic(err)
	}
	f, err := r.Func(exec.Command{Args: []string{"/bin/sh", "-c", script}})
	if err != nil {
		panic(err)
	}
	n, err := scheduler.New(scheduler.Config{Store: memlock.New(memlock.Options{}), Logger: slog.New(slog.NewJSONHandler(os.Stdout, nil)),
		Jobs: []scheduler.Job{{Name: "script", Spec: "@every 1s", Lease: 10 * time.Second, Func: f}}})
	if err != nil {
		panic(err)
	}
	go func() { _ = r.Run(context.Background()) }()
	if err := n.Run(context.Background()); err != nil {
		panic(err)
	}
}

// manyMain is a node with many jobs that each run a script.
func manyMain(count, script string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	r, err := exec.New(exec.Config{Warden: []string{"warden"}})
	if err != nil {
		panic(err)
	}
	f, err := r.Func(exec.Command{Args: []string{"/bin/sh", "-c", "exec " + script}})
	if err != nil {
		panic(err)
	}
	cfg := scheduler.Config{Store: memlock.New(memlock.Options{})}
	for i := range n {
		cfg.Jobs = append(cfg.Jobs, scheduler.Job{Name: fmt.Sprint("job", i), Spec: "@every 1s", Lease: 15 * time.Second, Func: f})
	}
	node, err := scheduler.New(cfg)
	if err != nil {
		panic(err)
	}
	go func() { _ = r.Run(context.Background()) }()
	_ = node.Run(context.Background())
}

// runner returns a Runner that lives as long as the test.
func runner(t *testing.T) *exec.Runner {
	t.Helper()
	r, err := exec.New(exec.Config{Warden: []string{"warden"}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
	return r
}

// run runs a command in a run of its own.
func run(t *testing.T, ctx context.Context, r *exec.Runner, c exec.Command) error {
	t.Helper()
	f, err := r.Func(c)
	if err != nil {
		t.Fatal(err)
	}
	return f(ctx, &scheduler.Run{ID: "test/" + t.Name() + "@2026-01-05T00:00:00.000Z", Job: "job", Tick: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Fence: 42, Attempt: 1})
}

func sh(script string) exec.Command { return exec.Command{Args: []string{"/bin/sh", "-c", script}} }

// eventually waits for a condition.
var eventually = rig.Eventually

// marker returns a duration for sleep that no other process uses.
func marker(t *testing.T) string {
	return fmt.Sprintf("%d.%d", 100000+os.Getpid(), time.Now().UnixNano()%1e9)
}

// alive returns the processes with a text among their arguments.
func alive(text string) (pids []string) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		line, err := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		if err != nil || d.Name() == fmt.Sprint(os.Getpid()) || !bytes.Contains(line, []byte(text)) {
			continue
		}
		if stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat"); !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, d.Name())
		}
	}
	return pids
}
