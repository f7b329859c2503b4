//go:build unix

package config

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
)

// A pipe is read once, and its content stays in use.
func TestPipeIsReadOnce(t *testing.T) {
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(name, []byte("one"), 0) }()
	calls := 0
	c, err := NewCurrent(Default(nil), func() (string, error) {
		if calls++; calls > 1 {
			return "", errors.New("read again")
		}
		text, err := boundedfile.Read(name, 10)
		return string(text), err
	}, name)
	if err != nil || c.Value() != "one" || c.Value() != "one" || calls != 1 {
		t.Errorf("%q, %v, %d calls", c.last, err, calls)
	}
}
