//go:build unix && !linux

package childprocess

import "syscall"

// InOwnGroup keeps a process from getting the terminal's Ctrl-C, which is for this one to
// answer. When this one is killed, the end of its standard input has to end the process.
func InOwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// InOurGroup does nothing here: the process outlives this one when it is killed.
func InOurGroup() *syscall.SysProcAttr { return nil }
