//go:build unix && !linux

package proof

import "syscall"

// isolated starts a process in its own process group, so that a Ctrl-C in the terminal stops only the
// test.
func isolated() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
