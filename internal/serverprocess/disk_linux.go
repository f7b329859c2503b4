package serverprocess

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// diskSize is the size of a Disk in bytes: it has room for an empty database of each kind and for the writes of some minutes.
const diskSize = 256 << 20

// A Disk is a small file system of its own that holds the folder of one server. Its methods may only be called from the test's
// goroutine.
type Disk struct {
	t       testing.TB
	filling string
}

// MoveToDisk restarts the server with its folder, and the files in it, on a small disk, which is removed when the test ends. It returns nil, and
// moves nothing, if the system does not let the test mount one: only root may, on Linux.
func (s *Server) MoveToDisk() *Disk {
	s.t.Helper()
	probe := s.t.TempDir()
	err := mount(probe)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil
	}
	if err == nil {
		err = syscall.Unmount(probe, 0)
	}
	if err == nil {
		s.Stop()
		err = s.move()
	}
	if err != nil {
		s.t.Fatalf("serverprocess: move %s to a small disk: %v", s.program.Name, err)
	}
	s.Restart()
	return &Disk{t: s.t, filling: filepath.Join(s.dir, "filling")}
}

// move copies the folder of a server that does not run to a new disk, and mounts that in its place.
func (s *Server) move() error {
	old := s.dir + ".old"
	if err := errors.Join(os.Rename(s.dir, old), os.Mkdir(s.dir, 0o700), mount(s.dir)); err != nil {
		return err
	}
	// The guard unmounts the disk when its input ends, also because the test process died without its cleanup.
	guard := exec.Command("sh", "-c", `cat; exec umount -l "$0"`, s.dir)
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C in the terminal does not end it
	input, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		return errors.Join(err, syscall.Unmount(s.dir, 0))
	}
	s.t.Cleanup(func() {
		s.Kill() // its open files would keep the disk
		if err := errors.Join(input.Close(), guard.Wait()); err != nil {
			s.t.Errorf("serverprocess: unmount the disk of %s: %v", s.program.Name, err)
		}
	})
	defer func() { _ = os.RemoveAll(old) }() // if it fails, the system empties its folder for temporary files
	// The copy keeps owners and modes, also of the folder itself.
	if out, err := exec.Command("cp", "-a", old+"/.", s.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Fill writes a file until no space is left on the disk.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.Create(d.filling)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err = io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("serverprocess: fill the disk: %v", err)
	}
}

// Free removes the file with which Fill has filled the disk.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.filling); err != nil {
		d.t.Fatal(err)
	}
}

// zeros is an endless text of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func mount(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize))
}
