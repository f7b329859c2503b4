//go:build unix

package config

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
)

// A pipe is read once, and its content stays in use.
func TestPipeIsReadOnce(t *testing.T) {
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(name, []byte("one"), 0) }()
	calls := 0
	c, err := newCurrent(nil, func() (string, error) {
		if calls++; calls > 1 {
			return "", errors.New("read again")
		}
		text, err := boundedfile.Read(name, 10)
		return string(text), err
	}, name)
	if err != nil || c.value() != "one" || c.value() != "one" || calls != 1 {
		t.Errorf("%q, %v, %d calls", c.last, err, calls)
	}
}
