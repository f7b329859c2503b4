package serverprocess

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A server's files are on its disk, which can be full and free again, and is gone after the test.
func TestDisk(t *testing.T) {
	dir := ""
	t.Run("server", func(t *testing.T) {
		s := Start(t, t.TempDir(), program("plain"))
		file := filepath.Join(s.Dir(), "file")
		if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := s.MoveToDisk()
		if d == nil {
			t.Skip("the system lets this test mount no disk")
		}
		dir = s.Dir()
		until(t, s.Port(), true)
		if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
			t.Errorf("the file has %q, %v on the disk", text, err)
		}
		for i := range 2 {
			fresh := filepath.Join(s.Dir(), strconv.Itoa(i)) // has no room of its own yet
			d.Fill()
			if err := os.WriteFile(fresh, []byte("new"), 0o600); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("a write to a full disk: %v, want %v", err, syscall.ENOSPC)
			}
			d.Free()
			if err := os.WriteFile(fresh, []byte("new"), 0o600); err != nil {
				t.Errorf("a write to a disk that is free again: %v", err)
			}
		}
	})
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if dir != "" && strings.Contains(string(mounts), dir) {
		t.Errorf("the disk at %s outlives the test", dir)
	}
	if left, err := filepath.Glob(dir + "*"); dir != "" && len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
