//go:build unix

package boundedfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the configuration names is read to its end, or refused soon, without its
// name: never a device, and never more than it may be.
func TestReadBounded(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := func(name string) string {
		path := filepath.Join(folder, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ends, endless, silent := pipe("ends"), pipe("endless"), pipe("silent")
	go func() { _ = os.WriteFile(ends, []byte("abcd"), 0) }()
	go func() {
		f, err := os.OpenFile(endless, os.O_WRONLY, 0)
		for ; err == nil; _, err = f.WriteString("abcd") {
		}
	}()
	for name, want := range map[string]string{
		file("fits", "abcd"):          "abcd",
		file("too long", "abcde"):     "is 5 bytes long, must be up to 4",
		ends:                          "abcd",
		endless:                       "is longer than 4 bytes",
		silent:                        "did not end within 50ms",
		folder:                        "is a directory, must be a regular file or a pipe",
		"/dev/zero":                   "is a device, must be a regular file or a pipe",
		filepath.Join(folder, "none"): "no such file or directory",
		strings.Repeat("x", 10_000):   "file name too long",
	} {
		patience := time.Minute
		if name == silent {
			patience = 50 * time.Millisecond
		}
		data, err := readWithin(name, 4, patience)
		got := string(data)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.40s: %q, want %q", name, got, want)
		}
	}
}
