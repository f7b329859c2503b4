//go:build unix && !linux

package exec

import (
	"os"
	osexec "os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name of a signal, or "" for 0.
func signalName(n int) string { return unix.SignalName(unix.Signal(n)) }

func ownGroup(u *credential) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if u != nil {
		attr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	return attr
}

var umask sync.Mutex // the mask belongs to the whole process

func startGroup(cmd *osexec.Cmd, mask *int) error {
	umask.Lock()
	defer umask.Unlock()
	if mask != nil {
		defer syscall.Umask(syscall.Umask(*mask))
	}
	return cmd.Start()
}

// terminateGroup sends SIGTERM to the group, and SIGCONT, so that a stopped process gets it.
func terminateGroup(cmd *osexec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
}

func killGroup(cmd *osexec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func exitOf(s *os.ProcessState) (code, signal int) {
	status := s.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 0, int(status.Signal())
	}
	return status.ExitStatus(), 0
}
