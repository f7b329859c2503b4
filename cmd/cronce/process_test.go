package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/internal/serverprocess"
)

// A child is a real process of this binary.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *serverprocess.Output
	stderr *serverprocess.Output
	gone   chan struct{}
}

// start starts a process; it is killed when the test ends.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith starts a process with further environment variables.
func startWith(t *testing.T, environ []string, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], args...), stdout: &serverprocess.Output{}, stderr: &serverprocess.Output{}, gone: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c.stdout, c.stderr
	c.run(environ)
	return c
}

// startTo starts a process whose output goes to a file.
func startTo(t *testing.T, out *os.File, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], args...), stdout: &serverprocess.Output{}, stderr: &serverprocess.Output{}, gone: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.run(nil)
	return c
}

// startOn starts a process whose input comes from a file.
func startOn(t *testing.T, in *os.File, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], args...), stdout: &serverprocess.Output{}, stderr: &serverprocess.Output{}, gone: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in, c.stdout, c.stderr
	c.run(nil)
	return c
}

func (c *child) run(environ []string) {
	t := c.t
	t.Helper()
	c.cmd.Env = append(append(os.Environ(), environ...), actAsMain+"=1")
	var err error
	if c.cmd.Stdin == nil {
		c.stdin, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		_ = c.cmd.Wait() // the exit code shows how it ended
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.gone
		if t.Failed() {
			t.Logf("cronce %q printed\n%s\n%s", c.cmd.Args[1:], c.stdout, c.stderr)
		}
	})
}

// startNode starts a node on a Redis, with a configuration of its own.
func startNode(t *testing.T, url, yaml string, args ...string) *child {
	t.Helper()
	return start(t, append([]string{"node", "--config", file(t, "c.yaml", yaml), "--redis", url, "--http", "off"}, args...)...)
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("signal %v: %v", s, err)
	}
}

// code waits for the end and returns the exit code; -1 if a signal ended it.
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
		if !strings.HasSuffix(text, "\n") {
			continue // an incomplete line
		}
		l, err := terminal.ParseLogLine([]byte(text))
		if err != nil {
			c.t.Errorf("the log has %q: %v", text, err)
		}
		if l.Message == message {
			lines = append(lines, l)
		}
	}
	return lines
}
