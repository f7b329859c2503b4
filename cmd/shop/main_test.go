package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
)

// actAsMain makes the test binary be the program: oversell starts workers of its own binary, and some
// tests need processes.
const actAsMain = "ACT_AS_SHOP"

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) == "1" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	for _, variable := range os.Environ() { // the machine's variables must not reach the tests
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "CRONCE_") && name != serverprocess.Require {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv(actAsMain, "1") // or a command that wrongly starts workers in a test would run all tests in each
	os.Exit(m.Run())
}

// A result is the exit code of a command with its output.
type result struct {
	code           int
	stdout, stderr string
}

// call runs a command to its end.
func call(t *testing.T, args ...string) result {
	t.Helper()
	return callWith(t, "", args...)
}

func callWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience) // a command that wrongly serves ends, too
	defer stop()
	var out, err bytes.Buffer
	code := run(ctx, append([]string{}, args...), strings.NewReader(stdin), &out, &err)
	return result{code, out.String(), err.String()}
}

// want checks the exit code, and parts of the output.
func (r result) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.stdout, r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stdout+r.stderr, part) {
			t.Errorf("%q is missing from\nstdout: %s\nstderr: %s", part, r.stdout, r.stderr)
		}
	}
}

// newRedis starts a small Redis whose clock runs, and returns its URL.
func newRedis(t *testing.T) (*miniredis.Miniredis, string) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, "redis://" + m.Addr()
}

// file writes a file of the test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// patience bounds the wait of a test, on the slowest of machines.
const patience = 2 * time.Minute

// eventually waits until a condition holds.
var eventually = rig.Eventually

// A child is a real process of the program.
type child struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr serverprocess.Output
	gone           chan struct{}
}

// start starts a process; it is gone when the test ends.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith starts a process with more in its environment.
func startWith(t *testing.T, environ []string, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], args...), gone: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	c.cmd.Env = append(os.Environ(), environ...)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		_ = c.cmd.Wait() // the exit code says how it ended
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.gone
		if t.Failed() {
			t.Logf("shop %q printed\n%s\n%s", args, &c.stdout, &c.stderr)
		}
	})
	return c
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("signal %v: %v", s, err)
	}
}

// code waits for the end and returns the exit code; -1 if a signal ended the process.
func (c *child) code() int {
	c.t.Helper()
	eventually(c.t, "the process ends", func() bool {
		select {
		case <-c.gone:
			return true
		default:
			return false
		}
	})
	return c.cmd.ProcessState.ExitCode()
}

// logs returns the lines of the JSON log with a message.
func (c *child) logs(message string) (lines []terminal.LogLine) {
	for text := range strings.Lines(c.stderr.String()) {
		if l, err := terminal.ParseLogLine([]byte(text)); err == nil && strings.HasSuffix(text, "\n") && l.Message == message {
			lines = append(lines, l)
		}
	}
	return lines
}
