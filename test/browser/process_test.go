//go:build unix

package browser_test

import (
	"bytes"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/test/proof"
)

// A child is a process of the binary, built for this test.
type child struct{ stdout *output }

// start starts a process. It has ended, with the nodes that it started, when the test ends.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	path, err := proof.Build(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	c, stderr := &child{stdout: &output{}}, &output{}
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

// An output keeps the text that a process prints, while it prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const patience = 2 * time.Minute
	for give := time.Now().Add(patience); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}
