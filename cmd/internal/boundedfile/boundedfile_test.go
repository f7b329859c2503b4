//go:build unix

package boundedfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file that the configuration names is read to its end, or soon refused without its name: a
// device always, and a file above the bound.
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

// A named pipe is refused at once, also behind a link; the pipe of a shell's <(command) is read.
func TestReadNow(t *testing.T) {
	named, link := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(syscall.Mkfifo(named, 0o600), os.Symlink(named, link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{named, link} {
		if _, err := ReadNow(name, 4); err == nil || !strings.HasPrefix(err.Error(), "is a named pipe, must be a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = w.WriteString("abcd")
	_ = w.Close()
	if data, err := ReadNow(fmt.Sprintf("/dev/fd/%d", r.Fd()), 4); err != nil || string(data) != "abcd" {
		t.Errorf("%q, %v", data, err)
	}
}
