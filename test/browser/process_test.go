//go:build unix

package browser_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/test/proof"
)

// A child is a process of the binary, built for this test.
type child struct{ stdout *serverprocess.Output }

// start starts a process. It has ended, with the nodes that it started, when the test ends.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	path, err := proof.Build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	c, stderr := &child{stdout: &serverprocess.Output{}}, &serverprocess.Output{}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = c.stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // a signal ends it
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-gone:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			<-gone
		}
		if t.Failed() {
			t.Logf("cronce %q printed\n%s\n%s", args, c.stdout, stderr)
		}
	})
	return c
}

// eventually waits until a condition holds.
var eventually = rig.Eventually
