//go:build unix && !linux

package proof

import (
	"os"
	"syscall"
)

// isolated starts a process in its own process group, so that a Ctrl-C in the terminal stops only the
// test.
func isolated() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// shorten does nothing: a log hangs later if it is not read.
func shorten(*os.File) {}
