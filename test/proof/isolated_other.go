//go:build unix && !linux

package proof

import "syscall"

// isolated gives a process a group of its own, so that a Ctrl-C at the terminal
// goes to the test alone.
func isolated() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
