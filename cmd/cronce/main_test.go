package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/cronce/cronce/cmd/internal/childprocess"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
)

// actAsMain makes the test binary act as cronce: demo starts nodes of its own binary, and some
// tests need processes that they can kill.
const actAsMain = "ACT_AS_CRONCE"

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) == "1" || slices.Equal(os.Args[1:], []string{"warden"}) { // a warden has no variables
		if code, ran := childprocess.Init(); ran {
			os.Exit(code)
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup, say: processes of tests would ignore it too, unless it is caught here
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	for _, variable := range os.Environ() { // the machine's variables must not reach the tests
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "CRONCE_") && name != serverprocess.Require {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// A result has the exit code and the output of a command.
type result struct {
	code           int
	stdout, stderr string
}

// cronce runs a command to its end.
func cronce(t *testing.T, args ...string) result {
	t.Helper()
	return cronceWith(t, "", args...)
}

func cronceWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), append([]string{}, args...), strings.NewReader(stdin), &out, &err) // cobra would take nil as the arguments of the test
	r := result{code, out.String(), err.String()}
	if strings.Contains(r.stderr, "goroutine ") {
		t.Errorf("a stack trace for cronce %q:\n%s", args, r.stderr)
	}
	return r
}

// want checks the exit code and the output.
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

// write replaces a file of the test.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for an event that must happen, on the slowest of machines.
const patience = 2 * time.Minute

// eventually waits until a condition holds.
var eventually = rig.Eventually
